/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_series_sample - what a job used between two samples, or before the first one, is in its series; how often it is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "agent/job/series/sample.h"

#define MB INT64_C(1048576)

/* One sample of resident memory `now` as its peak is `peak`: the point that it ends in. */
static int64_t point_of(struct series *s, int64_t elapsed_ms, int64_t now, int64_t peak)
{
	struct usage all = { 0 }, sampled = { 0 };
	struct series_sample x = { .elapsed_ms = elapsed_ms };

	usage_set(&all, &all.rss_peak_bytes, peak);
	if (now >= 0)
		usage_set(&sampled, &sampled.rss_bytes, now);
	series_sample_fill(s, &all, &sampled, &x);
	assert_int_equal(series_add(s, &x), 0);
	return s->of[SERIES_MEM_KIB][series_points(s) - 1];
}

static void a_short_job_has_its_peak_and_not_nothing(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 10000);
	assert_int_equal(point_of(&s, 2000, 0, 300 * MB),
			 300 * 1024); /* its processes have exited */
	series_done(&s);
	series_init(&s, 10000);
	assert_int_equal(point_of(&s, 2000, -1, 200 * MB), 200 * 1024); /* its cgroup is gone */
	series_done(&s);
}

static void a_spike_between_samples_is_a_point(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 10000);
	assert_int_equal(point_of(&s, 10000, 100 * MB, 100 * MB), 100 * 1024);
	assert_int_equal(point_of(&s, 20000, 110 * MB, 900 * MB), 900 * 1024);
	/* and it is one point: the peak is not reached again */
	assert_int_equal(point_of(&s, 30000, 120 * MB, 900 * MB), 120 * 1024);
	series_done(&s);
}

static void what_was_not_measured_has_no_value(void **state)
{
	struct usage all = { 0 }, sampled = { 0 };
	struct series_sample x = { .elapsed_ms = 10000 };
	struct series s;

	(void)state;
	series_init(&s, 10000);
	usage_set(&all, &all.cpu_ns, 2500000000);
	usage_set(&all, &all.vmem_bytes, 7 * MB); /* of an earlier sample */
	usage_set(&sampled, &sampled.jobfs_bytes, 1025);
	series_sample_fill(&s, &all, &sampled, &x);
	assert_int_equal(x.value[SERIES_CPU_MS], 2500);
	assert_int_equal(x.value[SERIES_VMEM_KIB], SERIES_NONE);
	assert_int_equal(x.value[SERIES_JOBFS_KIB], 2);
	assert_int_equal(x.value[SERIES_GPU_BUSY_MS], SERIES_NONE);
	assert_int_equal(x.value[SERIES_GPU_MEM_KIB], SERIES_NONE);
	assert_int_equal(x.value[SERIES_SUSPENDED_MS], SERIES_NONE);
}

static void a_long_job_is_sent_once_an_interval(void **state)
{
	(void)state;
	assert_int_equal(series_sample_send_ns(10000), INT64_C(60000000000));
	assert_int_equal(series_sample_send_ns(640000), INT64_C(640000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_job_has_its_peak_and_not_nothing),
		cmocka_unit_test(a_spike_between_samples_is_a_point),
		cmocka_unit_test(what_was_not_measured_has_no_value),
		cmocka_unit_test(a_long_job_is_sent_once_an_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
