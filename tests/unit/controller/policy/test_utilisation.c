/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_utilisation - buckets of waits lose at most an eighth, quantiles are those of the sorted waits; the capacity of days adds up to the time, and
 * what is charged is taken from it once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/time_units.h"
#include "controller/policy/efficiency/capacity.h"
#include "controller/policy/efficiency/waits.h"

static void every_wait_is_in_a_bucket_that_ends_at_most_an_eighth_above(void **state)
{
	int before = 0;

	(void)state;
	for (int64_t s = 0; s < 100000000; s += s < 5000 ? 1 : s / 1000) {
		int bucket = waits_bucket(s);

		assert_in_range(bucket, before, WAITS_BUCKETS - 1);
		before = bucket;
		assert_true(waits_bucket_end(bucket) >= s);
		assert_true(waits_bucket_end(bucket) - s <= s / 8);
		assert_int_equal(waits_bucket(waits_bucket_end(bucket)), bucket);
		assert_int_equal(waits_bucket(waits_bucket_end(bucket) + 1), bucket + 1);
	}
	for (int b = 0; b < WAITS_BUCKETS; b++) {
		assert_int_equal(waits_bucket(waits_bucket_end(b)), b);
		assert_int_equal(waits_bucket(waits_bucket_end(b) + 1),
				 b + 1 < WAITS_BUCKETS ? b + 1 : b);
	}
	assert_int_equal(waits_bucket(-5), 0);
	assert_int_equal(waits_bucket(INT64_MAX), WAITS_BUCKETS - 1);
}

static void quantiles_are_those_of_the_sorted_waits(void **state)
{
	int64_t jobs[WAITS_BUCKETS] = { 0 };

	(void)state;
	assert_int_equal(waits_quantile(jobs, 500), -1);
	for (int64_t s = 1; s <= 10; s++)
		jobs[waits_bucket(s)]++;
	assert_int_equal(waits_quantile(jobs, 500), 5);
	assert_int_equal(waits_quantile(jobs, 900), 9);
	assert_int_equal(waits_quantile(jobs, 1000), 10);
	assert_int_equal(waits_quantile(jobs, 0), 1);
	jobs[0] = 90; /* that did not wait at all */
	assert_int_equal(waits_quantile(jobs, 0), 0);
	assert_int_equal(waits_quantile(jobs, 900), 0);
	assert_int_equal(waits_quantile(jobs, 901), 1);
	assert_int_equal(waits_quantile(jobs, 950), 5);
}

static void sizes_cover_all_numbers_of_cores(void **state)
{
	(void)state;
	for (int64_t n = 1; n < 3000; n++) {
		int size = waits_size(n);

		assert_true(waits_first_core(size) <= n);
		assert_true(size == WAITS_SIZES - 1 || n < waits_first_core(size + 1));
	}
}

/* Days of 10 s. */
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

static void capacity_of_days_adds_up_to_the_time_of_the_period(void **state)
{
	const struct capacity_change up = { 0, CAPACITY_UP, 4, 2 };

	(void)state;
	for (int64_t from = 0; from < 60; from += 7)
		for (int64_t to = from; to < 90; to += 3) {
			struct capacity_day of[4] = { 0 };
			const struct capacity_days days = { of, 2, 4, &calendar };
			int64_t sum = 0, gpus = 0;
			int64_t a = from < 20 ? 20 : from, b = to > 60 ? 60 : to;

			capacity_add(&days, &up, from * S_NS, to * S_NS);
			for (int i = 0; i < 4; i++) {
				sum += of[i].core_ms[CAPACITY_UP];
				gpus += of[i].gpu_ms[CAPACITY_UP];
				assert_true(of[i].core_ms[CAPACITY_UP] <= 40000);
				assert_int_equal(of[i].core_ms[CAPACITY_DOWN], 0);
			}
			assert_int_equal(sum, a < b ? (b - a) * 4000 : 0);
			assert_int_equal(gpus, a < b ? (b - a) * 2000 : 0);
		}
}

static void what_is_charged_is_taken_from_nodes_that_are_up_then_from_drained_ones(void **state)
{
	const int64_t has[_CAPACITY_STATE_MAX] = { 100, 20, 5 };
	struct capacity_use use = capacity_split(has, 60);

	(void)state;
	assert_int_equal(use.free, 40);
	assert_int_equal(use.drained, 20);
	assert_int_equal(use.down, 5);
	use = capacity_split(has, 110);
	assert_int_equal(use.free, 0);
	assert_int_equal(use.drained, 10);
	use = capacity_split(has, 200);
	assert_int_equal(use.free, 0);
	assert_int_equal(use.drained, 0);
	assert_int_equal(use.charged, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_wait_is_in_a_bucket_that_ends_at_most_an_eighth_above),
		cmocka_unit_test(quantiles_are_those_of_the_sorted_waits),
		cmocka_unit_test(sizes_cover_all_numbers_of_cores),
		cmocka_unit_test(capacity_of_days_adds_up_to_the_time_of_the_period),
		cmocka_unit_test(
			what_is_charged_is_taken_from_nodes_that_are_up_then_from_drained_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
