/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_series_laws - over random samples, the points of a series and of a sum of series are those of a plain reckoning. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "common/model/series/series.h"
#include "tests/unit/rig/series_rig.h"

#define SAMPLES 400

/* What a counter was at a moment: between two samples it grew evenly, in whole numbers. */
static int64_t count_at(const int64_t *at_ms, const int64_t *value, int n, int64_t ms)
{
	int64_t from = 0, before = 0;

	for (int i = 0; i < n; i++) {
		if (ms < at_ms[i])
			return before + (value[i] - before) * (ms - from) / (at_ms[i] - from);
		from = at_ms[i];
		before = value[i];
	}
	return before;
}

/* Points of counters, however often they were merged, are the growth from one end of an interval to the next. */
static void each_point_of_a_counter_is_its_growth_in_the_interval(void **state)
{
	(void)state;
	srandom(5);
	for (int round = 0; round < 60; round++) {
		int64_t at_ms[SAMPLES], value[SAMPLES], t = 0, cpu = 0;
		int n = 1 + (int)(random() % SAMPLES);
		struct series s;

		series_init(&s, 1000);
		for (int i = 0; i < n; i++) {
			struct series_sample x =
				sample_at(t += random() % 8 ? random() % 4000 : 0);

			x.elapsed_ms += t == 0;
			t = x.elapsed_ms;
			cpu += random() % 3 ? random() % 9000 : 0;
			at_ms[i] = t;
			value[i] = cpu;
			x.value[SERIES_CPU_MS] = random() % 5 ? cpu : cpu - cpu / 2;
			x.value[SERIES_SUSPENDED_MS] = cpu;
			if (x.value[SERIES_CPU_MS] <
			    cpu) /* less than before: it counts as before */
				value[i] = i ? value[i - 1] : x.value[SERIES_CPU_MS];
			if (value[i] > x.value[SERIES_CPU_MS])
				x.value[SERIES_CPU_MS] = value[i];
			value[i] = x.value[SERIES_CPU_MS];
			cpu = value[i] > cpu ? value[i] : cpu;
			x.value[SERIES_SUSPENDED_MS] = value[i];
			assert_int_equal(series_add(&s, &x), 0);
		}
		for (int i = 0; i < series_points(&s); i++) {
			int64_t from = i * s.interval_ms, to = from + series_length_ms(&s, i);
			int64_t want =
				count_at(at_ms, value, n, to) - count_at(at_ms, value, n, from);

			assert_int_equal(s.of[SERIES_SUSPENDED_MS][i], want);
			assert_int_equal(s.of[SERIES_CPU_MS][i], want);
		}
		series_done(&s);
	}
}

/* Busy time beyond what the GPUs have goes to earlier points, and only that: in every second round there is none. */
static void excess_of_gpus_goes_back_and_no_more(void **state)
{
	(void)state;
	srandom(6);
	for (int round = 0; round < 60; round++) {
		int64_t t = 0, busy = 0, suffix = 0, plain_suffix = 0;
		int gpus = 1 + (int)(random() % 3);
		struct series s, plain;

		series_init(&s, 1000);
		series_init(&plain, 1000);
		for (int i = 0; i < 200; i++) {
			int64_t ms = 1 + random() % 2000;
			struct series_sample x = sample_at(t += ms);

			if (round % 2)
				busy += random() % 3 ? 0 : random() % (3 * ms * gpus);
			else
				busy += random() % 3 ? gpus * ms : random() % ms;
			x.value[SERIES_GPU_BUSY_MS] = busy;
			assert_int_equal(series_add(&plain, &x), 0);
			x.gpus = gpus;
			assert_int_equal(series_add(&s, &x), 0);
		}
		assert_int_equal(series_total(&s, SERIES_GPU_BUSY_MS), busy);
		for (int i = series_points(&s) - 1; i > 0; i--) {
			assert_true(s.of[SERIES_GPU_BUSY_MS][i] <=
				    gpus * series_length_ms(&s, i));
			suffix += s.of[SERIES_GPU_BUSY_MS][i];
			plain_suffix += plain.of[SERIES_GPU_BUSY_MS][i];
			assert_true(suffix <= plain_suffix);
		}
		if (round % 2 == 0)
			assert_same(&s, &plain);
		series_done(&s);
		series_done(&plain);
	}
}

/* Points of a series on an interval that is a power of 2 longer, by hand. */
static int64_t merged_point(const struct series *s, int m, int i, int64_t interval_ms)
{
	int n = (int)(interval_ms / s->interval_ms);
	int64_t all = NONE;

	if (i * interval_ms >= s->elapsed_ms)
		return 0; /* it has ended */
	for (int k = i * n; k < (i + 1) * n && k < series_points(s); k++) {
		int64_t v = s->of[m][k];

		if (v < 0)
			continue;
		if (all < 0)
			all = v;
		else if (series_is_total((enum series_metric)m))
			all += v;
		else
			all = v > all ? v : all;
	}
	return all;
}

static void each_point_of_a_sum_is_that_of_its_nodes(void **state)
{
	(void)state;
	srandom(7);
	for (int round = 0; round < 300; round++) {
		struct series a, b, sum = { 0 };

		fill_randomly(&a);
		fill_randomly(&b);
		assert_int_equal(series_sum(&sum, &a), 0);
		assert_same(&sum, &a);
		assert_int_equal(series_sum(&sum, &b), 0);
		assert_int_equal(sum.interval_ms,
				 a.interval_ms > b.interval_ms ? a.interval_ms : b.interval_ms);
		for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
			assert_int_equal(sum.of[m] != NULL, a.of[m] || b.of[m]);
			for (int i = 0; sum.of[m] && i < series_points(&sum); i++) {
				int64_t x =
					a.of[m] ? merged_point(&a, m, i, sum.interval_ms) : 0;
				int64_t y =
					b.of[m] ? merged_point(&b, m, i, sum.interval_ms) : 0;
				int64_t want =
					m == SERIES_SUSPENDED_MS ? (x > y ? x : y) : x + y;

				assert_int_equal(sum.of[m][i], x < 0 || y < 0 ? NONE : want);
			}
		}
		series_done(&a);
		series_done(&b);
		series_done(&sum);
	}
}

static void numbers_of_a_series_are_read_to_their_bounds(void **state)
{
	/* version, interval, elapsed, metric 0, a point */
	static const struct {
		const char *bytes;
		size_t size;
		int64_t interval_ms, point; /* 0: refused */
	} of[] = {
		{ "\x01\x01\x01\x01\x03", 5, 1, 1 },
		{ "\x01\x00\x01\x01\x03", 5, 0, 0 },
		{ "\x01\x01\x00\x01\x03", 5, 0, 0 },
		{ "\x01\x01\x78\x00", 4, 1, -2 },
		{ "\x01\x01\x01\x01\x01", 5, 1, 0 },
		{ "\x01\xff\xff\xff\xff\xff\xff\xff\x0f\x01\x01\x03", 12, SERIES_VALUE_MAX, 1 },
		{ "\x01\x80\x80\x80\x80\x80\x80\x80\x10\x01\x01\x03", 12, 0, 0 },
		{ "\x01\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x01\x03", 13, 0, 0 },
		{ "\x01\x01\x01\x01\xff\xff\xff\xff\xff\xff\xff\x1f", 12, 1, SERIES_VALUE_MAX },
		{ "\x01\x01\x01\x01\x81\x80\x80\x80\x80\x80\x80\x20", 12, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct series s = { .interval_ms = 7 };
		int r = series_decode(of[i].bytes, of[i].size, &s);

		if (r != (of[i].interval_ms ? 0 : -EINVAL))
			fail_msg("%d: %d", (int)i, r);
		assert_int_equal(s.interval_ms, r ? 7 : of[i].interval_ms);
		if (r == 0 && of[i].point >= 0)
			assert_int_equal(s.of[SERIES_CPU_MS][0], of[i].point);
		if (r == 0)
			series_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_point_of_a_counter_is_its_growth_in_the_interval),
		cmocka_unit_test(excess_of_gpus_goes_back_and_no_more),
		cmocka_unit_test(each_point_of_a_sum_is_that_of_its_nodes),
		cmocka_unit_test(numbers_of_a_series_are_read_to_their_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
