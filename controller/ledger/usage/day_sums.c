/* SPDX-License-Identifier: GPL-2.0-or-later */
/* day_sums.c - the days from the totals of the clusters, accounts and users from the sums that are kept in memory. See day_sums.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/day_sums.h"
#include "controller/ledger/usage/ranks/ranks.h"

/* A heap of the first n_heap, the largest at its top; behind it those that were taken from it, the last one first. */
struct list {
	struct store_day_sum *of;
	size_t n, n_heap;
	int (*compare)(const struct store_day_sum *x, const struct store_day_sum *y);
};

struct store_day_sums {
	struct store_day_sum days[STORE_DAY_SUMS_MAX];
	struct list accounts, users;
};

/* ---- the order ---- */

static int compare_core(const struct store_day_sum *x, const struct store_day_sum *y)
{
	return x->core_ms != y->core_ms ? (x->core_ms < y->core_ms ? 1 : -1)
					: strcmp(x->name, y->name);
}

/* Core time without cpu time; nothing where no cpu time was measured. */
static int64_t count_idle(const struct store_day_sum *s)
{
	return s->cpu_ms && s->cpu_ms < s->core_ms ? s->core_ms - s->cpu_ms : 0;
}

static int compare_idle(const struct store_day_sum *x, const struct store_day_sum *y)
{
	int64_t of_x = count_idle(x), of_y = count_idle(y);

	return of_x != of_y ? (of_x < of_y ? 1 : -1) : strcmp(x->name, y->name);
}

static void swap_sums(struct store_day_sum *x, struct store_day_sum *y)
{
	struct store_day_sum was = *x;

	*x = *y;
	*y = was;
}

static void sink_sum(struct list *l, size_t at)
{
	for (size_t first = at;; at = first) {
		for (size_t i = 2 * at + 1; i <= 2 * at + 2 && i < l->n_heap; i++)
			if (l->compare(&l->of[i], &l->of[first]) < 0)
				first = i;
		if (first == at)
			return;
		swap_sums(&l->of[at], &l->of[first]);
	}
}

/* NULL: there are not as many. Few of a hundred thousand are asked for: the others are never sorted. */
static const struct store_day_sum *sum_at(struct list *l, size_t i)
{
	if (i >= l->n)
		return NULL;
	while (l->n - l->n_heap <= i) {
		swap_sums(&l->of[0], &l->of[--l->n_heap]);
		sink_sum(l, 0);
	}
	return &l->of[l->n - 1 - i];
}

/* ---- accounts and users ---- */

static void add_sum(struct store_day_sum *to, const struct rollup *sum)
{
	to->core_ms += sum->figure[ROLLUP_CORE_MS];
	to->gpu_ms += sum->figure[ROLLUP_GPU_MS];
	to->cpu_ms += sum->figure[ROLLUP_CPU_MS];
}

static void list_sums(const struct store *s, enum store_by kind, const struct packed_sums *sums,
		      struct list *l)
{
	for (int32_t i = 0; (size_t)i < sums->n_names; i++) {
		struct store_day_sum one = { .name = NULL };

		for (int pool = 0; pool < _CHARGE_POOL_MAX; pool++) {
			const struct rollup *sum = packed_sum(sums, i, pool);

			if (sum)
				one.name = ranks_name(s, kind, i);
			if (sum)
				add_sum(&one, sum);
		}
		if (one.name)
			l->of[l->n++] = one;
	}
	l->n_heap = l->n;
	for (size_t i = l->n / 2; i-- > 0;)
		sink_sum(l, i);
}

static int read_list(struct store *s, const struct store_day_sums_ask *ask, enum store_by kind,
		     struct list *ret, struct err *err)
{
	const struct ranks_ask all = { kind, ask->cluster, ask->from_day, ask->to_day };
	_cleanup_(packed_sums_done) struct packed_sums sums = { .n_names = 0 };
	int r = ranks_read(s, &all, &sums, err);

	if (r < 0)
		return r;
	ret->of = calloc(sums.n_names + 1, sizeof(*ret->of));
	if (!ret->of)
		return err_set(err, -ENOMEM, "out of memory");
	list_sums(s, kind, &sums, ret);
	return 0;
}

/* ---- days ---- */

enum sum_column { SUM_DAY, SUM_CORE_MS, SUM_GPU_MS, SUM_CPU_MS };

static int read_days(struct store *s, const struct store_day_sums_ask *ask,
		     struct store_day_sum *days, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT begins, core_ms, gpu_ms, cpu_ms FROM totals"
			 " WHERE kind = " SQL_STORE_BY_CLUSTER " AND span = " SQL_TOTALS_DAY
			 " AND cluster = '' AND begins >= ?1 AND begins < ?2"
			 " AND (?3 IS NULL OR name = ?3)",
			 "iit", ask->from_day, ask->to_day, ask->cluster);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct store_day_sum *day = &days[db_int(st, SUM_DAY) - ask->from_day];

		day->core_ms += db_int(st, SUM_CORE_MS);
		day->gpu_ms += db_int(st, SUM_GPU_MS);
		day->cpu_ms += db_int(st, SUM_CPU_MS);
	}
	return r;
}

/* ---- all ---- */

void store_day_sums_free(struct store_day_sums *d)
{
	if (!d)
		return;
	free(d->accounts.of);
	free(d->users.of);
	free(d);
}

int store_day_sums(struct store *s, const struct store_day_sums_ask *ask,
		   struct store_day_sums **ret, struct err *err)
{
	struct store_day_sums *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->accounts.compare = compare_core;
	d->users.compare = compare_idle;
	r = read_days(s, ask, d->days, err);
	if (r >= 0)
		r = read_list(s, ask, STORE_BY_ACCOUNT, &d->accounts, err);
	if (r >= 0)
		r = read_list(s, ask, STORE_BY_USER, &d->users, err);
	if (r < 0) {
		store_day_sums_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

const struct store_day_sum *store_day_sums_day(const struct store_day_sums *d, int64_t i)
{
	return i >= 0 && i < STORE_DAY_SUMS_MAX ? &d->days[i] : NULL;
}

const struct store_day_sum *store_day_sums_account(struct store_day_sums *d, size_t i)
{
	return sum_at(&d->accounts, i);
}

const struct store_day_sum *store_day_sums_user(struct store_day_sums *d, size_t i)
{
	return sum_at(&d->users, i);
}
