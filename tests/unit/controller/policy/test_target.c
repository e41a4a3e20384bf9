/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_target - a rate over a period: nothing gained by an outage, nothing lost by extension.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/time_units.h"
#include "controller/policy/quota/target.h"

#define DAY_MS INT64_C(86400000) /* one core for a day */
#define APRIL (INT64_C(1648771200) * INT64_C(1000000000))

#define NO_OUTAGES                                                                             \
	{                                                                                      \
		NULL, 0                                                                        \
	}

static const struct target year = { { 100, 1 }, APRIL, APRIL + 365 * DAY_NS, NO_OUTAGES };

static struct target_view compute_view(const struct target *t, int64_t used, int64_t recent,
				       int64_t now)
{
	struct target_view v;

	assert_int_equal(target_compute(t, &(struct target_use){ used, recent, 0 }, now, &v),
			 0);
	return v;
}

static void the_last_days_may_be_counted_by_day(void **state)
{
	/* day 100 at noon: 29 whole days and a half are known, all at the rate */
	const int64_t late = 100 * DAY_MS * 59 / 2;
	struct target_pace p = { .use = { 100 * DAY_MS * 100, late, 59 * DAY_NS / 2 },
				 .whole_ns = 365 * DAY_NS,
				 .passed_ns = 100 * DAY_NS };
	int64_t by_year, by_recent;

	(void)state;
	assert_int_equal(target_project(&p, &by_year, &by_recent), 0);
	assert_int_equal(by_year, 365 * 100 * DAY_MS);
	assert_int_equal(by_recent, 365 * 100 * DAY_MS);
	p.passed_ns = 0;
	assert_int_equal(target_project(&p, &by_year, &by_recent), -EINVAL);
}

/* 100 days of 365 gone, 30,000 of 36,500 core-days used, 3,000 of them in the last 30 days: 6,500 more
 * last 65 days. */
static void an_allocation_ends_when_the_last_days_rate_has_used_it_up(void **state)
{
	const int64_t total = 36500 * DAY_MS;
	struct target_pace p = { .use = { 30000 * DAY_MS, 3000 * DAY_MS, 0 },
				 .whole_ns = 365 * DAY_NS,
				 .passed_ns = 100 * DAY_NS };
	int64_t ns = -1;

	(void)state;
	assert_int_equal(target_find_end(&p, total, &ns), 0);
	assert_int_equal(ns, 65 * DAY_NS);
	p.use.recent_ms = 600 * DAY_MS; /* 20 a day: 5,300 in what is left */
	assert_int_equal(target_find_end(&p, total, &ns), -ENOENT);
	p.use.recent_ms = 0;
	assert_int_equal(target_find_end(&p, total, &ns), -ENOENT);
	p.use.used_ms = total;
	assert_int_equal(target_find_end(&p, total, &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(target_find_end(&p, 0, &ns), -EINVAL);
	p.use = (struct target_use){ 10000 * DAY_MS, 3000 * DAY_MS, 0 };
	assert_int_equal(target_find_end(&p, total, &ns), 0); /* the very last day */
	assert_int_equal(ns, 265 * DAY_NS);
	p.passed_ns = 0;
	assert_int_equal(target_find_end(&p, total, &ns), -EINVAL);
}

static void use_at_the_rate_is_on_target_every_day(void **state)
{
	(void)state;
	for (int day = 1; day <= 365; day++) {
		int64_t used = 100 * DAY_MS * day,
			recent = 100 * DAY_MS * (day < 30 ? day : 30);
		struct target_view v = compute_view(&year, used, recent, APRIL + day * DAY_NS);

		assert_int_equal(v.total_ms, 365 * 100 * DAY_MS);
		assert_int_equal(v.due_ms, used);
		assert_int_equal(v.used_ppm, v.passed_ppm);
		assert_int_equal(v.by_year_ms, v.total_ms);
		assert_int_equal(v.by_recent_ms, v.total_ms);
		assert_int_equal(v.by_year_ppm, 1000000);
	}
}

/* A week of 100 days without jobs: 93 days at the rate are on target, of the whole 358 days are. */
static void an_outage_is_not_due_and_earns_nothing(void **state)
{
	struct outage_span weeks[] = { { APRIL + 80 * DAY_NS, APRIL + 87 * DAY_NS },
				       { APRIL + 200 * DAY_NS, APRIL + 207 * DAY_NS } };
	struct target t = { year.rate, year.start_ns, year.end_ns, { weeks, 1 } };
	struct target_view v =
		compute_view(&t, 93 * 100 * DAY_MS, 23 * 100 * DAY_MS, APRIL + 100 * DAY_NS);

	(void)state;
	assert_int_equal(v.total_ms, 365 * 100 * DAY_MS);
	assert_int_equal(v.due_ms, 93 * 100 * DAY_MS);
	assert_int_equal(v.due_ppm, v.used_ppm);
	assert_int_equal(v.passed_ppm, 273973);
	assert_int_equal(v.outage_ns, 7 * DAY_NS);
	assert_int_equal(v.by_year_ms, 358 * 100 * DAY_MS);
	assert_int_equal(v.by_recent_ms, 358 * 100 * DAY_MS);
	assert_int_equal(v.end_ns, -1);
	/* Twice the rate: 17,900 of 36,500 are left, after 89.5 days without outages; one to come is passed over. */
	v = compute_view(&t, 93 * 200 * DAY_MS, 23 * 200 * DAY_MS, APRIL + 100 * DAY_NS);
	assert_int_equal(v.end_ns, 179 * DAY_NS / 2);
	t.outages.n = 2;
	assert_int_equal(compute_view(&t, 0, 0, APRIL + 100 * DAY_NS).due_ms, v.due_ms);
	weeks[1] = (struct outage_span){ APRIL + 150 * DAY_NS, APRIL + 157 * DAY_NS };
	v = compute_view(&t, 93 * 200 * DAY_MS, 23 * 200 * DAY_MS, APRIL + 100 * DAY_NS);
	assert_int_equal(v.end_ns, 179 * DAY_NS / 2 + 7 * DAY_NS);
	/* All that has passed was an outage. */
	weeks[0] = (struct outage_span){ APRIL - DAY_NS, APRIL + 10 * DAY_NS };
	v = compute_view(&t, 0, 0, APRIL + 5 * DAY_NS);
	assert_int_equal(v.due_ms, 0);
	assert_false(v.has_projection);
}

static void two_projections_differ_where_use_changed(void **state)
{
	/* 73 days of nothing, then 73 at twice the rate. */
	struct target_view v =
		compute_view(&year, 73 * 200 * DAY_MS, 30 * 200 * DAY_MS, APRIL + 146 * DAY_NS);

	(void)state;
	assert_int_equal(v.by_year_ms, v.total_ms);
	assert_int_equal(v.by_recent_ms, (73 + 219) * 200 * DAY_MS);
	assert_int_equal(v.by_recent_ppm, 1600000);
	/* Far above the target is a figure like another: nothing stops. */
	assert_int_equal(compute_view(&year, 1000 * v.total_ms, 0, APRIL + DAY_NS).used_ppm,
			 1000000000);
}

static void shares_are_rounded_half_up(void **state)
{
	const struct target t = {
		{ 2, 1 }, 0, 1000 * INT64_C(1000000000), NO_OUTAGES
	}; /* 2000000 */

	(void)state;
	assert_int_equal(compute_view(&t, 1, 0, 1).used_ppm, 1);
	assert_int_equal(compute_view(&t, 2, 0, 1).used_ppm, 1);
	assert_int_equal(compute_view(&t, 3, 0, 1).used_ppm, 2);
	assert_int_equal(compute_view(&t, 0, 0, 499999).passed_ppm, 0);
	assert_int_equal(compute_view(&t, 0, 0, 500000).passed_ppm, 1);
}

static void longer_period_takes_nothing_away(void **state)
{
	struct target longer = year;
	struct target_view a, b;

	(void)state;
	longer.end_ns += 30 * DAY_NS;
	a = compute_view(&year, 5000 * DAY_MS, 0, APRIL + 100 * DAY_NS);
	b = compute_view(&longer, 5000 * DAY_MS, 0, APRIL + 100 * DAY_NS);
	assert_int_equal(a.due_ms, b.due_ms);
	assert_int_equal(b.total_ms - a.total_ms, 30 * 100 * DAY_MS);
}

static void a_target_counts_nothing_before_and_after_its_period(void **state)
{
	struct target_view v = compute_view(&year, 0, 0, APRIL - DAY_NS);

	(void)state;
	assert_false(v.has_projection);
	assert_int_equal(v.passed_ppm, 0);
	v = compute_view(&year, 777, 700, year.end_ns + DAY_NS);
	assert_int_equal(v.passed_ppm, 1000000);
	assert_int_equal(v.by_year_ms, 777);
	assert_int_equal(v.by_recent_ms, 777);
	v = compute_view(&year, 5, 5,
			 APRIL + 1); /* one nanosecond: an absurd figure, but no fault */
	assert_true(v.has_projection);
}

static void bad_figures_are_errors(void **state)
{
	const struct target empty = { { 1, 1 }, 5, 5, NO_OUTAGES },
			    rateless = { { 0, 1 }, 0, DAY_NS, NO_OUTAGES };
	const struct target wide = { { 1, 1 }, INT64_MIN, INT64_MAX, NO_OUTAGES };
	const struct target vast = { { INT64_MAX, 1 }, 0, DAY_NS, NO_OUTAGES };
	struct target_view v = { .total_ms = 42 };

	(void)state;
	assert_int_equal(target_compute(&empty, &(struct target_use){ 0, 0, 0 }, 5, &v),
			 -EINVAL);
	assert_int_equal(target_compute(&rateless, &(struct target_use){ 0, 0, 0 }, 5, &v),
			 -EINVAL);
	assert_int_equal(target_compute(&wide, &(struct target_use){ 0, 0, 0 }, 5, &v),
			 -ERANGE);
	assert_int_equal(target_compute(&vast, &(struct target_use){ 0, 0, 0 }, 5, &v),
			 -ERANGE);
	assert_int_equal(target_compute(&year, &(struct target_use){ 1, 2, 0 }, APRIL, &v),
			 -EINVAL);
	assert_int_equal(target_compute(&year, &(struct target_use){ -1, -1, 0 }, APRIL, &v),
			 -EINVAL);
	assert_int_equal(
		target_compute(&year, &(struct target_use){ INT64_MAX, 0, 0 }, APRIL + 1, &v),
		-ERANGE);
	assert_int_equal(v.total_ms, 42);
}

static void the_last_days_are_those_that_have_passed(void **state)
{
	/* On day 10 no more than 10 days can be the last ones: 20 core-days in them, 2 a day. */
	struct target_pace p = { .use = { 40 * DAY_MS, 20 * DAY_MS, 0 },
				 .whole_ns = 30 * DAY_NS,
				 .passed_ns = 10 * DAY_NS };
	int64_t by_year, by_recent, ns;

	(void)state;
	assert_int_equal(target_project(&p, &by_year, &by_recent), 0);
	assert_int_equal(by_year, 120 * DAY_MS);
	assert_int_equal(by_recent, 80 * DAY_MS);
	assert_int_equal(target_find_end(&p, 60 * DAY_MS, &ns), 0);
	assert_int_equal(ns, 10 * DAY_NS);
	assert_int_equal(target_find_end(&p, 80 * DAY_MS, &ns), 0);
	assert_int_equal(ns, 20 * DAY_NS); /* the last moment of the period */
	assert_int_equal(target_find_end(&p, 80 * DAY_MS + 1, &ns), -ENOENT);
	p.use.recent_ns = 5 * DAY_NS; /* counted over five days: 4 a day */
	assert_int_equal(target_project(&p, &by_year, &by_recent), 0);
	assert_int_equal(by_recent, 120 * DAY_MS);
	assert_int_equal(target_find_end(&p, 60 * DAY_MS, &ns), 0);
	assert_int_equal(ns, 5 * DAY_NS);
	assert_int_equal(target_find_end(&p, 40 * DAY_MS, &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(target_find_end(&p, 40 * DAY_MS + 1, &ns), 0);
	assert_true(ns > 0);
}

/* Rounding half up may make the projection the total though the time for it is a little longer. */
static void an_end_is_never_behind_the_period(void **state)
{
	(void)state;
	for (int64_t whole = 2; whole < 40; whole++)
		for (int64_t recent = 0; recent < 6; recent++) {
			struct target_pace p = { .use = { 7, recent, 3 },
						 .whole_ns = whole,
						 .passed_ns = whole / 2 };
			int64_t last = p.passed_ns < 3 ? p.passed_ns : 3,
				left = whole - p.passed_ns;
			int64_t by_year, by_recent, ns = -1;

			assert_int_equal(target_project(&p, &by_year, &by_recent), 0);
			assert_int_equal(by_recent,
					 7 + (2 * recent * left + last) / (2 * last));
			assert_int_equal(by_year,
					 (2 * 7 * whole + p.passed_ns) / (2 * p.passed_ns));
			for (int64_t total = 8; total < 30; total++) {
				int64_t need = recent ? (2 * (total - 7) * last + recent) /
								(2 * recent)
						      : 0;
				int r = target_find_end(&p, total, &ns);

				assert_int_equal(r, by_recent < total ? -ENOENT : 0);
				if (r == 0)
					assert_int_equal(ns, need < left ? need : left);
			}
		}
}

static void each_bad_figure_of_a_pace_is_refused(void **state)
{
	const struct target_pace good = { .use = { 5, 5, 1 }, .whole_ns = 4, .passed_ns = 4 };
	const struct target t = { { 1, 1 }, 0, 1000000, NO_OUTAGES };
	struct target_pace p = good;
	struct target_view v = { .total_ms = 42 };
	int64_t a = 7, b = 7;

	(void)state;
	assert_int_equal(target_project(&p, &a, &b), 0);
	assert_true(a == 5 && b == 5);
	p.passed_ns = 5;
	assert_int_equal(target_project(&p, &a, &b), -EINVAL);
	p.passed_ns = -1;
	assert_int_equal(target_project(&p, &a, &b), -EINVAL);
	p = good;
	p.use.recent_ms = 6;
	assert_int_equal(target_project(&p, &a, &b), -EINVAL);
	p.use.recent_ms = -1;
	assert_int_equal(target_project(&p, &a, &b), -EINVAL);
	p = (struct target_pace){ { INT64_MAX / 2 + 1, INT64_MAX / 2 + 1, 1 }, 2, 1 };
	assert_int_equal(target_project(&p, &a, &b), -ERANGE); /* both together */
	p.use = (struct target_use){ INT64_MAX / 2, INT64_MAX / 2, 1 };
	assert_int_equal(target_project(&p, &a, &b), 0);
	assert_true(a == INT64_MAX - 1 && b == INT64_MAX - 1);
	/* A period so short that its total is nothing, and one of one millisecond. */
	assert_int_equal(target_compute(&(struct target){ { 1, 3 }, 0, 1000000, NO_OUTAGES },
					&(struct target_use){ 0, 0, 0 }, 0, &v),
			 -EINVAL);
	assert_int_equal(v.total_ms, 42);
	assert_int_equal(target_compute(&t, &(struct target_use){ 1, 1, 0 }, 0, &v), 0);
	assert_int_equal(v.total_ms, 1);
	assert_int_equal(v.due_ms, 0);
	assert_int_equal(v.end_ns, -1);
	assert_false(v.has_projection);
	assert_int_equal(target_compute(&(struct target){ { 1, 0 }, 0, 1000000, NO_OUTAGES },
					&(struct target_use){ 0, 0, 0 }, 0, &v),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_days_may_be_counted_by_day),
		cmocka_unit_test(an_allocation_ends_when_the_last_days_rate_has_used_it_up),
		cmocka_unit_test(use_at_the_rate_is_on_target_every_day),
		cmocka_unit_test(an_outage_is_not_due_and_earns_nothing),
		cmocka_unit_test(two_projections_differ_where_use_changed),
		cmocka_unit_test(shares_are_rounded_half_up),
		cmocka_unit_test(longer_period_takes_nothing_away),
		cmocka_unit_test(a_target_counts_nothing_before_and_after_its_period),
		cmocka_unit_test(bad_figures_are_errors),
		cmocka_unit_test(the_last_days_are_those_that_have_passed),
		cmocka_unit_test(an_end_is_never_behind_the_period),
		cmocka_unit_test(each_bad_figure_of_a_pace_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
