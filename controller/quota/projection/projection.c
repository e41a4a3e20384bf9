/* SPDX-License-Identifier: GPL-2.0-or-later */
/* projection.c - reads the usage of a period and projects each row to the period's end; see
 * projection.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/quota/projection/projection_impl.h"

#define RECENT_DAYS 30
#define PPM 1000000

static bool is_same(const struct projection_entry *k, const struct store_usage *u)
{
	return !strcmp(k->key, u->key) && !strcmp(k->second, u->second) &&
	       !strcmp(k->pool, u->pool);
}

/* Both queries give their rows in the same order; a row of the recent days is in the period
 * too. */
static int add_recent(void *ctx, const struct store_usage *u, struct err *err)
{
	struct projection_state *g = ctx;
	size_t at = g->next;

	while (at < g->n && !is_same(&g->rows[at], u))
		at++;
	if (at == g->n)
		return err_set(err, -EIO,
			       "usage of the last days is not in that of the period");
	g->rows[at].recent_ms = g->rows[at].below_recent_ms = projection_counted_ms(u);
	g->next = at + 1;
	return 0;
}

static int read_usage(struct projection_state *g, const struct store_period *p,
		      store_usage_fn fn, struct err *err)
{
	const struct store_usage_each each = { fn, g };
	int r = store_usage_kept(g->site->store, p, &each, err);

	return r ? r : store_usage(g->site->store, p, fn, g, err);
}

/* Reads the rows of the period up to now, then the usage of its last 30 days for the
 * projection. */
static int read_rows(struct projection_state *g, struct err *err)
{
	int64_t until = store_day(g->site->store, g->ask->now_ns - 1) + 1;
	struct store_period p = g->period;
	int r;

	if (until < p.to_day && (g->passed_ns > 0 || g->ask->is_past))
		p.to_day = until;
	r = projection_read_top(g, &p, err);
	if (r)
		return r;
	r = read_usage(g, &p, projection_keep_row, err);
	p.from_day = g->recent_from;
	if (r < 0 || g->passed_ns <= 0 || p.each != STORE_EACH_PERIOD)
		return r;
	return read_usage(g, &p, add_recent, err);
}

/* ---- the period ---- */

/* The amount due of the period, which leaves outages out. */
static int find_due(struct projection_state *g, struct projection_period *ret, struct err *err)
{
	struct projection_pace pace;
	int r = projection_read_outages(g, g->ask->now_ns - g->passed_ns, err);

	if (r < 0)
		return r;
	pace = projection_find_pace(g, NULL);
	ret->due_ppm = (int64_t)((__int128)pace.passed_ns * PPM / g->whole_ns);
	ret->outage_ns = g->passed_ns - pace.passed_ns;
	return 0;
}

/* A period without bounds has no part that is gone, and no projection. */
static int find_time(struct projection_state *g, struct projection_period *ret, struct err *err)
{
	const struct store_period *p = &g->ask->period;
	struct store *s = g->site->store;
	int64_t now = g->ask->now_ns, start, end, today;

	*ret = (struct projection_period){ .from_day = p->from_day, .to_day = p->to_day };
	if (p->from_day == INT32_MIN || p->to_day == INT32_MAX || p->to_day <= p->from_day)
		return 0; /* without bounds there is no part of it */
	start = store_first_ns(s, p->from_day);
	end = store_first_ns(s, p->to_day);
	g->whole_ns = end - start;
	if (now >= end)
		ret->gone_ppm = PPM;
	if (now <= start || now >= end)
		return 0;
	today = store_day(s, now - 1); /* midnight is the end of a whole day */
	g->passed_ns = now - start;
	g->recent_from =
		today - RECENT_DAYS + 1 > p->from_day ? today - RECENT_DAYS + 1 : p->from_day;
	g->recent_ns = now - store_first_ns(s, g->recent_from);
	ret->recent_days = today - g->recent_from + 1;
	ret->gone_ppm = (int64_t)((__int128)g->passed_ns * PPM / g->whole_ns);
	ret->is_open = true;
	return find_due(g, ret, err);
}

static int add_allocations(const struct projection_state *g, const struct projection_entry *k,
			   struct projection_row *row, struct err *err)
{
	const struct accounts *a = g->site->accounts;
	const char *name = a->accounts[k->account].name;

	for (size_t i = 0; i < a->n_allocations; i++) {
		const struct accounts_allocation *n = &a->allocations[i];
		int64_t ms;

		if (n->account != k->account || !projection_counts_allocation(g, n) ||
		    strcmp(charge_pool_name(n->pool), k->pool) != 0)
			continue;
		if (projection_allotted_ms(g, n, &ms) < 0 ||
		    __builtin_add_overflow(row->allocation_ms, ms, &row->allocation_ms))
			return err_set(err, -ERANGE,
				       "the allocations of account %s are too large", name);
		row->has_allocation |= ms > 0;
	}
	return 0;
}

static const char *title_of(const struct projection_state *g, const struct projection_entry *k)
{
	return k->account < 0 ? NULL : g->site->accounts->accounts[k->account].description;
}

static const char *owners_of(const struct projection_state *g, const struct projection_entry *k)
{
	return k->account < 0 ? NULL : g->site->accounts->accounts[k->account].coordinators;
}

/* When the allocation is used up, and the sentence. */
static void add_outlook(const struct projection_state *g, const struct target_pace *pace,
			const struct outage_list *outages, struct projection_row *row,
			char words[static PROJECTION_WORDS_MAX])
{
	struct store *s = g->site->store;
	struct projection_outlook o = {
		.used_ms = row->with_below_ms,
		.allocation_ms = row->allocation_ms,
		.by_year_ms = row->by_year_ms,
		.by_recent_ms = row->by_recent_ms,
		.recent_days = store_day(s, g->ask->now_ns - 1) - g->recent_from + 1,
		.last_day = g->period.to_day - 1,
		.end_day = -1,
	};
	int64_t ns;

	if (target_find_end(pace, row->allocation_ms, &ns) == 0 && ns > 0)
		o.end_day = store_day(s, outage_moment_after(outages, g->ask->now_ns, ns) - 1);
	row->end_day = o.end_day;
	row->words = projection_words(&o, words);
}

static void add_projection(const struct projection_state *g, const struct projection_entry *k,
			   struct projection_row *row, char words[static PROJECTION_WORDS_MAX])
{
	struct projection_pace time;
	struct target_pace pace = { .use = { row->counts_ms, k->recent_ms, 0 } };

	if (g->ask->period.each != STORE_EACH_PERIOD || g->passed_ns <= 0)
		return;
	time = projection_find_pace(g, row->is_total ? NULL : k);
	pace.use.recent_ns = time.recent_ns;
	pace.whole_ns = time.whole_ns;
	pace.passed_ns = time.passed_ns;
	if (row->has_allocation) {
		pace.use.used_ms = row->with_below_ms;
		pace.use.recent_ms = k->below_recent_ms;
	}
	/* Refunds of the last days may outweigh what was used on them: then it was nothing. */
	if (pace.use.recent_ms < 0)
		pace.use.recent_ms = 0;
	row->has_projection = target_project(&pace, &row->by_year_ms, &row->by_recent_ms) == 0;
	if (row->has_projection && row->has_allocation)
		add_outlook(g, &pace, &time.outages, row, words);
}

static int send_row(const struct projection_state *g, struct projection_entry *k,
		    const struct projection_each *each, struct err *err)
{
	char words[PROJECTION_WORDS_MAX];
	struct projection_row row = { .usage = &k->usage,
				      .depth = k->depth,
				      .title = title_of(g, k),
				      .owners = owners_of(g, k),
				      .is_own_only = k->account >= 0 &&
						     !projection_sees(g, k->account),
				      .end_day = -1,
				      .counts_ms = k->counts_ms,
				      .with_below_ms = k->below_counts_ms };
	int r = 0;

	k->usage.key = k->key;
	k->usage.second = k->second;
	k->usage.pool = k->pool;
	if (g->is_tree && k->account >= 0 && !row.is_own_only)
		r = add_allocations(g, k, &row, err);
	if (r < 0)
		return r;
	if (row.has_allocation && row.with_below_ms > 0)
		row.used_ppm = (int64_t)((__int128)row.with_below_ms * PPM / row.allocation_ms);
	add_projection(g, k, &row, words);
	return each->fn(each->ctx, &row, err);
}

static void sum_rows(const struct projection_state *g, const char *pool,
		     struct projection_total *ret)
{
	for (size_t i = 0; i < g->n; i++) {
		if (strcmp(g->rows[i].pool, pool) != 0)
			continue;
		projection_add_usage(&ret->usage, &g->rows[i].usage);
		ret->counts_ms += g->rows[i].counts_ms;
		ret->recent_ms += g->rows[i].recent_ms;
		ret->n++;
	}
}

/* The total of all rows of a pool; none where the pool has no rows. */
static int send_total(const struct projection_state *g, enum charge_pool pool,
		      const struct projection_each *each, struct err *err)
{
	struct projection_total sum = g->totals[pool];
	struct projection_row row = {
		.usage = &sum.usage, .depth = -1, .is_total = true, .end_day = -1
	};
	char words[PROJECTION_WORDS_MAX];
	struct projection_entry k = { .account = -1 };

	if (!g->is_top)
		sum_rows(g, charge_pool_name(pool), &sum);
	if (sum.n == 0)
		return 0;
	sum.usage.key = sum.usage.second = "";
	sum.usage.pool = charge_pool_name(pool);
	row.n_summed = sum.n;
	row.counts_ms = sum.counts_ms;
	k.recent_ms = sum.recent_ms;
	add_projection(g, &k, &row, words);
	return each->fn(each->ctx, &row, err);
}

/* ---- which accounts ---- */

/* An account that is asked for in a tree comes with all below it. */
static int find_within(struct projection_state *g, struct err *err)
{
	const struct accounts *a = g->site->accounts;
	int32_t top =
		g->is_tree && g->period.account ? accounts_find(a, g->period.account) : -1;

	if (top < 0)
		return 0;
	g->names = calloc(a->n_accounts, sizeof(*g->names));
	if (!g->names)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < a->n_accounts; i++)
		if (accounts_is_within(a, (int32_t)i, top))
			g->names[g->within.n++] = a->accounts[i].name;
	g->within.accounts = g->names;
	g->period.scope = &g->within;
	g->period.account = NULL;
	return 0;
}

static int find_seen(struct projection_state *g, struct err *err)
{
	const struct store_scope *scope = g->period.scope;

	if (!scope || !g->site->accounts)
		return 0;
	g->sees = calloc(g->site->accounts->n_accounts + 1, sizeof(*g->sees));
	if (!g->sees)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < scope->n; i++) {
		int32_t at = accounts_find(g->site->accounts, scope->accounts[i]);

		if (at >= 0)
			g->sees[at] = true;
	}
	return 0;
}

static int gather_rows(struct projection_state *g, struct err *err)
{
	int r = find_within(g, err);

	if (r >= 0)
		r = find_seen(g, err);
	if (r >= 0)
		r = read_rows(g, err);
	return r < 0 || !g->is_tree ? r : projection_order_rows(g, err);
}

/* ---- all ---- */

static void free_state(struct projection_state *g)
{
	free(g->names);
	free(g->sees);
	free(g->rows);
	free(g->outages);
	free(g->spans);
}

int projection_usage(const struct quota_site *site, const struct projection_query *ask,
		     const struct projection_each *each, struct projection_period *ret,
		     struct err *err)
{
	_cleanup_(free_state) struct projection_state g = { .site = site,
							    .ask = ask,
							    .period = ask->period };
	int r;

	g.is_tree = site->accounts && ask->period.by == STORE_BY_ACCOUNT &&
		    ask->period.second == STORE_BY_NONE;
	r = find_time(&g, ret, err);
	if (r < 0)
		return r;
	r = gather_rows(&g, err);
	if (r < 0)
		return r;
	r = projection_limit_rows(&g, &ret->left_out, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < g.n && r >= 0; i++)
		if (!g.rows[i].is_left_out)
			r = send_row(&g, &g.rows[i], each, err);
	for (int pool = 0; pool < _CHARGE_POOL_MAX && r >= 0; pool++)
		r = send_total(&g, (enum charge_pool)pool, each, err);
	return r < 0 ? r : 0;
}

bool projection_has_cpu(const struct store_usage *u)
{
	return u->cpu_ms != 0 || u->running_ms == 0;
}

bool projection_has_used(const struct store_usage *u)
{
	return u->charge_used_ms != 0 || u->charge_requested_ms == 0;
}

void projection_find_year(const struct config *c, int64_t day, int64_t *ret_from,
			  int64_t *ret_to)
{
	const struct config_policy *p = &c->policy;
	/* Months are counted from year 0: the period begins in one month of each 12, or of each
	 * 3.
	 */
	int64_t months = p->allocation_period == CONFIG_PERIOD_QUARTER ? 3 : 12;
	int64_t month = calendar_month(day), first = p->year_start_month - 1, from;

	from = month - (month + 12 - first) % months;
	if (calendar_month_first(from) + p->year_start_day - 1 > day)
		from -= months;
	*ret_from = calendar_month_first(from) + p->year_start_day - 1;
	*ret_to = calendar_month_first(from + months) + p->year_start_day - 1;
}
