/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - the rows of a projection, and the part of an allocation that is within its period;
 * see projection_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/projection/projection_impl.h"

struct projection_entry *projection_add_entry(struct projection_state *g)
{
	size_t size = g->room ? g->room * 2 : 64;
	struct projection_entry *more;

	if (g->n == g->room) {
		more = realloc(g->rows, size * sizeof(*more));
		if (!more)
			return NULL;
		g->rows = more;
		g->room = size;
	}
	g->rows[g->n] = (struct projection_entry){ .account = -1, .depth = -1 };
	return &g->rows[g->n++];
}

int64_t projection_counted_ms(const struct store_usage *u)
{
	int64_t sum;

	return __builtin_add_overflow(u->charge_requested_ms, u->adjusted_ms, &sum) ? INT64_MAX
										    : sum;
}

int projection_keep_row(void *ctx, const struct store_usage *u, struct err *err)
{
	struct projection_state *g = ctx;
	const struct accounts *a = g->site->accounts;
	int32_t account =
		a && g->ask->period.by == STORE_BY_ACCOUNT ? accounts_find(a, u->key) : -1;
	struct projection_entry *k;

	k = projection_add_entry(g);
	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->usage = *u;
	k->counts_ms = k->below_counts_ms = projection_counted_ms(u);
	k->account = account;
	snprintf(k->key, sizeof(k->key), "%s", u->key);
	snprintf(k->second, sizeof(k->second), "%s", u->second);
	snprintf(k->pool, sizeof(k->pool), "%s", u->pool);
	return 0;
}

void projection_add_usage(struct store_usage *to, const struct store_usage *u)
{
	to->jobs_started += u->jobs_started;
	to->jobs_ended += u->jobs_ended;
	to->running_ms += u->running_ms;
	to->suspended_ms += u->suspended_ms;
	to->cpu_ms += u->cpu_ms;
	to->charge_requested_ms += u->charge_requested_ms;
	to->charge_used_ms += u->charge_used_ms;
	to->core_ms += u->core_ms;
	to->gpu_ms += u->gpu_ms;
	to->adjusted_ms += u->adjusted_ms;
}

struct overlap {
	int64_t from, to; /* days */
};

static struct overlap overlap_of(const struct accounts_allocation *a,
				 const struct store_period *p)
{
	return (struct overlap){ a->from_day > p->from_day ? a->from_day : p->from_day,
				 a->to_day < p->to_day ? a->to_day : p->to_day };
}

int projection_allotted_ms(const struct projection_state *g,
			   const struct accounts_allocation *a, int64_t *ret)
{
	struct store *s = g->site->store;
	struct overlap o = overlap_of(a, &g->ask->period);
	int64_t months;

	*ret = 0;
	if (o.to <= o.from)
		return 0;
	switch (a->kind) {
	case ACCOUNTS_TARGET:
		return charge_requested(
			a->amount, store_first_ns(s, o.to) - store_first_ns(s, o.from), ret);
	case ACCOUNTS_MONTHLY: /* months that begin within */
		months = calendar_month(o.to - 1) - calendar_month(o.from) + 1;
		if (calendar_month_first(calendar_month(o.from)) < o.from)
			months--;
		return charge_requested(a->amount, months * HOUR_NS, ret);
	case ACCOUNTS_GRANT:
		if (a->from_day < g->ask->period.from_day)
			return 0;
		return charge_requested(a->amount, HOUR_NS, ret);
	default:
		return 0;
	}
}

bool projection_counts_allocation(const struct projection_state *g,
				  const struct accounts_allocation *a)
{
	const struct store_period *p = &g->period;

	/* A part of an account's usage is not what its allocation is measured by. */
	return g->is_tree && p->each == STORE_EACH_PERIOD && !p->user &&
	       (!p->cluster || !strcmp(p->cluster, a->cluster));
}

/* ---- the limit ---- */

static int64_t weight_of(const struct projection_state *g, const struct projection_entry *k)
{
	return g->is_tree ? k->below_counts_ms : k->counts_ms;
}

static int compare_weights(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* Of rows that count the same the first ones are kept: in a tree a parent stands before its children. */
int projection_limit_rows(struct projection_state *g, int64_t *ret_left_out, struct err *err)
{
	size_t limit = g->ask->limit, n_equal;
	int64_t *weights, least;

	*ret_left_out = 0;
	for (int pool = 0; g->is_top && pool < _CHARGE_POOL_MAX; pool++)
		*ret_left_out += g->totals[pool].n;
	if (g->is_top)
		*ret_left_out -= (int64_t)g->n;
	if (limit == 0 || g->n <= limit)
		return 0;
	weights = calloc(g->n, sizeof(*weights));
	if (!weights)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < g->n; i++)
		weights[i] = weight_of(g, &g->rows[i]);
	qsort(weights, g->n, sizeof(*weights), compare_weights);
	least = weights[limit - 1];
	for (n_equal = 0; n_equal < limit && weights[limit - 1 - n_equal] == least;)
		n_equal++;
	free(weights);
	for (size_t i = 0; i < g->n; i++) {
		int64_t weight = weight_of(g, &g->rows[i]);

		if (weight > least || (weight == least && n_equal > 0)) {
			n_equal -= weight == least;
			continue;
		}
		g->rows[i].is_left_out = true;
		(*ret_left_out)++;
	}
	return 0;
}
