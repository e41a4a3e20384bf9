/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_series - the points of a job's use: merging loses no CPU time and no maximum, gaps stay gaps, nothing but a
 * series is decoded.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/model/series/series.h"
#include "tests/unit/rig/series_rig.h"

static void add_use(struct series *s, int64_t elapsed_ms, int64_t cpu_ms, int64_t mem_kib)
{
	struct series_sample x = sample_at(elapsed_ms);

	x.value[SERIES_CPU_MS] = cpu_ms;
	x.value[SERIES_MEM_KIB] = mem_kib;
	assert_int_equal(series_add(s, &x), 0);
}

static void a_sample_an_interval_is_a_point_each(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 10000);
	assert_int_equal(series_points(&s), 0);
	add_use(&s, 4000, 3000, 100);
	add_use(&s, 14000, 23000, 300);
	add_use(&s, 24000, 23000, 200);
	assert_int_equal(series_points(&s), 3);
	assert_int_equal(series_length_ms(&s, 0), 10000);
	assert_int_equal(series_length_ms(&s, 2), 4000);
	/* 20 s of CPU time between 4 s and 14 s: 12 of them until 10 s */
	assert_int_equal(s.of[SERIES_CPU_MS][0], 15000);
	assert_int_equal(s.of[SERIES_CPU_MS][1], 8000);
	assert_int_equal(s.of[SERIES_CPU_MS][2], 0);
	assert_int_equal(s.of[SERIES_MEM_KIB][0], 100);
	assert_int_equal(s.of[SERIES_MEM_KIB][1], 300);
	assert_int_equal(s.of[SERIES_MEM_KIB][2], 200);
	assert_null(s.of[SERIES_VMEM_KIB]);
	series_done(&s);
}

static void merging_keeps_cpu_time_the_maximum_and_the_order(void **state)
{
	struct series s;
	int64_t cpu = 0, most = 0;

	(void)state;
	srandom(1);
	series_init(&s, 1000);
	for (int64_t t = 700; t < 90 * 86400 * 1000LL; t += 1000 + t / 50) {
		int64_t mem = random() % 1000000;

		cpu += random() % 60000;
		most = mem > most ? mem : most;
		add_use(&s, t, cpu, mem);
		assert_in_range(series_points(&s), 1, SERIES_POINTS_MAX);
		assert_int_equal(series_total(&s, SERIES_CPU_MS), cpu);
		if (t > SERIES_POINTS_MAX * 1000)
			assert_in_range(series_points(&s), SERIES_POINTS_MAX / 2,
					SERIES_POINTS_MAX);
	}
	for (int i = 0; i < series_points(&s); i++)
		most -= most == s.of[SERIES_MEM_KIB][i] ? most : 0;
	assert_int_equal(most, 0);
	series_done(&s);
	/* order: memory that grows is a row that grows, however often it was merged */
	series_init(&s, 1000);
	for (int64_t t = 1000; t < 100000000; t += 1000)
		add_use(&s, t, t, t);
	for (int i = 1; i < series_points(&s); i++)
		assert_true(s.of[SERIES_MEM_KIB][i] > s.of[SERIES_MEM_KIB][i - 1]);
	for (int i = 0; i < series_points(&s); i++) /* one core all the time */
		assert_int_equal(s.of[SERIES_CPU_MS][i], series_length_ms(&s, i));
	series_done(&s);
}

static void a_gap_is_missing_memory_and_the_mean_of_cpu_time(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 10000);
	add_use(&s, 10000, 10000, 50);
	add_use(&s, 50000, 50000, 70);
	assert_int_equal(series_points(&s), 5);
	for (int i = 1; i < 4; i++)
		assert_int_equal(s.of[SERIES_MEM_KIB][i], NONE);
	for (int i = 0; i < 5; i++)
		assert_int_equal(s.of[SERIES_CPU_MS][i], 10000);
	series_done(&s);
}

/* Measured each 10 s, a little early or late: as a timer on a busy node is. */
static void a_steadily_sampled_job_has_every_point(void **state)
{
	static const int64_t at_ms[] = { 9900, 20100, 29950, 40050, 49900, 60100 };
	struct series s;

	(void)state;
	series_init(&s, 10000);
	for (int i = 0; i < 6; i++)
		add_use(&s, at_ms[i], at_ms[i], 100 + i);
	assert_int_equal(series_points(&s), 7);
	for (int i = 0; i < 7; i++)
		assert_true(s.of[SERIES_MEM_KIB][i] >= 100);
	assert_int_equal(s.of[SERIES_MEM_KIB][1], 101); /* of the sample after it */
	series_done(&s);
	/* started just after a tick that was early */
	series_init(&s, 10000);
	add_use(&s, 10050, 10050, 100);
	assert_int_equal(s.of[SERIES_MEM_KIB][0], 100);
	add_use(&s, 40000, 40000, 100); /* away since then */
	assert_int_equal(s.of[SERIES_MEM_KIB][2], NONE);
	series_done(&s);
}

static void what_is_measured_late_is_missing_before_and_suspension_is_not(void **state)
{
	struct series s;
	struct series_sample x = sample_at(30000);

	(void)state;
	series_init(&s, 10000);
	add_use(&s, 20000, 20000, 5);
	x.value[SERIES_GPU_MEM_KIB] = 7;
	x.value[SERIES_SUSPENDED_MS] = 4000;
	assert_int_equal(series_add(&s, &x), 0);
	assert_int_equal(s.of[SERIES_GPU_MEM_KIB][0], NONE);
	assert_int_equal(s.of[SERIES_GPU_MEM_KIB][1], NONE);
	assert_int_equal(s.of[SERIES_GPU_MEM_KIB][2], 7);
	assert_int_equal(s.of[SERIES_SUSPENDED_MS][0], 0);
	assert_int_equal(s.of[SERIES_SUSPENDED_MS][1], 0);
	assert_int_equal(s.of[SERIES_SUSPENDED_MS][2], 4000);
	assert_int_equal(s.of[SERIES_CPU_MS][2], NONE); /* comes with the next measure */
	add_use(&s, 40000, 40000, 5);
	assert_int_equal(series_total(&s, SERIES_CPU_MS), 40000);
	series_done(&s);
}

static void clocks_and_counters_that_go_back_change_nothing(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 1000);
	add_use(&s, 0, 5, 5);
	assert_int_equal(series_points(&s), 0);
	add_use(&s, 5000, 4000, 9);
	add_use(&s, 3000, 3000, 3);
	assert_int_equal(s.elapsed_ms, 5000);
	assert_int_equal(series_total(&s, SERIES_CPU_MS), 4000);
	add_use(&s, 5000, 4100, 12); /* the last figures of a job */
	assert_int_equal(series_total(&s, SERIES_CPU_MS), 4100);
	assert_int_equal(s.of[SERIES_MEM_KIB][4], 12);
	add_use(&s, INT64_MAX, INT64_MAX, INT64_MAX);
	assert_in_range(series_points(&s), 1, SERIES_POINTS_MAX);
	series_done(&s);
}

static void nodes_add_up(void **state)
{
	struct series a, b, sum = { 0 };

	(void)state;
	series_init(&a, 1000);
	series_init(&b, 1000);
	for (int64_t t = 1000; t <= 200000; t += 1000)
		add_use(&a, t, t, 100);
	for (int64_t t = 1000; t <= 50000; t += 1000)
		add_use(&b, t, 3 * t, 40);
	assert_int_equal(series_sum(&sum, &a), 0);
	assert_int_equal(series_sum(&sum, &b), 0);
	assert_int_equal(sum.interval_ms, 2000);
	assert_int_equal(series_points(&sum), 100);
	assert_int_equal(series_total(&sum, SERIES_CPU_MS), 350000);
	assert_int_equal(sum.of[SERIES_MEM_KIB][0], 140);
	assert_int_equal(sum.of[SERIES_MEM_KIB][99], 100);
	series_done(&b);
	series_init(&b, 3000);
	add_use(&b, 3000, 1, 1);
	assert_int_equal(series_sum(&sum, &b), -EDOM);
	assert_int_equal(series_total(&sum, SERIES_CPU_MS), 350000);
	series_done(&a);
	series_done(&b);
	series_done(&sum);
}

static void a_metric_that_one_node_has_is_in_the_sum(void **state)
{
	struct series a, b, sum = { 0 };
	struct series_sample x = sample_at(40000);

	(void)state;
	series_init(&a, 10000);
	series_init(&b, 10000);
	add_use(&a, 20000, 20000, 9);
	x.value[SERIES_CPU_MS] = 10000;
	x.value[SERIES_SUSPENDED_MS] = 8000;
	assert_int_equal(series_add(&b, &x), 0);
	assert_int_equal(series_sum(&sum, &b), 0);
	assert_int_equal(series_sum(&sum, &a), 0);
	assert_int_equal(sum.of[SERIES_MEM_KIB][1], 9);
	assert_int_equal(sum.of[SERIES_MEM_KIB][3], 0); /* that node's part has ended */
	assert_int_equal(series_total(&sum, SERIES_SUSPENDED_MS), 8000);
	assert_int_equal(series_total(&sum, SERIES_CPU_MS), 30000);
	series_done(&sum);
	sum = (struct series){ 0 };
	assert_int_equal(series_sum(&sum, &a), 0);
	assert_int_equal(series_sum(&sum, &b), 0);
	assert_int_equal(series_total(&sum, SERIES_SUSPENDED_MS), 8000);
	for (int i = 0; i < series_points(&sum); i++)
		assert_true(sum.of[SERIES_SUSPENDED_MS][i] >= 0);
	series_done(&a);
	series_done(&b);
	series_done(&sum);
}

static void nodes_add_up_in_any_order(void **state)
{
	uint8_t x[SERIES_BYTES_MAX], y[SERIES_BYTES_MAX];

	(void)state;
	srandom(3);
	for (int round = 0; round < 300; round++) {
		struct series a, b, ab = { 0 }, ba = { 0 };
		size_t n;

		fill_randomly(&a);
		fill_randomly(&b);
		assert_int_equal(series_sum(&ab, &a), 0);
		assert_int_equal(series_sum(&ab, &b), 0);
		assert_int_equal(series_sum(&ba, &b), 0);
		assert_int_equal(series_sum(&ba, &a), 0);
		assert_int_equal(ab.elapsed_ms,
				 a.elapsed_ms > b.elapsed_ms ? a.elapsed_ms : b.elapsed_ms);
		n = series_encode(&ab, x);
		assert_int_equal(series_encode(&ba, y), n);
		assert_memory_equal(x, y, n);
		series_done(&a);
		series_done(&b);
		series_done(&ab);
		series_done(&ba);
	}
}

static void decoding_gives_what_was_encoded(void **state)
{
	uint8_t buf[SERIES_BYTES_MAX];
	struct series s, back;

	(void)state;
	srandom(2);
	for (int round = 0; round < 200; round++) {
		int64_t t = 0, totals[_SERIES_METRIC_MAX] = { 0 };

		series_init(&s, 1 + random() % 20000);
		for (int i = random() % 300; i >= 0; i--) {
			struct series_sample x = sample_at(t += 1 + random() % 40000);

			for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
				int64_t v = random() % 3
						    ? random() % 100000
						    : random() * random() % SERIES_VALUE_MAX;

				if (random() % 4)
					x.value[m] = series_is_total((enum series_metric)m)
							     ? (totals[m] += v % 100000)
							     : v;
			}
			assert_int_equal(series_add(&s, &x), 0);
		}
		assert_int_equal(series_decode(buf, series_encode(&s, buf), &back), 0);
		assert_same(&s, &back);
		series_done(&s);
		series_done(&back);
	}
}

/* Four metrics, a day, noise of some per cent: what a job on a node without GPUs costs. */
static void a_long_job_needs_about_a_kilobyte(void **state)
{
	uint8_t buf[SERIES_BYTES_MAX];
	struct series_sample x = sample_at(0);
	struct series s;
	size_t n;

	(void)state;
	srandom(3);
	series_init(&s, 10000);
	x.value[SERIES_CPU_MS] = 0;
	for (int i = 0; i < 8640; i++) {
		x.elapsed_ms += 10000;
		x.value[SERIES_CPU_MS] += 155000 + random() % 5000;
		x.value[SERIES_MEM_KIB] = 20000000 + random() % 200000;
		x.value[SERIES_VMEM_KIB] = 40000000 + i / 1000 * 4096;
		x.value[SERIES_JOBFS_KIB] = i * 400;
		assert_int_equal(series_add(&s, &x), 0);
	}
	n = series_encode(&s, buf);
	print_message("bytes of a day with 4 metrics: %zu\n", n);
	assert_in_range(n, 400, 1300);
	series_done(&s);
}

static void the_largest_series_fits(void **state)
{
	uint8_t buf[SERIES_BYTES_MAX];
	struct series s = { SERIES_VALUE_MAX / SERIES_POINTS_MAX,
			    SERIES_VALUE_MAX - 7,
			    { NULL } },
		      back;

	(void)state;
	for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
		s.of[m] = malloc(SERIES_POINTS_MAX * sizeof(int64_t));
		for (int i = 0; i < SERIES_POINTS_MAX; i++)
			s.of[m][i] = i % 2 ? 0 : SERIES_VALUE_MAX;
	}
	s.interval_ms++;
	assert_int_equal(series_decode(buf, series_encode(&s, buf), &back), 0);
	assert_same(&s, &back);
	series_done(&s);
	series_done(&back);
}

static void bytes_that_are_no_series_are_refused(void **state)
{
	uint8_t buf[SERIES_BYTES_MAX], other[SERIES_BYTES_MAX];
	struct series s, back;
	size_t n;

	(void)state;
	series_init(&s, 1000);
	for (int64_t t = 1000; t < 60000; t += 1000)
		add_use(&s, t, t * 3, 100000 - t);
	n = series_encode(&s, buf);
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(series_decode(buf, cut, &back), -EINVAL);
	buf[n] = 0;
	assert_int_equal(series_decode(buf, n + 1, &back), -EINVAL);
	buf[0] = 2; /* a version that is not known */
	assert_int_equal(series_decode(buf, n, &back), -EINVAL);
	buf[0] = 1;
	/* Any byte changed: refused, or another series within its bounds. */
	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(other, buf, n);
			other[i] ^= (uint8_t)(1 << bit);
			if (series_decode(other, n, &back) < 0)
				continue;
			assert_in_range(series_points(&back), 1, SERIES_POINTS_MAX);
			series_done(&back);
		}
	/* more than 120 points; a point below zero; a number that is longer than needed */
	assert_int_equal(series_decode("\x01\x01\x79\x00", 4, &back), -EINVAL);
	assert_int_equal(series_decode("\x01\x01\x01\x01\x02", 5, &back), -EINVAL);
	assert_int_equal(series_decode("\x01\x01\x01\x01\x81\x00", 6, &back), -EINVAL);
	assert_int_equal(series_decode("\x01\x01\x01\x80\x01", 5, &back), -EINVAL);
	assert_int_equal(series_decode("\x01\x01\x01\x01\x01", 5, &back), 0);
	assert_int_equal(back.of[SERIES_CPU_MS][0], 0);
	series_done(&back);
	series_done(&s);
}

/* Metrics 0 and 7 of two points; a controller that knows seven metrics reads the first. Its rows are bounded too. */
static void metrics_of_a_newer_agent_are_skipped(void **state)
{
	static const uint8_t newer[] = { 1, 10, 20, 0x81, 0x01, 5, 3, 9, 2 };
	uint8_t large[SERIES_BYTES_ACCEPTED] = { 1, 1, 120, 0xff, 0xff, 0x01 };
	struct series s;

	(void)state;
	assert_int_equal(series_decode(newer, sizeof(newer), &s), 0);
	assert_int_equal(series_points(&s), 2);
	assert_int_equal(s.of[SERIES_CPU_MS][0], 2);
	assert_int_equal(s.of[SERIES_CPU_MS][1], 3);
	series_done(&s);
	assert_int_equal(series_decode(newer, sizeof(newer) - 1, &s), -EINVAL);
	/* 15 metrics of 120 points, all missing */
	assert_int_equal(series_decode(large, 6 + 15 * 120, &s), 0);
	series_done(&s);
	assert_int_equal(series_decode(large, sizeof(large) + 1, &s), -EINVAL);
	/* more metrics than a series may ever have */
	assert_int_equal(series_decode("\x01\x01\x01\x80\x80\x08\x00", 7, &s), -EINVAL);
}

static void a_gpu_is_never_busier_than_it_can_be(void **state)
{
	static const int64_t reported[] = { 0, 0, 25000, 25000, 38000 };
	static const int64_t busy[] = { 5000, 10000, 10000, 3000, 10000 };
	struct series s;

	(void)state;
	series_init(&s, 10000);
	for (int i = 0; i < 5; i++) {
		struct series_sample x = sample_at((i + 1) * 10000);

		x.value[SERIES_GPU_BUSY_MS] = reported[i];
		x.gpus = 1;
		assert_int_equal(series_add(&s, &x), 0);
		assert_int_equal(series_total(&s, SERIES_GPU_BUSY_MS), reported[i]);
	}
	for (int i = 0; i < 5; i++)
		assert_int_equal(s.of[SERIES_GPU_BUSY_MS][i], busy[i]);
	series_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_an_interval_is_a_point_each),
		cmocka_unit_test(merging_keeps_cpu_time_the_maximum_and_the_order),
		cmocka_unit_test(a_steadily_sampled_job_has_every_point),
		cmocka_unit_test(a_gap_is_missing_memory_and_the_mean_of_cpu_time),
		cmocka_unit_test(what_is_measured_late_is_missing_before_and_suspension_is_not),
		cmocka_unit_test(clocks_and_counters_that_go_back_change_nothing),
		cmocka_unit_test(a_gpu_is_never_busier_than_it_can_be),
		cmocka_unit_test(nodes_add_up),
		cmocka_unit_test(a_metric_that_one_node_has_is_in_the_sum),
		cmocka_unit_test(nodes_add_up_in_any_order),
		cmocka_unit_test(decoding_gives_what_was_encoded),
		cmocka_unit_test(a_long_job_needs_about_a_kilobyte),
		cmocka_unit_test(the_largest_series_fits),
		cmocka_unit_test(bytes_that_are_no_series_are_refused),
		cmocka_unit_test(metrics_of_a_newer_agent_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
