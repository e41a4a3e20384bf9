/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order.c - puts rows of accounts into the order of the tree and sums what is below each; see
 * projection_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/quota/projection/projection_impl.h"

/* The tree of accounts: each account before those below it, children in the order of their
 * names.
 */
struct walk {
	int32_t *child, *sibling; /* first below it; the next beside it; -1: none */
	int32_t *order, *depth;	  /* accounts as they are met; depth by account */
	int32_t *row; /* by account: its row of the current month and pool; -1: none */
	size_t n;
};

static void walk_done(struct walk *w)
{
	free(w->child);
}

static int32_t first_of_root(const struct accounts *a, struct walk *w)
{
	int32_t first = -1;

	/* Accounts are by name: taken backwards, each list comes out in their order. */
	for (int32_t i = (int32_t)a->n_accounts - 1; i >= 0; i--) {
		int32_t parent = a->accounts[i].parent;
		int32_t *head = parent < 0 ? &first : &w->child[parent];

		w->sibling[i] = *head;
		*head = i;
	}
	return first;
}

/* One allocation for all five arrays; walk_done() frees it. Terminates: accounts_parse()
 * refuses circles. */
static int walk_make(const struct accounts *a, struct walk *w, struct err *err)
{
	size_t n = a->n_accounts;
	int32_t *all = malloc((5 * n + 1) * sizeof(*all));
	int32_t at, depth = 0;

	if (!all)
		return err_set(err, -ENOMEM, "out of memory");
	memset(all, 0xff, (5 * n + 1) * sizeof(*all));
	*w = (struct walk){ all, all + n, all + 2 * n, all + 3 * n, all + 4 * n, 0 };
	at = first_of_root(a, w);
	while (at >= 0) {
		w->order[w->n++] = at;
		w->depth[at] = depth;
		if (w->child[at] >= 0) {
			at = w->child[at];
			depth++;
			continue;
		}
		while (at >= 0 && w->sibling[at] < 0) {
			at = a->accounts[at].parent;
			depth--;
		}
		at = at >= 0 ? w->sibling[at] : -1;
	}
	return 0;
}

struct part { /* the rows of one month and one pool */
	struct projection_state *g;
	struct walk *w;
	int64_t month;
	enum charge_pool pool;
};

static int add_row(const struct part *p, int32_t account, struct err *err)
{
	struct projection_entry *k = projection_add_entry(p->g);

	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->usage.month = p->month;
	k->account = account;
	snprintf(k->key, sizeof(k->key), "%s", p->g->site->accounts->accounts[account].name);
	snprintf(k->pool, sizeof(k->pool), "%s", charge_pool_name(p->pool));
	p->w->row[account] = (int32_t)(p->g->n - 1);
	return 0;
}

/* Adds rows for accounts that have an allocation in the period but no usage.
 */
static int add_allotted(const struct part *p, struct err *err)
{
	struct projection_state *g = p->g;
	const struct accounts *a = g->site->accounts;
	int r = 0;

	for (size_t i = 0; i < a->n_allocations && r >= 0; i++) {
		const struct accounts_allocation *n = &a->allocations[i];
		int64_t ms = 0;

		if (n->pool != p->pool || p->w->row[n->account] >= 0 ||
		    !projection_counts_allocation(g, n))
			continue;
		if (!projection_sees(g, n->account))
			continue;
		if (projection_allotted_ms(g, n, &ms) >= 0 && ms > 0)
			r = add_row(p, n->account, err);
	}
	return r;
}

/* From the leaves up: an account's sum is complete when it is added to its parent's. */
static int sum_up(const struct part *p, struct err *err)
{
	struct projection_state *g = p->g;
	int r = 0;

	for (size_t i = p->w->n; i-- > 0 && r >= 0;) {
		int32_t account = p->w->order[i],
			parent = g->site->accounts->accounts[account].parent;
		const struct projection_entry *below;

		if (p->w->row[account] < 0 || parent < 0 || !projection_sees(g, parent))
			continue;
		if (p->w->row[parent] < 0)
			r = add_row(p, parent, err);
		if (r < 0)
			continue;
		below = &g->rows[p->w->row[account]];
		g->rows[p->w->row[parent]].below_counts_ms += below->below_counts_ms;
		g->rows[p->w->row[parent]].below_recent_ms += below->below_recent_ms;
	}
	return r;
}

/* `n`: rows from the ledger, before any was added. */
static int order_part(const struct part *p, size_t n, struct err *err)
{
	struct projection_state *g = p->g;
	int r;

	for (size_t i = 0; i < p->w->n; i++)
		p->w->row[p->w->order[i]] = -1;
	for (size_t i = 0; i < n; i++) {
		struct projection_entry *k = &g->rows[i];

		if (k->account >= 0 && k->usage.month == p->month &&
		    !strcmp(k->pool, charge_pool_name(p->pool)))
			p->w->row[k->account] = (int32_t)i;
	}
	r = add_allotted(p, err);
	return r < 0 ? r : sum_up(p, err);
}

/* By month, place in the tree (accounts not in it last, by name), pool. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct projection_entry *x = a, *y = b;
	const int32_t *place = ctx;
	int32_t px = x->account < 0 ? INT32_MAX : place[x->account],
		py = y->account < 0 ? INT32_MAX : place[y->account];
	int names;

	if (x->usage.month != y->usage.month)
		return x->usage.month < y->usage.month ? -1 : 1;
	if (px != py)
		return px < py ? -1 : 1;
	names = strcmp(x->key, y->key);
	return names ? names : strcmp(x->pool, y->pool);
}

static void sort_rows(struct projection_state *g, struct walk *w)
{
	for (size_t i = 0; i < w->n; i++)
		w->row[w->order[i]] = (int32_t)i; /* reused: the account's place in the tree */
	for (size_t i = 0; i < g->n; i++)
		g->rows[i].depth = g->rows[i].account < 0 ? -1 : w->depth[g->rows[i].account];
	if (g->n)
		qsort_r(g->rows, g->n, sizeof(*g->rows), compare_rows, w->row);
}

/* The first n rows are by month, as store_usage() returned them; rows are added behind those.
 * Without any row, the period is one month with number 0. */
static int order_months(struct projection_state *g, struct walk *w, struct err *err)
{
	size_t n = g->n;
	int r = 0;

	for (size_t i = 0; (i < n || (i == 0 && n == 0)) && r >= 0; i++) {
		struct part p = { g, w, n ? g->rows[i].usage.month : 0, CHARGE_POOL_CPU };

		if (i && g->rows[i - 1].usage.month == p.month)
			continue;
		for (int pool = 0; pool < _CHARGE_POOL_MAX && r >= 0; pool++) {
			p.pool = (enum charge_pool)pool;
			r = order_part(&p, n, err);
		}
	}
	return r;
}

int projection_order_rows(struct projection_state *g, struct err *err)
{
	struct walk w;
	int r = walk_make(g->site->accounts, &w, err);

	if (r < 0)
		return r;
	r = order_months(g, &w, err);
	if (r >= 0)
		sort_rows(g, &w);
	walk_done(&w);
	return r;
}
