/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - makes the rows of a share tree from the active accounts or, without any, from the
 * associations that were charged; see tree.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/sharetree/tree/tree.h"

struct made {
	struct tree *t;
	const struct accounts *accounts;
	/* By account: the first one below it, and its next sibling, in the order of names. The
	 * first one below the root is first[n]. */
	int32_t *first, *next;
	bool *is_here; /* by account: it, or one below it, may run on the cluster */
};

/* Appends a row; make_room() has made space for it. Returns its index; -ENOMEM. */
static int32_t add_row(struct tree *t, int32_t parent, const char *account, const char *user,
		       int64_t shares)
{
	int32_t at = (int32_t)t->n_rows++;
	struct sharetree_row *row = &t->rows[at];
	struct tree_entry *e = tree_entry(t, account, user);

	if (!e)
		return -ENOMEM;
	e->is_row = true;
	e->row = at;
	snprintf(row->account, sizeof(row->account), "%s", account);
	snprintf(row->user, sizeof(row->user), "%s", user);
	row->parent = parent;
	row->depth = parent < 0 ? 0 : t->rows[parent].depth + 1;
	row->raw_shares = shares;
	t->share_rows[at] = (struct fairshare_row){
		.parent = parent, .user = *user, .raw_shares = shares, .order = at
	};
	return at;
}

/* For n rows below the root, and a user root if root_shares is not 0. */
static int make_room(struct tree *t, size_t n, int64_t root_shares)
{
	t->rows = calloc(n + 2, sizeof(*t->rows));
	t->share_rows = calloc(n + 2, sizeof(*t->share_rows));
	t->n_rows = 0;
	for (size_t i = 0; i < t->n_entries; i++)
		t->entries[i].is_row = false;
	if (!t->rows || !t->share_rows)
		return -ENOMEM;
	if (add_row(t, FAIRSHARE_NO_ROW, ACCOUNTS_ROOT, "", 1) < 0)
		return -ENOMEM;
	return root_shares && add_row(t, 0, ACCOUNTS_ROOT, "root", root_shares) < 0 ? -ENOMEM
										    : 0;
}

/* ---- as declared ---- */

static int add_members(struct made *m, int32_t account, int32_t row)
{
	const struct accounts_account *a = &m->accounts->accounts[account];
	int r = 0;

	if (!accounts_allows_cluster(m->accounts, account, m->t->cluster))
		return 0;
	for (size_t i = 0; i < a->n_members && r >= 0; i++)
		r = add_row(m->t, row, a->name, a->members[i].user, a->members[i].shares);
	return r;
}

/* Adds the accounts, depth first without a stack: from the last sibling the walk returns to the
 * parent and goes on with the parent's `next`. */
static int add_accounts(struct made *m)
{
	const struct accounts *a = m->accounts;
	_cleanup_free_ int32_t *row_of = calloc(a->n_accounts + 1, sizeof(*row_of));
	int32_t at = m->first[a->n_accounts], up;
	int r = row_of ? 0 : -ENOMEM;

	while (at >= 0 && r >= 0) {
		up = a->accounts[at].parent;
		if (m->is_here[at]) {
			r = add_row(m->t, up < 0 ? 0 : row_of[up], a->accounts[at].name, "",
				    a->accounts[at].shares);
			row_of[at] = r;
			if (r >= 0)
				r = add_members(m, at, r);
		}
		if (m->is_here[at] && m->first[at] >= 0) {
			at = m->first[at];
			continue;
		}
		while (at >= 0 && m->next[at] < 0)
			at = a->accounts[at].parent;
		at = at >= 0 ? m->next[at] : at;
	}
	return r < 0 ? r : 0;
}

static void link_accounts(struct made *m)
{
	const struct accounts *a = m->accounts;
	int32_t up;

	for (size_t i = 0; i <= a->n_accounts; i++)
		m->first[i] = m->next[i] = -1;
	/* From the last to the first, each at the head of its list: the lists are in order. */
	for (size_t i = a->n_accounts; i-- > 0;) {
		up = a->accounts[i].parent;
		up = up < 0 ? (int32_t)a->n_accounts : up;
		m->next[i] = m->first[up];
		m->first[up] = (int32_t)i;
	}
	for (size_t i = 0; i < a->n_accounts; i++) {
		if (!accounts_allows_cluster(a, (int32_t)i, m->t->cluster))
			continue;
		for (int32_t at = (int32_t)i; at >= 0 && !m->is_here[at];
		     at = a->accounts[at].parent)
			m->is_here[at] = true;
	}
}

static int make_declared(struct tree *t, const struct accounts *a, int64_t root_shares)
{
	_cleanup_free_ int32_t *first = calloc(a->n_accounts + 1, sizeof(*first));
	_cleanup_free_ int32_t *next = calloc(a->n_accounts + 1, sizeof(*next));
	_cleanup_free_ bool *is_here = calloc(a->n_accounts + 1, sizeof(*is_here));
	struct made m = { t, a, first, next, is_here };
	size_t n = a->n_accounts;
	int r;

	if (!first || !next || !is_here)
		return -ENOMEM;
	for (size_t i = 0; i < a->n_accounts; i++)
		n += a->accounts[i].n_members;
	r = make_room(t, n, root_shares);
	if (r < 0)
		return r;
	link_accounts(&m);
	return add_accounts(&m);
}

/* ---- without accounts: all associations that were charged ---- */

struct name {
	char account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
};

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int r = strcmp(x->account, y->account);

	return r ? r : strcmp(x->user, y->user);
}

static int make_flat(struct tree *t, int64_t root_shares)
{
	_cleanup_free_ struct name *names = calloc(t->n_entries + 1, sizeof(*names));
	int32_t account = -1;
	size_t n = 0;
	int r = names ? make_room(t, 2 * t->n_entries, root_shares) : -ENOMEM;

	for (size_t i = 0; i < t->n_entries && r >= 0; i++) {
		const struct tree_entry *e = &t->entries[i];

		if (!e->was_charged || !*e->user)
			continue;
		memcpy(names[n].account, e->account, sizeof(e->account));
		memcpy(names[n++].user, e->user, sizeof(e->user));
	}
	if (r >= 0)
		qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (account < 0 || strcmp(t->rows[account].account, names[i].account) != 0)
			r = account = add_row(t, 0, names[i].account, "", 1);
		if (r >= 0)
			r = add_row(t, account, names[i].account, names[i].user, 1);
	}
	return r < 0 ? r : 0;
}

int tree_make_rows(struct tree *t, const struct tree_rule *rule, struct err *err)
{
	int r = rule->accounts ? make_declared(t, rule->accounts, rule->root_shares)
			       : make_flat(t, rule->root_shares);

	return r < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}
