/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ranks - the sums that are kept in memory are those of the ledger, whichever program changes it, of whatever parts a period is made. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/day_sums.h"
#include "controller/ledger/usage/ranks/cover.h"
#include "controller/ledger/usage/ranks/parts.h"
#include "controller/ledger/usage/ranks/ranks.h"
#include "controller/ledger/usage/rollup/rollup_write.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/ledger/usage/totals/totals.h"
#include "tests/unit/rig/ledger_rig.h"

#define FIRST_DAY 20075 /* 2024-12-18 */
#define DAYS 400

static uint64_t seed = 88172645463325252ULL;

static int64_t draw_number(int64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed % (uint64_t)below);
}

/* ---- of which sums a period is made ---- */

static int64_t first_day(const struct cover_range *r, int64_t begins)
{
	return r->span == TOTALS_DAY ? begins : calendar_month_first(begins);
}

/* How often the ranges have a day: those of periods name their first months, and what is between them. */
static int count_covers(const struct cover *c, const struct cover_ledger *l, int64_t day)
{
	int n = 0;

	for (int i = 0; i < c->n; i++) {
		const struct cover_range *r = &c->of[i];

		if (r->span == TOTALS_PERIOD)
			assert_int_equal((r->from - l->first) % l->months, 0);
		assert_true(r->from < r->to);
		n += day >= first_day(r, r->from) && day < first_day(r, r->to);
	}
	return n;
}

static void every_day_of_a_period_is_covered_once(void **state)
{
	static const int64_t periods[][2] = { { 12, 3 }, { 12, 0 }, { 3, 1 }, { 3, 2 } };

	(void)state;
	for (int k = 0; k < 400; k++) {
		const struct cover_ledger l = { .first_day = FIRST_DAY,
						.last_day = FIRST_DAY + draw_number(2000),
						.months = periods[k % 4][0],
						.first = periods[k % 4][1] };
		int64_t from = k % 7 ? FIRST_DAY - 50 + draw_number(2000) : INT32_MIN;
		int64_t to = k % 5 ? FIRST_DAY - 50 + draw_number(2100) : INT32_MAX;
		struct cover c = cover_find(&l, from, to);

		for (int64_t day = l.first_day; day <= l.last_day; day++)
			assert_int_equal(count_covers(&c, &l, day), day >= from && day < to);
		/* Nothing of the last days is in a sum of many days, which each report would change. */
		for (int i = 0; i < c.n; i++)
			if (c.of[i].span != TOTALS_DAY)
				assert_true(first_day(&c.of[i], c.of[i].to) <=
					    l.last_day - 7 + 1);
	}
}

/* ---- packed sums ---- */

static void packed_rows_add_up(void **state)
{
	static const int64_t figures[] = {
		0, 1, -1, 63, -64, 64, INT64_MAX, INT64_MIN, 1 << 30
	};
	struct packed_row rows[3 * ARRAY_LEN(figures)];
	struct packed_sums sums = { .n_names = 0 };
	struct packed p, none;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		for (int k = 0; k < 3; k++, n++) {
			rows[n] = (struct packed_row){ (int32_t)(i * 1000), k > 0, { { 0 } } };
			/* The two of the pool 1 add up. */
			rows[n].sum.figure[ROLLUP_JOBS_STARTED] = 5 * k;
			if (k < 2)
				rows[n].sum.figure[ROLLUP_ADJUSTED_MS] = figures[i];
		}
	assert_int_equal(packed_make(rows, 0, &none), 0);
	assert_int_equal(packed_add(&none, &sums, 0), 0);
	assert_null(packed_sum(&sums, 0, 0));
	assert_int_equal(packed_make(rows, n, &p), 0);
	assert_int_equal(packed_add(&p, &sums, 9000), 0);
	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		for (int pool = 0; pool < 2; pool++) {
			const struct rollup *sum = packed_sum(&sums, (int32_t)(i * 1000), pool);

			assert_non_null(sum);
			assert_int_equal(sum->figure[ROLLUP_JOBS_STARTED], 15 * pool);
			assert_true(sum->figure[ROLLUP_ADJUSTED_MS] == figures[i]);
			assert_int_equal(sum->figure[ROLLUP_CPU_MS], 0);
			assert_null(packed_sum(&sums, (int32_t)(i * 1000 + 1), pool));
		}
	assert_null(packed_sum(&sums, 9000, 0));
	assert_null(packed_sum(&sums, -1, 0));
	packed_done(&p);
	packed_sums_done(&sums);
}

static struct packed some_bytes(size_t size)
{
	return (struct packed){ calloc(1, size), size };
}

static void what_was_used_longest_ago_goes_first(void **state)
{
	struct parts *p = parts_new();
	struct part_key k = { 1, 1, 0, "c", 7 }, other = { 1, 1, 0, "d", 7 };

	(void)state;
	for (k.begins = 0; k.begins < 4; k.begins++)
		assert_int_equal(parts_keep(p, &k, some_bytes(PARTS_BYTES_MAX / 5)), 0);
	k.begins = 0;
	assert_non_null(parts_find(p, &k));
	assert_null(parts_find(p, &other));
	k.version = 8;
	assert_null(parts_find(p, &k));
	k.version = 7;
	k.begins = 4;
	assert_int_equal(parts_keep(p, &k, some_bytes(PARTS_BYTES_MAX / 5)), 0);
	for (k.begins = 0; k.begins < 5; k.begins++)
		assert_int_equal(parts_find(p, &k) != NULL, k.begins != 1);
	/* Another version takes the place of the first. */
	k.begins = 2;
	k.version = 9;
	assert_int_equal(parts_keep(p, &k, some_bytes(1)), 0);
	assert_int_equal(parts_find(p, &k)->size, 1);
	k.version = 7;
	assert_null(parts_find(p, &k));
	k.begins = 3;
	assert_non_null(parts_find(p, &k));
	/* One that is larger than all together is alone. */
	k.begins = 9;
	assert_int_equal(parts_keep(p, &k, some_bytes(PARTS_BYTES_MAX + 1)), 0);
	assert_non_null(parts_find(p, &k));
	k.begins = 3;
	assert_null(parts_find(p, &k));
	parts_free(p);
}

/* ---- the ledger ---- */

static int add_gain(struct store *s, const char *user, int64_t day, int64_t n)
{
	const struct rollup_key k = { n % 2 ? "c1" : "c2", n % 3 ? "a1" : "a2", user,
				      n % 5 ? CHARGE_POOL_CPU : CHARGE_POOL_GPU, day };
	const struct rollup gain = { .figure = { 1, 2, 3, 4, n, 5 * n, 6, 7 * n, 8,
						 n % 7 ? 0 : -n } };

	return rollup_write(s, &k, &gain, NULL);
}

static void add_usage(struct store *s, int64_t from, int64_t days, int n)
{
	char user[8];

	assert_int_equal(db_begin(s->db, NULL), 0);
	for (int i = 0; i < n; i++) {
		snprintf(user, sizeof(user), "u%d", (int)draw_number(30));
		assert_int_equal(
			add_gain(s, user, from + draw_number(days), 1 + draw_number(1000)), 0);
	}
	assert_int_equal(db_commit(s->db, NULL), 0);
}

/* All rows as one text: at most 60 of them. */
#define TEXT_MAX 8192
static int add_text(void *ctx, const struct store_usage *u, struct err *err)
{
	char *text = ctx;
	size_t n = strlen(text);

	(void)err;
	snprintf(text + n, TEXT_MAX - n, "%s %s %lld %lld %lld %lld %lld %lld\n", u->key,
		 u->pool, (long long)u->jobs_started, (long long)u->cpu_ms,
		 (long long)u->charge_requested_ms, (long long)u->core_ms, (long long)u->gpu_ms,
		 (long long)u->adjusted_ms);
	return 0;
}

static void check_period(struct store *s, const struct store_period *p)
{
	char all[TEXT_MAX] = "", top_rows[TEXT_MAX] = "", kept[TEXT_MAX] = "";
	struct store_top top = { .limit = STORE_TOP_MAX };
	const struct store_usage_each each = { add_text, top_rows },
				      each_kept = { add_text, kept };

	assert_int_equal(store_usage(s, p, add_text, all, NULL), 0);
	assert_int_equal(store_usage_top(s, p, &top, &each, NULL), 1);
	assert_true(strlen(all) < TEXT_MAX - 100);
	assert_string_equal(top_rows, all);
	assert_int_equal(store_usage_kept(s, p, &each_kept, NULL), 1);
	assert_string_equal(kept, all);
}

static void check_periods(struct store *s, int n)
{
	static const char *const clusters[] = { NULL, "c1", "c2", "none" };

	for (int k = 0; k < n; k++) {
		struct store_period p = { .by = k % 3 ? STORE_BY_USER : STORE_BY_ACCOUNT,
					  .cluster = clusters[draw_number(4)],
					  .from_day = FIRST_DAY - 5 + draw_number(DAYS) };

		p.to_day = k % 4 ? p.from_day + draw_number(DAYS) : INT32_MAX;
		if (k % 5 == 0)
			p.from_day = INT32_MIN;
		check_period(s, &p);
	}
}

static void changes_are_seen_whoever_makes_them(void **state)
{
	struct rig *r = *state;
	struct store *other;

	check_periods(r->store, 10); /* empty */
	add_usage(r->store, FIRST_DAY, DAYS, 900);
	check_periods(r->store, 60);
	assert_int_equal(store_open(r->path, &other, NULL), 0);
	for (int k = 0; k < 25; k++) {
		add_usage(k % 2 ? r->store : other, FIRST_DAY, DAYS + 40, 1);
		check_periods(r->store, 8);
	}
	/* A refund to one and a charge to another: the sums of the cluster stay. */
	assert_int_equal(db_begin(other->db, NULL), 0);
	assert_int_equal(add_gain(other, "u1", FIRST_DAY + 3, -77), 0);
	assert_int_equal(add_gain(other, "u2", FIRST_DAY + 3, 77), 0);
	assert_int_equal(db_commit(other->db, NULL), 0);
	check_periods(r->store, 60);
	store_close(other);
}

static void what_is_kept_is_read_part_by_part(void **state)
{
	struct rig *r = *state;
	const struct store_period p = { .by = STORE_BY_USER,
					.from_day = FIRST_DAY,
					.to_day = FIRST_DAY + DAYS };
	char rows[TEXT_MAX] = "";
	const struct store_usage_each each = { add_text, rows };
	int n = 0;

	add_usage(r->store, FIRST_DAY, DAYS, 900);
	/* A program that asks once reads as it always did. */
	assert_int_equal(store_usage_kept(r->store, &p, &each, NULL), 0);
	while (store_usage_warm(r->store, &p, NULL) == 1)
		assert_true(++n < 200);
	/* 13 months of accounts and of users, less the last ones, which are read by their days. */
	assert_true(n > 20);
	assert_int_equal(store_usage_warm(r->store, &p, NULL), 0);
	add_usage(r->store, FIRST_DAY + DAYS - 1, 1, 1);
	assert_int_equal(store_usage_warm(r->store, &p, NULL), 1);
	assert_int_equal(store_usage_warm(r->store, &p, NULL), 0);
	check_period(r->store, &p);
}

/* A view that may read one part in each turn comes to the same rows as one that reads all at once. */
static void a_view_goes_on_in_its_next_turn(void **state)
{
	struct rig *r = *state;
	const struct store_period p = { .by = STORE_BY_USER,
					.from_day = FIRST_DAY + 3,
					.to_day = FIRST_DAY + DAYS };
	struct store_top top = { .limit = 20 };
	char rows[TEXT_MAX], whole[TEXT_MAX] = "";
	struct store_usage_each each = { add_text, rows };
	int turns = 0, result;

	add_usage(r->store, FIRST_DAY, DAYS, 900);
	do {
		rows[0] = '\0';
		store_usage_turn(r->store, 1);
		result = store_usage_top(r->store, &p, &top, &each, NULL);
		assert_true(++turns < 200);
	} while (result == -EAGAIN);
	store_usage_turn(r->store, 0);
	assert_int_equal(result, 1);
	assert_true(turns > 20);
	ranks_free(TAKE_PTR(r->store->ranks));
	each.ctx = whole;
	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 1);
	assert_true(strlen(whole) > 0);
	assert_string_equal(rows, whole);
	/* What is kept takes no turn. */
	store_usage_turn(r->store, 1);
	whole[0] = '\0';
	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 1);
	assert_string_equal(rows, whole);
	store_usage_turn(r->store, 0);
}

static void what_is_rolled_back_is_not_kept(void **state)
{
	struct rig *r = *state;

	add_usage(r->store, FIRST_DAY, DAYS, 300);
	check_periods(r->store, 30);
	assert_int_equal(db_begin(r->store->db, NULL), 0);
	assert_int_equal(add_gain(r->store, "u1", FIRST_DAY + 3, 1000), 0);
	db_rollback(r->store->db);
	check_periods(r->store, 30);
}

/* What a ledger is computed again from may differ although each row was written once. */
static void totals_that_are_made_again_are_read_again(void **state)
{
	static const int64_t periods[][2] = { { 3, 1 }, { 12, 0 }, { 3, 0 }, { 12, 3 } };
	struct rig *r = *state;
	struct store *other;

	add_usage(r->store, FIRST_DAY, DAYS, 500);
	check_periods(r->store, 60);
	assert_int_equal(store_open(r->path, &other, NULL), 0);
	for (int k = 0; k < 3; k++) {
		assert_int_equal(db_begin(other->db, NULL), 0);
		assert_int_equal(db_run(other->db, NULL,
					"UPDATE rollups SET charge_requested_ms ="
					" charge_requested_ms + 10, core_ms = core_ms + 1",
					""),
				 0);
		assert_int_equal(db_run(other->db, NULL,
					"UPDATE months SET core_ms = (SELECT SUM(r.core_ms)"
					" FROM rollups r), charge_requested_ms = month",
					""),
				 0);
		assert_int_equal(totals_fill(other, NULL), 0);
		assert_int_equal(db_commit(other->db, NULL), 0);
	}
	store_close(other);
	for (int k = 0; k < 4; k++) {
		const struct store_period p = { .by = STORE_BY_USER,
						.from_day = calendar_month_first(24301),
						.to_day = calendar_month_first(24305) };

		assert_int_equal(store_set_period(r->store, periods[k][0], periods[k][1], NULL),
				 0);
		check_period(r->store, &p);
	}
}

/* ---- the days of a cluster ---- */

static void check_order(struct store_day_sums *d, size_t n)
{
	int64_t core = INT64_MAX, idle = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct store_day_sum *s = store_day_sums_account(d, i);

		if (s)
			assert_true(s->core_ms <= core);
		core = s ? s->core_ms : core;
		s = store_day_sums_user(d, i);
		if (s)
			assert_true(s->core_ms - s->cpu_ms <= idle);
		idle = s ? s->core_ms - s->cpu_ms : idle;
	}
}

static void days_accounts_and_users_have_the_same_sum(void **state)
{
	struct rig *r = *state;
	const struct store_day_sums_ask ask = { "c1", FIRST_DAY + 20, FIRST_DAY + 100 };
	int64_t days = 0, accounts = 0, users = 0;
	struct store_day_sums *d;

	add_usage(r->store, FIRST_DAY, DAYS, 900);
	assert_int_equal(store_day_sums(r->store, &ask, &d, NULL), 0);
	for (int64_t i = 0; i < ask.to_day - ask.from_day; i++)
		days += store_day_sums_day(d, i)->core_ms;
	for (size_t i = 0; store_day_sums_account(d, i); i++)
		accounts += store_day_sums_account(d, i)->core_ms;
	for (size_t i = 0; store_day_sums_user(d, i); i++)
		users += store_day_sums_user(d, i)->core_ms;
	assert_true(days > 0);
	assert_int_equal(accounts, days);
	assert_int_equal(users, days);
	check_order(d, 30);
	assert_null(store_day_sums_user(d, 30));
	store_day_sums_free(d);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_day_of_a_period_is_covered_once),
		cmocka_unit_test(packed_rows_add_up),
		cmocka_unit_test(what_was_used_longest_ago_goes_first),
		TEST(changes_are_seen_whoever_makes_them),
		TEST(what_is_kept_is_read_part_by_part),
		TEST(a_view_goes_on_in_its_next_turn),
		TEST(what_is_rolled_back_is_not_kept),
		TEST(totals_that_are_made_again_are_read_again),
		TEST(days_accounts_and_users_have_the_same_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
