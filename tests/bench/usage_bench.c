/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_bench LEDGER - usage views inside the process, beside what SQL alone makes of the same
 * ledger on a connection of the same cache: medians of many rounds. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "controller/ledger/store.h"

#define ROUNDS 21
#define ACCOUNTS_MAX 5000

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int count_row(void *ctx, const struct store_usage *u, struct err *err)
{
	(void)err;
	*(int64_t *)ctx += u->charge_requested_ms;
	return 0;
}

static double view_ms(struct store *s, const struct store_period *p, int64_t *ret_sum)
{
	struct err err = { "" };
	double from = now_ms();

	*ret_sum = 0;
	if (store_usage(s, p, count_row, ret_sum, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return now_ms() - from;
}

/* Every row is stepped to and its charge read. */
static double sql_ms(sqlite3_stmt *st, int column, int64_t *ret_sum)
{
	double from = now_ms();

	*ret_sum = 0;
	while (sqlite3_step(st) == SQLITE_ROW)
		*ret_sum += sqlite3_column_int64(st, column);
	sqlite3_reset(st);
	return now_ms() - from;
}

#define SUMS                                                                                   \
	" SUM(jobs_started), SUM(jobs_ended), SUM(running_ms), SUM(suspended_ms),"             \
	" SUM(cpu_ms), SUM(charge_requested_ms), SUM(charge_used_ms), SUM(core_ms), "          \
	"SUM(gpu_ms)"

static const struct {
	const char *name, *sql;
	int column;
} rivals[] = {
	{ "days, GROUP BY in SQL", "SELECT user, pool," SUMS " FROM rollups GROUP BY 1, 2", 7 },
	{ "days in key order, only read", "SELECT * FROM rollups", 10 },
	{ "months, GROUP BY in SQL",
	  "SELECT a.user, m.pool," SUMS
	  " FROM months m JOIN associations a ON a.id = m.association GROUP BY 1, 2",
	  7 },
};

static void compare_designs(struct store *s, sqlite3 *db)
{
	static const struct store_period views[] = {
		{ .by = STORE_BY_USER, .from_day = INT32_MIN, .to_day = INT32_MAX },
		{ .by = STORE_BY_ACCOUNT, .from_day = INT32_MIN, .to_day = INT32_MAX },
		{ .by = STORE_BY_CLUSTER, .from_day = INT32_MIN, .to_day = INT32_MAX },
		{ .by = STORE_BY_USER,
		  .each = STORE_EACH_MONTH,
		  .from_day = INT32_MIN,
		  .to_day = INT32_MAX },
	};
	static const char *const names[] = { "by user", "by account", "by cluster",
					     "by user, monthly" };
	double t[ROUNDS], ours = 0;
	int64_t sum, want = 0;

	for (size_t v = 0; v < ARRAY_LEN(views); v++) {
		for (int i = 0; i < ROUNDS; i++)
			t[i] = view_ms(s, &views[v], &want);
		qsort(t, ROUNDS, sizeof(*t), compare_doubles);
		printf("view %-18s %8.3f ms\n", names[v], t[ROUNDS / 2]);
		ours = v == 0 ? t[ROUNDS / 2] : ours;
	}
	for (size_t k = 0; k < ARRAY_LEN(rivals); k++) {
		sqlite3_stmt *st;

		if (sqlite3_prepare_v2(db, rivals[k].sql, -1, &st, NULL) != SQLITE_OK)
			exit(1);
		for (int i = 0; i < ROUNDS; i++)
			t[i] = sql_ms(st, rivals[k].column, &sum);
		sqlite3_finalize(st);
		qsort(t, ROUNDS, sizeof(*t), compare_doubles);
		printf("rival %-30s %8.3f ms: view by user takes x%.2f of it\n", rivals[k].name,
		       t[ROUNDS / 2], ours / t[ROUNDS / 2]);
		if (sum != want) {
			fprintf(stderr, "the sums differ: %" PRId64 ", %" PRId64 "\n", sum,
				want);
			exit(1);
		}
	}
}

/* Every account once: what `reeve usage --by user --monthly --account A` reads. */
static void every_account(struct store *s, sqlite3 *db)
{
	static double t[ACCOUNTS_MAX];
	struct store_period p = { .by = STORE_BY_USER,
				  .each = STORE_EACH_MONTH,
				  .from_day = INT32_MIN,
				  .to_day = INT32_MAX };
	sqlite3_stmt *st;
	int64_t sum;
	int n = 0;

	if (sqlite3_prepare_v2(db, "SELECT DISTINCT account FROM associations", -1, &st,
			       NULL) != SQLITE_OK)
		exit(1);
	while (n < ACCOUNTS_MAX && sqlite3_step(st) == SQLITE_ROW) {
		p.account = (const char *)sqlite3_column_text(st, 0);
		t[n++] = view_ms(s, &p, &sum);
	}
	sqlite3_finalize(st);
	if (!n)
		return;
	qsort(t, (size_t)n, sizeof(*t), compare_doubles);
	printf("one account by user, monthly: %d accounts, p50 %.3f ms, p99 %.3f ms, "
	       "slowest %.3f ms\n",
	       n, t[n / 2], t[n - 1 - n / 100], t[n - 1]);
}

int main(int argc, char **argv)
{
	struct store *s = NULL;
	struct err err = { "" };
	sqlite3 *db;

	if (argc != 2 || store_open(argv[1], &s, &err) < 0 ||
	    sqlite3_open(argv[1], &db) != SQLITE_OK) {
		fprintf(stderr, "usage: usage_bench LEDGER: %s\n", err.text);
		return 1;
	}
	every_account(s, db); /* first, from a cold cache of the connection */
	compare_designs(s, db);
	sqlite3_close(db);
	store_close(s);
	return 0;
}
