/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top.c - chooses among the sums of all accounts or users those that count most. See top.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/ranks/ranks.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/ledger/usage/totals/usage_impl.h"

/* ---- choosing ---- */

struct candidate {
	int64_t counts_ms;
	const char *name;
	const struct rollup *sum;
	int pool;
};
/* A heap: the one that counts least of those that were chosen is the first. */
struct choice {
	struct candidate *of;
	size_t n, limit;
};

static int compare_names(const struct candidate *x, const struct candidate *y)
{
	int names = strcmp(x->name, y->name);

	return names ? names : (x->pool > y->pool) - (x->pool < y->pool);
}

/* Of those that count the same the first ones by name are chosen. */
static bool counts_more(const struct candidate *x, const struct candidate *y)
{
	return x->counts_ms != y->counts_ms ? x->counts_ms > y->counts_ms
					    : compare_names(x, y) < 0;
}

static void sink_first(struct choice *c)
{
	size_t at = 0, least;

	for (;; at = least) {
		struct candidate was = c->of[at];

		least = at;
		for (size_t i = 2 * at + 1; i <= 2 * at + 2 && i < c->n; i++)
			if (counts_more(&c->of[least], &c->of[i]))
				least = i;
		if (least == at)
			return;
		c->of[at] = c->of[least];
		c->of[least] = was;
	}
}

static void raise_last(struct choice *c)
{
	for (size_t at = c->n - 1; at > 0; at = (at - 1) / 2) {
		struct candidate *child = &c->of[at], *parent = &c->of[(at - 1) / 2],
				 was = *child;

		if (!counts_more(parent, child))
			return;
		*child = *parent;
		*parent = was;
	}
}

static void choose_one(struct choice *c, const struct candidate *one)
{
	if (c->n < c->limit) {
		c->of[c->n++] = *one;
		raise_last(c);
	} else if (c->n > 0 && counts_more(one, &c->of[0])) {
		c->of[0] = *one;
		sink_first(c);
	}
}

static int64_t count_ms(const struct rollup *sum)
{
	int64_t ms;

	return __builtin_add_overflow(sum->figure[ROLLUP_CHARGE_REQUESTED_MS],
				      sum->figure[ROLLUP_ADJUSTED_MS], &ms)
		       ? INT64_MAX
		       : ms;
}

/* The sums of all names of a kind. */
struct view {
	const struct store *s;
	enum store_by kind;
	const struct packed_sums *sums;
};

static void choose_all(const struct view *v, struct choice *c, struct store_top *top)
{
	for (int pool = 0; pool < _CHARGE_POOL_MAX; pool++)
		for (int32_t i = 0; (size_t)i < v->sums->n_names; i++) {
			const struct rollup *sum = packed_sum(v->sums, i, pool);
			struct candidate one = { .sum = sum, .pool = pool };

			if (!sum)
				continue;
			top->n_rows[pool]++;
			one.counts_ms = count_ms(sum);
			one.name = ranks_name(v->s, v->kind, i);
			choose_one(c, &one);
		}
}

static int compare_candidates(const void *a, const void *b)
{
	return compare_names(a, b);
}

static int pass_chosen(struct choice *c, const struct store_usage_each *each, struct err *err)
{
	int r = 0;

	if (c->n)
		qsort(c->of, c->n, sizeof(*c->of), compare_candidates);
	for (size_t i = 0; i < c->n && r >= 0; i++) {
		struct store_usage u = { .key = c->of[i].name,
					 .second = "",
					 .pool = charge_pool_name(
						 (enum charge_pool)c->of[i].pool) };

		usage_set_figures(&u, c->of[i].sum->figure);
		r = each->fn(each->ctx, &u, err);
	}
	return r;
}

/* ---- periods ---- */

static int read_period(struct store *s, const struct store_period *p, struct packed_sums *ret,
		       struct err *err)
{
	const struct ranks_ask ask = { .kind = p->by,
				       .cluster = p->cluster,
				       .from_day = p->from_day,
				       .to_day = p->to_day };

	return ranks_read(s, &ask, ret, err);
}

static bool is_kept(const struct store_period *p)
{
	const enum store_by kind = usage_kind(p);

	return (kind == STORE_BY_ACCOUNT || kind == STORE_BY_USER) &&
	       p->each == STORE_EACH_PERIOD;
}

static int pass_top(const struct view *v, struct store_top *top,
		    const struct store_usage_each *each, struct err *err)
{
	struct choice c = { .limit = top->limit };
	int r;

	memset(top->n_rows, 0, sizeof(top->n_rows));
	c.of = calloc(c.limit + 1, sizeof(*c.of));
	if (!c.of)
		return err_set(err, -ENOMEM, "out of memory");
	choose_all(v, &c, top);
	r = pass_chosen(&c, each, err);
	free(c.of);
	return r < 0 ? r : 1;
}

int store_usage_top(struct store *s, const struct store_period *p, struct store_top *top,
		    const struct store_usage_each *each, struct err *err)
{
	_cleanup_(packed_sums_done) struct packed_sums sums = { .n_names = 0 };
	const struct view v = { s, p->by, &sums };
	int r;

	if (!is_kept(p))
		return 0;
	if (top->limit > STORE_TOP_MAX)
		top->limit = STORE_TOP_MAX;
	r = read_period(s, p, &sums, err);
	return r < 0 ? r : pass_top(&v, top, each, err);
}

int store_usage_kept(struct store *s, const struct store_period *p,
		     const struct store_usage_each *each, struct err *err)
{
	_cleanup_(packed_sums_done) struct packed_sums sums = { .n_names = 0 };
	const struct view v = { s, p->by, &sums };
	struct store_top all;
	int r;

	if (!s->ranks || !is_kept(p))
		return 0;
	r = read_period(s, p, &sums, err);
	all.limit = sums.n_names * _CHARGE_POOL_MAX;
	return r < 0 ? r : pass_top(&v, &all, each, err);
}

/* ---- some names ---- */

static int pass_name(const struct packed_sums *sums, int32_t number, const char *name,
		     const struct store_usage_each *each, struct err *err)
{
	int r = 0;

	for (int pool = 0; pool < _CHARGE_POOL_MAX && r >= 0; pool++) {
		const struct rollup *sum = packed_sum(sums, number, pool);
		struct store_usage u = { .key = name,
					 .second = "",
					 .pool = charge_pool_name((enum charge_pool)pool) };

		if (!sum)
			continue;
		u.charge_requested_ms = count_ms(sum);
		r = each->fn(each->ctx, &u, err);
	}
	return r;
}

int store_usage_named(struct store *s, const struct store_period *p,
		      const struct store_names *names, const struct store_usage_each *each,
		      struct err *err)
{
	_cleanup_(packed_sums_done) struct packed_sums sums = { .n_names = 0 };
	int r = read_period(s, p, &sums, err);

	for (size_t i = 0; i < names->n && r >= 0 && sums.n_names; i++)
		r = pass_name(&sums, ranks_find(s, p->by, names->names[i]), names->names[i],
			      each, err);
	return r < 0 ? r : 0;
}
