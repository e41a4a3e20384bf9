/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_charge_tally - what an attempt has used, from what its node reports; and its growth spread over days: the days sum to the whole, each
 * has its part of the time, and charges are rounded once. Days of 10 s. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/time_units.h"
#include "controller/policy/charge/tally.h"

#define DAYS_MAX 16

/* ---- a tally ---- */

/* 2 cores and 4 GPUs at 3/2; used: the cores alone, unless a test says more. */
static const struct tally_terms terms = { .rate = { 3, 2 },
					  .bundle.side = { { 0, 1 }, { 1, 1 }, { 0, 1 } },
					  .ncpus = 2,
					  .ngpus = 4 };

static struct tally make_tally(const struct tally_terms *t, struct tally_use u)
{
	struct tally made;

	assert_int_equal(tally_make(t, &u, &made), 0);
	return made;
}

static void a_tally_has_the_running_time_by_cores_gpus_and_rate(void **state)
{
	struct tally made =
		make_tally(&terms, (struct tally_use){ 10 * S_NS, 3 * S_NS, 4 * S_NS, -1, 0 });

	(void)state;
	assert_int_equal(made.running_ns, 10 * S_NS);
	assert_int_equal(made.suspended_ns, 3 * S_NS);
	assert_int_equal(made.cpu_ns, 4 * S_NS);
	assert_int_equal(made.charge_requested_ms, 15000);
	assert_int_equal(made.core_ms, 20000);
	assert_int_equal(made.gpu_ms, 40000);
	assert_int_equal(made.charge_used_ms, 4000);
}

static void cpu_time_is_charged_up_to_that_of_the_cores(void **state)
{
	static const struct {
		int64_t cpu_ns, used_ms;
	} rows[] = { { -1, 0 },
		     { 0, 0 },
		     { 19 * S_NS, 19000 },
		     { 20 * S_NS, 20000 },
		     { 25 * S_NS, 20000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tally made = make_tally(
			&terms, (struct tally_use){ 10 * S_NS, 0, rows[i].cpu_ns, -1, 0 });

		assert_int_equal(made.charge_used_ms, rows[i].used_ms);
		/* Reported as measured. */
		assert_int_equal(made.cpu_ns, rows[i].cpu_ns < 0 ? 0 : rows[i].cpu_ns);
	}
}

static void cores_by_time_beyond_all_numbers_bound_no_cpu_time(void **state)
{
	struct tally_terms wide = terms;

	(void)state;
	wide.ncpus = INT64_C(1) << 40;
	assert_int_equal(
		make_tally(&wide, (struct tally_use){ INT64_C(1) << 40, 0, 5 * S_NS, -1, 0 })
			.charge_used_ms,
		5000);
}

static void a_gpu_that_did_nothing_was_not_used(void **state)
{
	struct tally_terms t = terms;

	(void)state;
	t.bundle.side[CHARGE_GPUS] = (struct fraction){ 1, 1 };
	assert_int_equal(
		make_tally(&t, (struct tally_use){ 10 * S_NS, 0, 0, -1, 0 }).charge_used_ms,
		40000);
	assert_int_equal(
		make_tally(&t, (struct tally_use){ 10 * S_NS, 0, 0, -1, 1 }).charge_used_ms,
		30000);
	assert_int_equal(
		make_tally(&t, (struct tally_use){ 10 * S_NS, 0, 0, -1, 4 }).charge_used_ms, 0);
}

static void figures_out_of_range_are_refused_and_change_nothing(void **state)
{
	const struct tally_use ok = { 10 * S_NS, 0, 0, -1, 0 }, negative = { -1, 0, 0, -1, 0 };
	struct tally made = { .running_ns = 77 };
	struct tally_terms t = terms;

	(void)state;
	assert_int_equal(tally_make(&terms, &negative, &made), -EINVAL);
	t.rate.num = INT64_MAX;
	assert_int_equal(tally_make(&t, &ok, &made), -ERANGE);
	t = terms;
	t.ncpus = INT64_MAX;
	assert_int_equal(tally_make(&t, &ok, &made), -ERANGE);
	t = terms;
	t.ngpus = INT64_MAX;
	assert_int_equal(tally_make(&t, &ok, &made), -ERANGE);
	assert_int_equal(made.running_ns, 77);
}

static void a_difference_is_that_of_each_field(void **state)
{
	const struct tally b = { 100, 200, 300, 400, 500, 600, 700 },
			   a = { 1, 2, 3, 4, 5, 6, 7 };
	const struct tally want = { 99, 198, 297, 396, 495, 594, 693 };
	struct tally got = tally_minus(&b, &a);

	(void)state;
	assert_memory_equal(&got, &want, sizeof(want));
}

/* ---- days ---- */

static int64_t day_of(void *ctx, int64_t at_ns)
{
	(void)ctx;
	return at_ns / (10 * S_NS);
}

static int64_t first_ns(void *ctx, int64_t day)
{
	(void)ctx;
	return day * 10 * S_NS;
}

static const struct tally_days calendar = { day_of, first_ns, NULL };

struct days {
	int n;
	int64_t day[DAYS_MAX];
	struct tally gained[DAYS_MAX];
	int64_t stop_at; /* returns -EIO of this day */
};

static int keep_day(void *ctx, int64_t day, const struct tally *gained)
{
	struct days *d = ctx;

	assert_true(d->n < DAYS_MAX);
	d->day[d->n] = day;
	d->gained[d->n++] = *gained;
	return day == d->stop_at ? -EIO : 0;
}

/* From 1 s of running at a third to 22 s, from 5 s to 26 s of real time. */
static const struct tally_terms third = { .rate = { 1, 3 },
					  .bundle.side = { { 0, 1 }, { 1, 1 }, { 0, 1 } },
					  .ncpus = 2,
					  .ngpus = 1 };

static struct tally_span make_span(void)
{
	struct tally_span s = { .from_ns = 5 * S_NS, .to_ns = 26 * S_NS };

	s.before = make_tally(&third, (struct tally_use){ S_NS, 0, 0, -1, 0 });
	s.after = make_tally(&third,
			     (struct tally_use){ 22 * S_NS, 21 * S_NS / 10, 42 * S_NS, -1, 0 });
	return s;
}

static struct days split_span(const struct tally_span *s, const struct tally_days *c)
{
	struct days d = { .stop_at = -1 };

	assert_int_equal(tally_split(&third, s, c, keep_day, &d), 0);
	return d;
}

static void each_day_has_its_part_of_the_time(void **state)
{
	static const int64_t seconds[] = { 5, 10, 6 };
	/* A third of 1, 6, 16 and 22 s, each rounded: 333, 2000, 5333 and 7333. */
	static const int64_t requested_ms[] = { 1667, 3333, 2000 };
	struct tally_span s = make_span();
	struct days d = split_span(&s, &calendar);

	(void)state;
	assert_int_equal(d.n, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(d.day[i], i);
		assert_int_equal(d.gained[i].running_ns, seconds[i] * S_NS);
		assert_int_equal(d.gained[i].suspended_ns, seconds[i] * S_NS / 10);
		assert_int_equal(d.gained[i].cpu_ns, seconds[i] * 2 * S_NS);
		assert_int_equal(d.gained[i].core_ms, seconds[i] * 2000);
		assert_int_equal(d.gained[i].gpu_ms, seconds[i] * 1000);
		assert_int_equal(d.gained[i].charge_requested_ms, requested_ms[i]);
		assert_int_equal(d.gained[i].charge_used_ms, seconds[i] * 2000);
	}
}

static void the_days_sum_to_the_whole(void **state)
{
	struct tally_span s = make_span();
	const struct tally whole = tally_minus(&s.after, &s.before);

	(void)state;
	for (s.from_ns = 0; s.from_ns < 31 * S_NS; s.from_ns += 1234567891)
		for (s.to_ns = 0; s.to_ns < 97 * S_NS; s.to_ns += 3333333333) {
			struct days d = split_span(&s, &calendar);
			struct tally rest = whole;

			assert_true(d.n > 0);
			for (int i = 0; i < d.n; i++) {
				rest = tally_minus(&rest, &d.gained[i]);
				assert_true(d.gained[i].running_ns >= 0 &&
					    d.gained[i].charge_requested_ms >= 0);
				assert_true(i == 0 || d.day[i] == d.day[i - 1] + 1);
			}
			assert_int_equal(rest.running_ns, 0);
			assert_int_equal(rest.suspended_ns, 0);
			assert_int_equal(rest.cpu_ns, 0);
			assert_int_equal(rest.charge_requested_ms, 0);
			assert_int_equal(rest.charge_used_ms, 0);
			assert_int_equal(rest.core_ms, 0);
			assert_int_equal(rest.gpu_ms, 0);
		}
}

static void a_span_that_ends_at_midnight_ends_the_day_before(void **state)
{
	struct tally_span s = make_span();
	struct days d;

	(void)state;
	s.to_ns = 20 * S_NS;
	d = split_span(&s, &calendar);
	assert_int_equal(d.n, 2);
	assert_int_equal(d.day[1], 1);
	s.to_ns++;
	d = split_span(&s, &calendar);
	assert_int_equal(d.n, 3);
	s.from_ns = 10 * S_NS; /* one that begins at midnight begins that day */
	d = split_span(&s, &calendar);
	assert_int_equal(d.n, 2);
	assert_int_equal(d.day[0], 1);
}

static void without_time_all_is_on_the_day_of_its_end(void **state)
{
	static const int64_t from_s[] = { 20, 35 };
	struct tally_span s = make_span();
	const struct tally whole = tally_minus(&s.after, &s.before);

	(void)state;
	s.to_ns = 20 * S_NS;
	for (int i = 0; i < 2; i++) {
		struct days d;

		s.from_ns = from_s[i] * S_NS;
		d = split_span(&s, &calendar);
		assert_int_equal(d.n, 1);
		assert_int_equal(d.day[0], 2);
		assert_memory_equal(&d.gained[0], &whole, sizeof(whole));
	}
}

/* Day 1 was skipped: day 2 begins where it does. */
static int64_t skipping_day_of(void *ctx, int64_t at_ns)
{
	(void)ctx;
	return at_ns < 10 * S_NS ? 0 : at_ns / (10 * S_NS) + 1;
}

static int64_t skipping_first_ns(void *ctx, int64_t day)
{
	(void)ctx;
	return day <= 1 ? day * 10 * S_NS : (day - 1) * 10 * S_NS;
}

static void a_day_that_was_skipped_has_no_usage(void **state)
{
	static const struct tally_days skipping = { skipping_day_of, skipping_first_ns, NULL };
	struct tally_span s = make_span();
	struct days d = split_span(&s, &skipping);

	(void)state;
	assert_int_equal(d.n, 3);
	assert_int_equal(d.day[0], 0);
	assert_int_equal(d.day[1], 2);
	assert_int_equal(d.day[2], 3);
	assert_int_equal(d.gained[1].running_ns, 10 * S_NS);
}

static void the_first_error_ends_it(void **state)
{
	struct days d = { .stop_at = 1 };
	struct tally_span s = make_span();
	struct tally_terms t;

	(void)state;
	assert_int_equal(tally_split(&third, &s, &calendar, keep_day, &d), -EIO);
	assert_int_equal(d.n, 2);
	for (int i = 0; i < 3; i++) {
		t = third;
		if (i == 0)
			t.rate.num = INT64_MAX;
		else if (i == 1)
			t.ncpus = INT64_MAX;
		else
			t.ngpus = INT64_MAX;
		d.n = 0;
		assert_int_equal(tally_split(&t, &s, &calendar, keep_day, &d), -ERANGE);
		assert_int_equal(d.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tally_has_the_running_time_by_cores_gpus_and_rate),
		cmocka_unit_test(cpu_time_is_charged_up_to_that_of_the_cores),
		cmocka_unit_test(cores_by_time_beyond_all_numbers_bound_no_cpu_time),
		cmocka_unit_test(a_gpu_that_did_nothing_was_not_used),
		cmocka_unit_test(figures_out_of_range_are_refused_and_change_nothing),
		cmocka_unit_test(a_difference_is_that_of_each_field),
		cmocka_unit_test(each_day_has_its_part_of_the_time),
		cmocka_unit_test(the_days_sum_to_the_whole),
		cmocka_unit_test(a_span_that_ends_at_midnight_ends_the_day_before),
		cmocka_unit_test(without_time_all_is_on_the_day_of_its_end),
		cmocka_unit_test(a_day_that_was_skipped_has_no_usage),
		cmocka_unit_test(the_first_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
