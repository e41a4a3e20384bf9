/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft_finish.c - checks a draft as a whole and turns it into accounts: statements of
 * accounts.conf, which accounts_parse() reads. See draft.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/accounts/foreign/draft.h"
#include "controller/accounts/accounts_impl.h"
#include "controller/accounts/rows.h"

/* ---- checks ---- */

enum { UNSEEN, ON_PATH, FINE };

static int check_tree(const struct accounts_draft *d, struct err *err)
{
	for (size_t i = 0; i < d->n_accounts; i++) {
		struct draft_account *a = d->accounts[i], *p = a;

		while (p && p->walk == UNSEEN) {
			p->walk = ON_PATH;
			if (!strcmp(p->parent, ACCOUNTS_ROOT)) {
				p = NULL;
				break;
			}
			if (!accounts_draft_account(d, p->parent))
				return accounts_draft_error(
					d, p->line, err,
					"account '%s' is below '%s', which the file does not "
					"have; add it, or name another parent",
					p->name, p->parent);
			p = accounts_draft_account(d, p->parent);
		}
		if (p && p->walk == ON_PATH)
			return accounts_draft_error(
				d, p->line, err,
				"account '%s' is above itself; give it another parent",
				p->name);
		for (p = a; p && p->walk == ON_PATH; p = accounts_draft_account(d, p->parent))
			p->walk = FINE;
	}
	return 0;
}

static int by_user(const void *va, const void *vb)
{
	const struct draft_member *a = *(const struct draft_member *const *)va;
	const struct draft_member *b = *(const struct draft_member *const *)vb;
	int r = strcmp(a->user, b->user);

	return r ? r : strcmp(a->account, b->account);
}

/* A default account that the user is not in is dropped with a note; two for one user are
 * refused. */
static int check_defaults(struct accounts_draft *d, struct err *err)
{
	const struct draft_member *last = NULL;

	if (d->n_members)
		qsort(d->members, d->n_members, sizeof(*d->members), by_user);
	for (size_t i = 0; i < d->n_members; i++) {
		struct draft_member *m = d->members[i];

		if (!m->is_default)
			continue;
		if (!m->is_user) {
			m->is_default = false;
			if (accounts_draft_note(d, m->line, "DefaultAccount",
						"the user is not in that account here") < 0)
				return err_set(err, -ENOMEM, "out of memory");
			continue;
		}
		if (last && !strcmp(last->user, m->user))
			return accounts_draft_error(d, m->line, err,
						    "user '%s' has two default accounts, '%s' "
						    "(line %zu) and '%s'; keep one",
						    m->user, last->account, last->line,
						    m->account);
		last = m;
	}
	return 0;
}

/* ---- as statements ---- */

struct writer {
	struct accounts_rows *rows;
	const char *section, *name;
	int result;
};

static void put_item(struct writer *w, const char *key, const char *item, const char *value)
{
	const struct accounts_row row = { w->section, w->name, key, item, value };

	if (w->result == 0)
		w->result = accounts_rows_add(w->rows, &row);
}

static void put_count(struct writer *w, const char *key, int64_t n)
{
	char text[AMOUNT_TEXT_MAX];

	snprintf(text, sizeof(text), "%" PRId64, n);
	if (n != ACCOUNTS_NO_LIMIT)
		put_item(w, key, "", text);
}

static void put_limits(struct writer *w, const struct accounts_limits *l)
{
	char text[AMOUNT_TEXT_MAX];

	put_count(w, "MaxRunningCores", l->running_cores);
	put_count(w, "MaxRunningGpus", l->running_gpus);
	if (l->running_memory_bytes != ACCOUNTS_NO_LIMIT)
		put_item(w, "MaxRunningMemory", "",
			 amount_format_bytes_exact(l->running_memory_bytes, text));
	put_count(w, "MaxRunningJobs", l->running_jobs);
	put_count(w, "MaxQueuedJobs", l->queued_jobs);
}

static const char *format_shares(int64_t shares, char buf[static AMOUNT_TEXT_MAX])
{
	if (shares == FAIRSHARE_PARENT)
		return "parent";
	snprintf(buf, AMOUNT_TEXT_MAX, "%" PRId64, shares);
	return buf;
}

static void put_qos(struct writer *w, const struct draft_account *a)
{
	const char *list = accounts_draft_qos_of(a);
	char name[REQUEST_NAME_MAX];

	while (list && *list) {
		size_t n = strcspn(list, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, list);
		put_item(w, "Qos", name, "");
		list += n + (list[n] == ',');
	}
	if (*a->qos.by_default)
		put_item(w, "DefaultQos", "", a->qos.by_default);
}

static void put_account(struct writer *w, const struct draft_account *a)
{
	char shares[AMOUNT_TEXT_MAX];

	w->section = "Account";
	w->name = a->name;
	put_item(w, "", "", "");
	if (a->description && *a->description)
		put_item(w, "Description", "", a->description);
	put_item(w, "Parent", "", a->parent);
	put_item(w, "Shares", "", format_shares(a->shares, shares));
	put_qos(w, a);
	put_limits(w, &a->limits);
}

static void use_if_unset(int64_t *to, int64_t from)
{
	if (*to == ACCOUNTS_NO_LIMIT)
		*to = from;
}

static void inherit_limits(struct accounts_limits *to, const struct accounts_limits *from)
{
	use_if_unset(&to->running_cores, from->running_cores);
	use_if_unset(&to->running_gpus, from->running_gpus);
	use_if_unset(&to->running_memory_bytes, from->running_memory_bytes);
	use_if_unset(&to->running_jobs, from->running_jobs);
	use_if_unset(&to->queued_jobs, from->queued_jobs);
}

static void put_member(struct writer *w, const struct accounts_draft *d,
		       const struct draft_member *m)
{
	const struct draft_account *a = accounts_draft_account(d, m->account);
	struct accounts_limits limits = m->limits;
	char shares[AMOUNT_TEXT_MAX], name[2 * REQUEST_NAME_MAX];

	w->section = "Account";
	w->name = m->account;
	if (m->is_coordinator)
		put_item(w, "Coordinators", m->user, "");
	if (!m->is_user)
		return;
	put_item(w, "Users", m->user, format_shares(m->shares, shares));
	for (; a; a = accounts_draft_account(d, a->parent))
		inherit_limits(&limits, &a->each);
	inherit_limits(&limits, &d->each);
	if (memcmp(&limits, &accounts_no_limits, sizeof(limits)) == 0)
		return;
	snprintf(name, sizeof(name), "%s/%s", m->account, m->user);
	w->section = "Association";
	w->name = name;
	put_item(w, "", "", "");
	put_limits(w, &limits);
}

static void put_default(struct writer *w, const struct draft_member *m)
{
	if (!m->is_default)
		return;
	w->section = "User";
	w->name = m->user;
	put_item(w, "", "", "");
	put_item(w, "DefaultAccount", "", m->account);
}

static bool is_bound_key(const char *key)
{
	for (int k = 0; k < _ACCOUNTS_BOUND_MAX; k++)
		if (!strcmp(key, accounts_bound_keys[k]))
			return true;
	return false;
}

/* Bounds of one job, of a user who stays in the account. */
static bool is_kept_association(const struct accounts_draft *d, const struct accounts *kept,
				const struct accounts_row *row)
{
	char account[REQUEST_NAME_MAX];
	const struct accounts_member *m;
	const char *user;

	accounts_split(row->name, account, &user);
	m = accounts_member(kept, accounts_find(kept, account), user);
	return (*row->key ? is_bound_key(row->key) : m && accounts_has_bounds(&m->job)) &&
	       accounts_draft_member(d, account, user);
}

/* Is it a statement of the present accounts that no other system's file has, so that it stays?
 */
static bool is_kept(const struct accounts_draft *d, const struct accounts *kept,
		    const struct accounts_row *row)
{
	char account[REQUEST_NAME_MAX];
	const char *rest;

	if (!strcmp(row->section, "Association"))
		return is_kept_association(d, kept, row);
	if (!strcmp(row->key, "DefaultAccount"))
		return false;
	if (!strcmp(row->section, "Account"))
		return (!strcmp(row->key, "Clusters") || strstr(row->key, "PerShare") ||
			is_bound_key(row->key) ||
			(!d->states_qos &&
			 (!strcmp(row->key, "Qos") || !strcmp(row->key, "DefaultQos")))) &&
		       accounts_draft_account(d, row->name);
	if (!strcmp(row->section, "User") && !*row->key)
		return memcmp(&accounts_user(kept, row->name)->limits, &accounts_no_limits,
			      sizeof(accounts_no_limits)) != 0 ||
		       accounts_has_bounds(&accounts_user(kept, row->name)->job) ||
		       accounts_has_per_share(&accounts_user(kept, row->name)->per_share);
	if (strcmp(row->section, "Allocation") != 0)
		return true;
	accounts_split(row->name, account, &rest);
	return accounts_draft_account(d, account);
}

static int put_kept(const struct accounts_draft *d, const struct accounts *kept,
		    struct accounts_rows *to, struct err *err)
{
	struct accounts_rows all = { 0 };
	int r = accounts_rows_of(kept, &all, err);

	for (size_t i = 0; i < all.n && r == 0; i++)
		if (is_kept(d, kept, &all.rows[i]))
			r = accounts_rows_add(to, &all.rows[i]);
	accounts_rows_done(&all);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int put_all(const struct accounts_draft *d, const struct accounts *kept,
		   struct accounts_rows *to, struct err *err)
{
	struct writer w = { .rows = to };

	for (size_t i = 0; i < d->n_accounts; i++)
		put_account(&w, d->accounts[i]);
	for (size_t i = 0; i < d->n_members; i++) {
		put_member(&w, d, d->members[i]);
		put_default(&w, d->members[i]);
	}
	if (w.result < 0)
		return err_set(err, w.result, "out of memory");
	return kept ? put_kept(d, kept, to, err) : 0;
}

int accounts_draft_finish(struct accounts_draft *d, const struct accounts *kept,
			  struct accounts **ret, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	struct accounts_rows rows = { 0 };
	int r = check_tree(d, err);

	if (r == 0)
		r = check_defaults(d, err);
	if (r == 0)
		r = accounts_draft_resolve_qos(d, err);
	if (r == 0)
		r = put_all(d, kept, &rows, err);
	if (r == 0) {
		accounts_rows_sort(&rows);
		r = accounts_rows_write(&rows, &text, err);
	}
	accounts_rows_done(&rows);
	if (r < 0)
		return r;
	return accounts_parse(text, strlen(text), "the accounts that it makes", ret, err);
}
