/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_usage - a view of any period, by any key and filter, is the sum of its days; by month
 * too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/import/import.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/ledger/usage/rollup/rollup_write.h"
#include "tests/unit/rig/ledger_rig.h"

#define FIRST_DAY 20075 /* 2024-12-18 */
#define DAYS 120
#define JOBS 400

static uint64_t seed = 88172645463325252ULL;

static int64_t draw_number(int64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed % (uint64_t)below);
}

static struct history_job a_job(int64_t number)
{
	int64_t start_s = FIRST_DAY * 86400LL + draw_number(DAYS * 86400LL);
	struct history_job j = { .number = number,
				 .submit_s = start_s - draw_number(5000),
				 .start_s = start_s,
				 .end_s = start_s + 1 + draw_number(3 * 86400),
				 .ncpus = 1 + draw_number(64),
				 .ngpus = draw_number(3),
				 .walltime_s = -1,
				 .mem_bytes = -1,
				 .mem_peak_bytes = -1,
				 .cpu_ms = draw_number(1000000) };

	snprintf(j.cluster, sizeof(j.cluster), "c%d", (int)draw_number(2));
	snprintf(j.account, sizeof(j.account), "a%d", (int)draw_number(4));
	snprintf(j.user, sizeof(j.user), "u%d", (int)draw_number(6));
	return j;
}

static void fill_ledger(struct rig *r)
{
	const struct store_import_file f = { "digest", "f", "swf", "content", "", "" };
	struct store_import_count n;
	struct store_import *i;

	assert_int_equal(store_import_open(r->store, &f, &i, &n, NULL), 0);
	for (int64_t k = 1; k <= JOBS; k++) {
		struct history_job j = a_job(k);
		struct store_import_job sj = {
			.job = &j,
			.pool = j.ngpus ? CHARGE_POOL_GPU : CHARGE_POOL_CPU,
			.terms = { .rate = { 5, 2 }, .ncpus = j.ncpus, .ngpus = j.ngpus }
		};

		sj.terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
		assert_int_equal(store_import_add(i, &sj, NULL), 0);
		if (k % 77 == 0)
			assert_int_equal(store_import_commit(i, &n, NULL), 0);
	}
	assert_int_equal(store_import_commit(i, &n, NULL), 0);
	store_import_close(i);
}

/* One figure made of all, so that none can be mistaken for another. */
static int64_t hash_usage(const struct store_usage *u)
{
	return u->jobs_started + 3 * u->jobs_ended + 5 * u->running_ms + 7 * u->suspended_ms +
	       11 * u->cpu_ms + 13 * u->charge_requested_ms + 17 * u->charge_used_ms +
	       19 * u->core_ms + 23 * u->gpu_ms + 29 * u->adjusted_ms;
}
#define WEIGHED                                                                                \
	"SUM(jobs_started + 3 * jobs_ended + 5 * running_ms + 7 * suspended_ms + 11 * cpu_ms"  \
	" + 13 * charge_requested_ms + 17 * charge_used_ms + 19 * core_ms + 23 * gpu_ms"       \
	" + 29 * adjusted_ms)"
#define DAYS_OF                                                                                \
	" FROM rollups WHERE day >= ?1 AND day < ?2 AND (?3 IS NULL OR account = ?3)"          \
	" AND (?4 IS NULL OR user = ?4) AND (?5 IS NULL OR cluster = ?5)"

struct seen {
	char key[64], second[64], pool[8];
	int64_t month, rows, sum;
	uint64_t weight; /* a hash: wraps */
};

static int on_usage(void *ctx, const struct store_usage *u, struct err *err)
{
	struct seen *s = ctx;
	int names = strcmp(u->key, s->key);
	bool is_later;

	names = names ? names : strcmp(u->second, s->second);
	names = names ? names : strcmp(u->pool, s->pool);
	is_later = u->month > s->month || (u->month == s->month && names > 0);

	(void)err;
	assert_true(s->rows == 0 || is_later);
	snprintf(s->key, sizeof(s->key), "%s", u->key);
	snprintf(s->second, sizeof(s->second), "%s", u->second);
	snprintf(s->pool, sizeof(s->pool), "%s", u->pool);
	s->month = u->month;
	s->weight = s->weight * 31 + (uint64_t)hash_usage(u);
	s->sum += hash_usage(u);
	s->rows++;
	return 0;
}

/* The same from the days alone; pools in the order of their numbers, as names are too. */
static struct seen from_days(struct rig *r, const struct store_period *p)
{
	static char texts[_STORE_BY_MAX][_STORE_BY_MAX]
			 [1024]; /* statements are known by address */
	char *sql = texts[p->by][p->second], keys[64];
	struct seen s = { .rows = 0 };
	struct db_row *row;

	snprintf(keys, sizeof(keys), "%s%s%s, pool", store_by_name(p->by),
		 p->second ? ", " : "", store_by_name(p->second));
	snprintf(sql, sizeof(texts[0][0]), "SELECT " WEIGHED DAYS_OF " GROUP BY %s ORDER BY %s",
		 keys, keys);
	assert_int_equal(db_query(r->store->db, NULL, &row, sql, "iittt", p->from_day,
				  p->to_day, p->account, p->user, p->cluster),
			 0);
	while (db_step(r->store->db, row, NULL) > 0) {
		s.weight = s.weight * 31 + (uint64_t)db_int(row, 0);
		s.sum += db_int(row, 0);
		s.rows++;
	}
	return s;
}

static void check_months(struct rig *r, struct store_period p, int64_t sum)
{
	struct seen months = { .rows = 0 };

	p.each = STORE_EACH_MONTH;
	assert_int_equal(store_usage(r->store, &p, on_usage, &months, NULL), 0);
	assert_int_equal(months.sum, sum);
}

static void any_period_is_the_sum_of_its_days(void **state)
{
	static const char *const accounts[] = { NULL, "a0", "a3", "none" };
	static const char *const users[] = { NULL, "u0", "u5", "ghost" };
	static const char *const clusters[] = { NULL, NULL, "c0", "none" };
	static const int64_t periods[][2] = { { 12, 3 }, { 12, 0 }, { 3, 1 }, { 12, 11 } };
	struct rig *r = *state;

	fill_ledger(r);
	for (int k = 0; k < 600; k++) {
		struct store_period p = { .by = (enum store_by)(1 +
								draw_number(_STORE_BY_MAX - 1)),
					  .second = (enum store_by)draw_number(_STORE_BY_MAX),
					  .cluster = clusters[draw_number(4)],
					  .account = accounts[draw_number(4)],
					  .user = users[draw_number(4)],
					  .from_day = FIRST_DAY - 5 + draw_number(DAYS) };
		struct seen got = { .rows = 0 }, want;

		p.second = p.second == p.by ? STORE_BY_NONE : p.second;
		p.to_day = p.from_day + draw_number(k % 2 ? DAYS : 500);
		if (k % 5 == 0)
			p.account = p.user = NULL;
		if (k % 150 == 0)
			assert_int_equal(store_set_period(r->store, periods[k / 150][0],
							  periods[k / 150][1], NULL),
					 0);
		assert_int_equal(store_usage(r->store, &p, on_usage, &got, NULL), 0);
		want = from_days(r, &p);
		assert_int_equal(got.rows, want.rows);
		assert_true(got.weight == want.weight);
		check_months(r, p, want.sum);
	}
}

/* ---- what counts most ---- */

#define ROWS_MAX 64

struct row {
	char key[64], pool[8];
	int64_t hash, counts;
	bool is_passed;
};
struct rows {
	struct row of[ROWS_MAX];
	size_t n;
};

static int add_row(void *ctx, const struct store_usage *u, struct err *err)
{
	struct rows *rows = ctx;
	struct row *row = &rows->of[rows->n++];

	(void)err;
	assert_true(rows->n <= ROWS_MAX);
	*row = (struct row){ .hash = hash_usage(u),
			     .counts = u->charge_requested_ms + u->adjusted_ms };
	snprintf(row->key, sizeof(row->key), "%s", u->key);
	snprintf(row->pool, sizeof(row->pool), "%s", u->pool);
	return 0;
}

/* Every row of `top` is one of `all`, in their order, and none that was not passed counts more than one that was. */
static void check_top(struct rows *all, const struct rows *top)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	size_t at = 0;

	for (size_t i = 0; i < top->n; i++, at++) {
		while (at < all->n && (strcmp(all->of[at].key, top->of[i].key) != 0 ||
				       strcmp(all->of[at].pool, top->of[i].pool) != 0))
			at++;
		assert_true(at < all->n);
		assert_true(all->of[at].hash == top->of[i].hash);
		all->of[at].is_passed = true;
		if (top->of[i].counts < least)
			least = top->of[i].counts;
	}
	for (size_t i = 0; i < all->n; i++)
		if (!all->of[i].is_passed && all->of[i].counts > most)
			most = all->of[i].counts;
	assert_true(most <= least);
}

static void check_span(struct rig *r, const struct store_period *p)
{
	struct store_top top = { .limit = 1 + (size_t)draw_number(8) };
	struct rows all = { .n = 0 }, some = { .n = 0 };
	const struct store_usage_each each = { add_row, &some };

	assert_int_equal(store_usage(r->store, p, add_row, &all, NULL), 0);
	assert_int_equal(store_usage_top(r->store, p, &top, &each, NULL), 1);
	assert_int_equal(some.n, all.n < top.limit ? all.n : top.limit);
	assert_int_equal(top.n_rows[CHARGE_POOL_CPU] + top.n_rows[CHARGE_POOL_GPU], all.n);
	check_top(&all, &some);
}

static void what_counts_most_of_any_period_is_found_at_once(void **state)
{
	static const char *const clusters[] = { NULL, "c0", "c1", "none" };
	struct rig *r = *state;
	int64_t month = calendar_month(FIRST_DAY);
	struct store_period p = { .by = STORE_BY_ACCOUNT };
	const struct store_usage_each each = { add_row, NULL };
	struct store_top top = { .limit = 3 };

	fill_ledger(r);
	for (int k = 0; k < 240; k++) {
		int64_t n = k % 2 ? 1 : 12, first = k % 2 ? month + k % 7 : month / 12 * 12 - 9;

		p.by = k % 3 ? STORE_BY_USER : STORE_BY_ACCOUNT;
		p.cluster = clusters[draw_number(4)];
		p.from_day = calendar_month_first(first);
		p.to_day = calendar_month_first(first + n);
		if (k % 5 < 3)
			p.from_day = FIRST_DAY - 5 + draw_number(DAYS);
		if (k % 5 < 2)
			p.to_day = p.from_day + draw_number(DAYS);
		check_span(r, &p);
	}
	p.from_day = INT32_MIN;
	p.to_day = INT32_MAX;
	check_span(r, &p);
	/* Other views are for store_usage(). */
	p.by = STORE_BY_CLUSTER;
	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 0);
	p.by = STORE_BY_USER;
	p.each = STORE_EACH_MONTH;
	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 0);
}

/* Takes what a name was charged away from its row. */
static int subtract_named(void *ctx, const struct store_usage *u, struct err *err)
{
	struct rows *rows = ctx;

	(void)err;
	for (size_t i = 0; i < rows->n; i++)
		if (!strcmp(rows->of[i].key, u->key) && !strcmp(rows->of[i].pool, u->pool)) {
			rows->of[i].counts -= u->charge_requested_ms;
			return 0;
		}
	fail_msg("%s, %s is not in the period", u->key, u->pool);
	return 0;
}

static void the_last_days_of_names_are_those_of_the_view(void **state)
{
	static const char *const accounts[] = { "a0", "a1", "a2", "a3", "none" };
	static const char *users[40];
	char names[ARRAY_LEN(users)][8];
	struct rig *r = *state;

	fill_ledger(r);
	for (size_t i = 0; i < ARRAY_LEN(users); i++) {
		snprintf(names[i], sizeof(names[i]), "u%zu",
			 (size_t)(ARRAY_LEN(users) - 1 - i));
		users[i] = names[i];
	}
	for (int k = 0; k < 40; k++) {
		const bool by_user = k % 2;
		const struct store_period p = { .by = by_user ? STORE_BY_USER
							      : STORE_BY_ACCOUNT,
						.cluster = k % 3 ? NULL : "c1",
						.from_day = FIRST_DAY + draw_number(DAYS),
						.to_day = FIRST_DAY + DAYS + draw_number(9) };
		const struct store_names some = by_user ? (struct store_names){ users, 40 }
							: (struct store_names){ accounts, 5 };
		struct rows all = { .n = 0 };
		const struct store_usage_each each = { subtract_named, &all };

		assert_int_equal(store_usage(r->store, &p, add_row, &all, NULL), 0);
		assert_int_equal(store_usage_named(r->store, &p, &some, &each, NULL), 0);
		for (size_t i = 0; i < all.n; i++)
			assert_int_equal(all.of[i].counts, 0);
	}
}

/* ---- totals ---- */

static int64_t count_totals(struct rig *r)
{
	return rig_number(r, "SELECT COUNT(*) FROM totals");
}

static int add_usage(struct rig *r, const char *user)
{
	const struct rollup_key k = { "c9", "a9", user, CHARGE_POOL_CPU, FIRST_DAY };
	const struct rollup gain = { .figure = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } };

	return rollup_write(r->store, &k, &gain, NULL);
}

static void totals_are_written_with_their_transaction_or_not_at_all(void **state)
{
	struct rig *r = *state;

	assert_int_equal(db_begin(r->store->db, NULL), 0);
	assert_int_equal(add_usage(r, "gone"), 0);
	db_rollback(r->store->db);
	assert_int_equal(count_totals(r), 0);
	assert_int_equal(db_begin(r->store->db, NULL), 0);
	assert_int_equal(add_usage(r, "u1"), 0);
	assert_int_equal(add_usage(r, "u1"), 0);
	assert_int_equal(add_usage(r, "u2"), 0);
	assert_int_equal(db_commit(r->store->db, NULL), 0);
	/* A day, months and periods: of the cluster, of the account and of two users, there and in all clusters. */
	assert_int_equal(count_totals(r), 1 + 2 + 4 + 8);
	assert_int_equal(rig_number(r, "SELECT SUM(gpu_ms) FROM totals WHERE span = 2"),
			 5 * 27);
	assert_int_equal(rig_number(r, "SELECT SUM(adjusted_ms) FROM totals WHERE kind = 2"
				       " AND name = 'u1' AND cluster = ''"),
			 2 * 20);
	assert_true(add_usage(r, "alone") < 0); /* without a transaction */
}

/* The rows of some accounts, and of `more` in the others. */
static int64_t sum_scope(struct rig *r, const struct store_period *p, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "SELECT COALESCE(" WEIGHED ", 0) FROM rollups WHERE day >= %d AND day < %d"
		 " AND (account IN ('a0', 'a3')%s) AND (%s OR user = '%s')",
		 (int)p->from_day, (int)p->to_day, more, p->user ? "1 = 0" : "1 = 1",
		 p->user ? p->user : "");
	return rig_number(r, text);
}

static void a_scope_is_its_accounts_and_the_own_usage_in_others(void **state)
{
	static const char *const accounts[] = { "a0", "a3" };
	static const char *const users[] = { NULL, "u0", "u5" };
	struct rig *r = *state;

	fill_ledger(r);
	for (int k = 0; k < 200; k++) {
		bool is_own = draw_number(2) != 0;
		const struct store_scope scope = { accounts, 2, is_own ? "u5" : NULL };
		struct store_period p = { .by = (enum store_by)draw_number(_STORE_BY_MAX),
					  .user = users[draw_number(3)],
					  .scope = &scope,
					  .from_day = FIRST_DAY + draw_number(DAYS) };
		struct seen got = { .rows = 0 };

		p.to_day = p.from_day + draw_number(DAYS);
		assert_int_equal(store_usage(r->store, &p, on_usage, &got, NULL), 0);
		assert_int_equal(got.sum, sum_scope(r, &p, is_own ? " OR user = 'u5'" : ""));
		assert_true(p.by != STORE_BY_NONE || got.rows <= 2); /* a row a pool */
	}
}

static sqlite3 *opened; /* the ledger's connection */

static int note_connection(sqlite3 *db, char **message, const struct sqlite3_api_routines *api)
{
	(void)message, (void)api;
	opened = db;
	return 0;
}

static int open_noted(void **state)
{
	int r;

	sqlite3_auto_extension((void (*)(void))note_connection);
	r = rig_open(state);
	sqlite3_cancel_auto_extension((void (*)(void))note_connection);
	return r;
}

/* How many steps of the plan read a table or an index from its beginning to its end. */
static int count_scans(sqlite3_stmt *st)
{
	char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sqlite3_sql(st));
	sqlite3_stmt *plan = NULL;
	int n = 0;

	assert_int_equal(sqlite3_prepare_v2(opened, text, -1, &plan, NULL), SQLITE_OK);
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(plan, 3);

		if (!strncmp(detail, "SCAN ", 5)) {
			print_message("%s\n  in %s\n", detail, sqlite3_sql(st));
			n++;
		}
	}
	sqlite3_finalize(plan);
	sqlite3_free(text);
	return n;
}

static void usage_of_a_scope_is_found_by_indices(void **state)
{
	static const char *const accounts[] = { "a0", "a3" };
	const struct store_scope scope = { accounts, 2, "u5" };
	struct store_period p = { .by = STORE_BY_USER,
				  .scope = &scope,
				  .from_day = FIRST_DAY + 5,
				  .to_day = FIRST_DAY + 100 };
	struct seen s = { .rows = 0 };
	struct rig *r = *state;
	int n = 0, scans = 0;

	if (!rig_is_sqlite())
		skip();
	fill_ledger(r);
	assert_int_equal(store_usage(r->store, &p, on_usage, &s, NULL), 0);
	for (sqlite3_stmt *st = NULL; (st = sqlite3_next_stmt(opened, st));) {
		if (strncmp(sqlite3_sql(st), "SELECT a.account", 16) != 0 &&
		    strncmp(sqlite3_sql(st), "SELECT account, user, cluster", 29) != 0 &&
		    strncmp(sqlite3_sql(st), "SELECT r.account", 16) != 0)
			continue;
		n++;
		scans += count_scans(st);
	}
	assert_int_equal(n, 4); /* months and days, of an account and of a user */
	assert_int_equal(scans, 0);
}

static void the_first_day_is_that_of_the_first_charge(void **state)
{
	struct rig *r = *state;
	int64_t day = 7;

	assert_int_equal(store_usage_first_day(r->store, &day, NULL), 0);
	assert_int_equal(day, 7);
	fill_ledger(r);
	assert_int_equal(store_usage_first_day(r->store, &day, NULL), 1);
	assert_int_equal(day, rig_number(r, "SELECT MIN(day) FROM rollups"));
}

static void each_month_is_the_period_of_its_days(void **state)
{
	struct rig *r = *state;

	fill_ledger(r);
	for (int64_t m = calendar_month(FIRST_DAY); m < calendar_month(FIRST_DAY + DAYS); m++) {
		struct store_period p = { .by = STORE_BY_USER,
					  .from_day = calendar_month_first(m),
					  .to_day = calendar_month_first(m + 1) };
		struct seen whole = { .rows = 0 }, month = { .rows = 0 };

		assert_int_equal(store_usage(r->store, &p, on_usage, &whole, NULL), 0);
		p.each = STORE_EACH_MONTH;
		assert_int_equal(store_usage(r->store, &p, on_usage, &month, NULL), 0);
		assert_int_equal(month.month, m);
		assert_true(whole.rows > 0 && whole.rows == month.rows);
		assert_true(whole.weight == month.weight);
	}
}

static void an_empty_or_backward_period_has_no_rows(void **state)
{
	struct rig *r = *state;
	struct seen s = { .rows = 0 };
	struct store_period p = { .by = STORE_BY_ACCOUNT,
				  .from_day = FIRST_DAY + 20,
				  .to_day = FIRST_DAY + 20 };

	fill_ledger(r);
	assert_int_equal(store_usage(r->store, &p, on_usage, &s, NULL), 0);
	p.to_day = FIRST_DAY - 90;
	assert_int_equal(store_usage(r->store, &p, on_usage, &s, NULL), 0);
	assert_int_equal(s.rows, 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_period_is_the_sum_of_its_days),
		TEST(what_counts_most_of_any_period_is_found_at_once),
		TEST(the_last_days_of_names_are_those_of_the_view),
		TEST(totals_are_written_with_their_transaction_or_not_at_all),
		TEST(a_scope_is_its_accounts_and_the_own_usage_in_others),
		TEST(the_first_day_is_that_of_the_first_charge),
		cmocka_unit_test_setup_teardown(usage_of_a_scope_is_found_by_indices,
						open_noted, rig_close),
		TEST(each_month_is_the_period_of_its_days),
		TEST(an_empty_or_backward_period_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
