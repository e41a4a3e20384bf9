/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify_totals.c - compares the table totals with the days and months that it is made of. See verify/verify.h. */
#include <string.h>
#include "common/err.h"
#include "controller/ledger/usage/totals/totals.h"
#include "controller/ledger/verify/verify_impl.h"

struct adding {
	struct rollup_set *to;
	bool is_month;
};

/* Months and periods are added up from months, days from rollups. */
static int collect_row(void *ctx, const struct rollup_total *t, const struct rollup *r,
		       struct err *err)
{
	const struct adding *a = ctx;
	struct rollup *sum;
	int n;

	if (a->is_month == (t->span == TOTALS_DAY))
		return 0;
	n = totals_find(a->to, t, &sum, err);
	if (n >= 0)
		rollup_add(sum, r);
	return n;
}

int store_verify_add_total(struct verify *v, const struct store_difference *d,
			   const struct rollup *r, struct err *err)
{
	struct adding a = { v->totals, d->is_month };
	const struct totals_each each = { collect_row, &a };
	const struct rollup_key key = { d->cluster, d->account, d->user,
					!strcmp(d->pool, charge_pool_name(CHARGE_POOL_GPU)),
					d->day };

	return totals_spread(v->s, &key, r, &each, err);
}

static struct store_difference begin_difference(const struct rollup_total *t)
{
	return (struct store_difference){
		.cluster = t->kind == STORE_BY_CLUSTER ? t->name
			   : *t->cluster	       ? t->cluster
						       : "*",
		.account = t->kind == STORE_BY_ACCOUNT ? t->name : "*",
		.user = t->kind == STORE_BY_USER ? t->name : "*",
		.pool = charge_pool_name((enum charge_pool)(int)t->pool),
		.day = t->span == TOTALS_DAY ? t->begins : calendar_month_first(t->begins),
		.is_month = t->span == TOTALS_MONTH,
		.is_period = t->span == TOTALS_PERIOD,
	};
}

/* What was recomputed of the row is 0 from then on. */
static int compare_row(struct verify *v, const struct rollup_total *t, const int64_t *stored,
		       struct rollup *recomputed, struct err *err)
{
	struct store_difference d = begin_difference(t);
	int r = 0;

	for (int f = 0; f < _ROLLUP_MAX && r >= 0; f++) {
		if (stored[f] == recomputed->figure[f])
			continue;
		d.figure = rollup_figure_name((enum rollup_figure)f);
		d.stored = stored[f];
		d.recomputed = recomputed->figure[f];
		r = store_verify_report(v, &d, err);
	}
	*recomputed = (struct rollup){ 0 };
	return r;
}

enum column { KIND, SPAN, CLUSTER, BEGINS, NAME, POOL, FIGURES };
static const char totals_sql[] =
	"SELECT kind, span, cluster, begins, name, pool," ROLLUP_FIGURES " FROM totals";

static int check_row(struct verify *v, struct db_row *st, struct err *err)
{
	const struct rollup_total t = { .kind = db_int(st, KIND),
					.span = db_int(st, SPAN),
					.begins = db_int(st, BEGINS),
					.pool = db_int(st, POOL),
					.cluster = store_text(st, CLUSTER),
					.name = store_text(st, NAME) };
	struct rollup *at = NULL;
	int64_t stored[_ROLLUP_MAX];
	int r;

	for (int f = 0; f < _ROLLUP_MAX; f++)
		stored[f] = db_int(st, FIGURES + f);
	r = totals_find(v->totals, &t, &at, err);
	return r < 0 ? r : compare_row(v, &t, stored, at, err);
}

/* What is left was recomputed and has no row. */
static int check_rest(struct verify *v, struct err *err)
{
	static const int64_t none[_ROLLUP_MAX];
	int r = 0;

	for (size_t i = 0; i < rollup_set_size(v->totals) && r >= 0; i++) {
		struct rollup_set_entry *e = rollup_set_entry(v->totals, i);
		const struct rollup_total t = totals_of_entry(v->totals, e);

		r = compare_row(v, &t, none, &e->rollup, err);
	}
	return r;
}

int store_verify_totals(struct verify *v, struct err *err)
{
	struct db_row *st;
	int r = db_query(v->s->db, err, &st, totals_sql, "");

	if (r >= 0)
		db_scan(st);
	while (r >= 0 && (r = db_step(v->s->db, st, err)) > 0) {
		r = check_row(v, st, err);
		if (r < 0)
			db_done(st);
	}
	return r < 0 ? r : check_rest(v, err);
}
