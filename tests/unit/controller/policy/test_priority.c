/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_priority - each factor of the table, and that what is shown adds up. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/policy/priority/priority.h"

static struct priority explain_priority(const struct priority_rule *rule,
					const struct priority_job *job)
{
	struct priority p;
	int64_t sum = 0;

	assert_int_equal(priority_explain(rule, job, &p), 0);
	for (size_t i = 0; i < p.n_rows; i++)
		sum += p.rows[i].product_micro;
	assert_int_equal(sum, p.sum_micro);
	if (!p.clamped && !p.held)
		assert_int_equal(p.value, sum / PRIORITY_UNIT);
	assert_true(p.value >= !p.held && p.value <= PRIORITY_MAX);
	return p;
}

/* The priority, with `weight` on one factor alone. */
static int64_t value_alone(struct priority_rule rule, const struct priority_job *job,
			   enum priority_factor f, int64_t weight)
{
	rule.weight[f] = weight;
	return explain_priority(&rule, job).value;
}

static const struct priority_job typical = {
	.eligible_s = 3600,
	.fairshare = 0.765597,
	.nodes = 1,
	.cores = 30,
	.all_nodes = 10,
	.all_cores = 100,
	.limit_s = 7200,
	.own = { [PRIORITY_PARTITION] = 5, [PRIORITY_QOS] = 10, [PRIORITY_ASSOCIATION] = 1 },
};

static void every_factor_of_a_priority_has_its_defined_value(void **state)
{
	struct priority_rule rule = { .max_age_s = 14400,
				      .highest = { [PRIORITY_PARTITION] = 20,
						   [PRIORITY_QOS] = 10,
						   [PRIORITY_ASSOCIATION] = 3 } };
	struct priority_job job = typical;

	(void)state;
	assert_int_equal(value_alone(rule, &typical, PRIORITY_AGE, 1000), 250);
	assert_int_equal(value_alone(rule, &typical, PRIORITY_FAIRSHARE, 1000000), 765597);
	assert_int_equal(value_alone(rule, &typical, PRIORITY_PARTITION, 1000), 250);
	assert_int_equal(value_alone(rule, &typical, PRIORITY_QOS, 1000), 1000);
	assert_int_equal(value_alone(rule, &typical, PRIORITY_ASSOCIATION, 1000), 333);
	rule.size = PRIORITY_LARGE;
	assert_int_equal(value_alone(rule, &typical, PRIORITY_SIZE, 1000), 200);
	rule.size = PRIORITY_SMALL;
	assert_int_equal(value_alone(rule, &typical, PRIORITY_SIZE, 1000), 800);
	rule.size = PRIORITY_SMALL_TO_TIME; /* 30 cores / 120 min / 100 cores */
	assert_int_equal(value_alone(rule, &typical, PRIORITY_SIZE, 10000), 25);
	job.limit_s = 30; /* below a minute counts as one */
	assert_int_equal(value_alone(rule, &job, PRIORITY_SIZE, 10000), 3000);
	rule.highest[PRIORITY_PARTITION] = 0; /* not normalised */
	assert_int_equal(value_alone(rule, &typical, PRIORITY_PARTITION, 1000), 5000);
}

static void age_is_bounded_and_new_jobs_count_at_once(void **state)
{
	struct priority_rule rule = { .max_age_s = 7 * 86400 };
	struct priority_job job = typical;

	(void)state;
	rule.weight[PRIORITY_FAIRSHARE] = 100000000;
	rule.weight[PRIORITY_AGE] = 10000000;
	job.eligible_s = 0;
	assert_int_equal(explain_priority(&rule, &job).value, 76559700);
	job.eligible_s = -100; /* the clock stepped back */
	assert_int_equal(explain_priority(&rule, &job).value, 76559700);
	job.eligible_s = 7 * 86400;
	assert_int_equal(explain_priority(&rule, &job).value, 86559700);
	job.eligible_s = INT64_MAX;
	assert_int_equal(explain_priority(&rule, &job).value, 86559700);
	rule.max_age_s = 0;
	assert_int_equal(explain_priority(&rule, &job).value, 76559700);
}

static void rows_are_all_there_and_named(void **state)
{
	static const char *const names[] = { "age",  "fairshare",   "size", "partition",
					     "qos",  "association", "cpu",  "gpu",
					     "site", "nice" };
	const struct priority_tres tres[] = { { "cpu", 1000, 30, 120 }, { "gpu", 500, 2, 0 } };
	struct priority_rule rule = { .max_age_s = 1 };
	struct priority_job job = typical;
	struct priority p;
	char text[PRIORITY_TEXT_MAX];

	(void)state;
	job.tres = tres;
	job.n_tres = 2;
	job.site = 7;
	job.nice = 50;
	p = explain_priority(&rule, &job);
	assert_int_equal(p.n_rows, ARRAY_LEN(names));
	for (size_t i = 0; i < p.n_rows; i++)
		assert_string_equal(p.rows[i].name, names[i]);
	assert_int_equal(p.value, 250 + 7 - 50); /* a partition without GPUs adds nothing */
	assert_string_equal(priority_format_micro(p.rows[9].product_micro, text), "-50.000000");
	assert_string_equal(priority_format_micro(p.rows[6].product_micro, text), "250.000000");
}

/* The fractions of three factors make a point that cutting each one would lose. */
static void truncation_is_at_the_end_only(void **state)
{
	struct priority_rule rule = {
		.max_age_s = 10, .highest = { [PRIORITY_PARTITION] = 20, [PRIORITY_QOS] = 20 }
	};
	struct priority_job job = typical;

	(void)state;
	job.eligible_s = 4;
	rule.weight[PRIORITY_AGE] = 1;	     /* 0.4 */
	rule.weight[PRIORITY_PARTITION] = 1; /* 0.25 */
	rule.weight[PRIORITY_QOS] = 1;	     /* 0.5 */
	assert_int_equal(explain_priority(&rule, &job).sum_micro, 1150000);
	assert_int_equal(explain_priority(&rule, &job).value, 1);
	job.fairshare = 0.29; /* 100 x 0.29 is 28.999999999999996 in binary */
	rule = (struct priority_rule){ .weight = { [PRIORITY_FAIRSHARE] = 100 } };
	assert_int_equal(explain_priority(&rule, &job).value, 29);
	job.fairshare = 0.28999;
	assert_int_equal(explain_priority(&rule, &job).value, 28);
}

static void shown_products_add_up_in_many_worlds(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct priority_rule rule = { .max_age_s = 1 + round,
					      .size = (enum priority_size)(round % 3) };
		struct priority_job job = typical;
		long double exact = 0;
		struct priority p;

		for (int f = 0; f < _PRIORITY_FACTOR_MAX; f++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			rule.weight[f] = (int64_t)(seed >> 32);
			rule.highest[f] = 10 + (int64_t)(seed >> 50 & 255);
		}
		job.fairshare = (double)(seed >> 11 & 8191) / 8511;
		job.nice = (int64_t)(seed >> 40) - (1 << 23);
		p = explain_priority(&rule, &job);
		for (size_t i = 0; i < p.n_rows; i++)
			exact += (long double)p.rows[i].factor * (long double)p.rows[i].weight;
		assert_true(fabsl(exact - (long double)p.sum_micro / 1e6L) < 1e-5L);
	}
}

static void bounds_are_1_and_the_largest_and_0_is_held(void **state)
{
	struct priority_rule rule = { .weight = { [PRIORITY_FAIRSHARE] = PRIORITY_MAX } };
	struct priority_job job = typical;

	(void)state;
	job.fairshare = 1;
	assert_int_equal(explain_priority(&rule, &job).value, 4294967295);
	assert_false(explain_priority(&rule, &job).clamped);
	job.site = 1;
	assert_int_equal(explain_priority(&rule, &job).value, 4294967295);
	assert_true(explain_priority(&rule, &job).clamped);
	job.site = 0;
	job.nice = PRIORITY_MAX;
	assert_int_equal(explain_priority(&rule, &job).value, 1);
	job.nice = PRIORITY_MAX - 1;
	assert_int_equal(explain_priority(&rule, &job).value, 1);
	assert_false(explain_priority(&rule, &job).clamped);
	job.fairshare = 0;
	assert_int_equal(explain_priority(&rule, &job).value, 1); /* far below zero */
	job.held = true;
	assert_int_equal(explain_priority(&rule, &job).value, 0);
}

static void sizes_beyond_the_machine_stay_within_the_factor(void **state)
{
	struct priority_rule rule = { .weight = { [PRIORITY_SIZE] = 1000 } };
	struct priority_job job = typical;

	(void)state;
	job.nodes = 20;
	job.cores = 1000;
	assert_int_equal(explain_priority(&rule, &job).value, 1000);
	rule.size = PRIORITY_SMALL;
	assert_int_equal(explain_priority(&rule, &job).value, 1);
	rule.size = PRIORITY_SMALL_TO_TIME;
	job.limit_s = 0;
	assert_int_equal(explain_priority(&rule, &job).value, 1000);
	job.all_nodes = job.all_cores = 0; /* an empty cluster */
	for (int s = 0; s < _PRIORITY_SIZE_MAX; s++) {
		rule.size = (enum priority_size)s;
		assert_int_equal(explain_priority(&rule, &job).sum_micro, 0);
	}
}

static void bad_figures_are_errors_and_nothing_is_written(void **state)
{
	static const double bad[] = { -0.001, 1.001, NAN, INFINITY };
	static const struct priority_tres minus = { "cpu", 1, -1, 1 };
	struct priority_rule rule = { 0 };
	struct priority_job job = typical;
	struct priority p = { .value = 42 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		job.fairshare = bad[i];
		assert_int_equal(priority_explain(&rule, &job, &p), -EINVAL);
	}
	job = typical;
	job.cores = -1;
	assert_int_equal(priority_explain(&rule, &job, &p), -EINVAL);
	job = typical;
	job.tres = &minus;
	job.n_tres = 1;
	assert_int_equal(priority_explain(&rule, &job, &p), -EINVAL);
	job.n_tres = PRIORITY_TRES_MAX + 1;
	assert_int_equal(priority_explain(&rule, &job, &p), -EINVAL);
	job = typical;
	job.nice = INT64_MIN;
	assert_int_equal(priority_explain(&rule, &job, &p), -ERANGE);
	job = typical;
	rule.weight[PRIORITY_AGE] = PRIORITY_MAX + 1;
	assert_int_equal(priority_explain(&rule, &job, &p), -ERANGE);
	rule.weight[PRIORITY_AGE] = -1;
	assert_int_equal(priority_explain(&rule, &job, &p), -EINVAL);
	rule = (struct priority_rule){ .weight = { [PRIORITY_QOS] = PRIORITY_MAX } };
	job.own[PRIORITY_QOS] = INT64_MAX; /* raw */
	assert_int_equal(priority_explain(&rule, &job, &p), -ERANGE);
	assert_int_equal(p.value, 42);
}

/* Each input at its bound is computed, and one step beyond it is refused. */
static void inputs_are_refused_just_beyond_their_bounds(void **state)
{
	const struct priority_tres zero = { "cpu", 0, 0, 0 };
	struct priority_rule rule = { 0 };
	struct priority_job job = { .tres = &zero, .n_tres = 1 };
	int64_t *const not_negative[] = { &job.nodes,
					  &job.cores,
					  &job.all_nodes,
					  &job.all_cores,
					  &rule.max_age_s,
					  &rule.weight[PRIORITY_AGE],
					  &rule.highest[PRIORITY_QOS],
					  &job.own[PRIORITY_PARTITION] };
	struct priority_tres bad[] = { { "cpu", -1, 0, 0 },
				       { "cpu", 0, -1, 0 },
				       { "cpu", 0, 0, -1 } };
	int64_t *const points[] = { &job.site, &job.nice };
	struct priority p;

	(void)state;
	assert_int_equal(priority_explain(&rule, &job, &p), 0);
	assert_int_equal(p.value, 1);
	for (size_t i = 0; i < ARRAY_LEN(not_negative); i++) {
		*not_negative[i] = -1;
		assert_int_equal(priority_explain(&rule, &job, &p), -EINVAL);
		*not_negative[i] = 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		job.tres = &bad[i];
		assert_int_equal(priority_explain(&rule, &job, &p), -EINVAL);
	}
	job.tres = &zero;
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		*points[i] = PRIORITY_MAX;
		assert_int_equal(priority_explain(&rule, &job, &p), 0);
		*points[i] = -PRIORITY_MAX;
		assert_int_equal(priority_explain(&rule, &job, &p), 0);
		*points[i] = PRIORITY_MAX + 1;
		assert_int_equal(priority_explain(&rule, &job, &p), -ERANGE);
		*points[i] = -PRIORITY_MAX - 1;
		assert_int_equal(priority_explain(&rule, &job, &p), -ERANGE);
		*points[i] = 0;
	}
	rule.weight[PRIORITY_AGE] = PRIORITY_MAX;
	assert_int_equal(priority_explain(&rule, &job, &p), 0);
	rule.weight[PRIORITY_AGE]++;
	assert_int_equal(priority_explain(&rule, &job, &p), -ERANGE);
}

static void each_factor_has_its_name_and_what_is_none_has_none(void **state)
{
	(void)state;
	assert_string_equal(priority_factor_name(PRIORITY_AGE), "age");
	assert_string_equal(priority_factor_name(PRIORITY_FAIRSHARE), "fairshare");
	assert_string_equal(priority_factor_name(PRIORITY_SIZE), "size");
	assert_string_equal(priority_factor_name(PRIORITY_PARTITION), "partition");
	assert_string_equal(priority_factor_name(PRIORITY_QOS), "qos");
	assert_string_equal(priority_factor_name(PRIORITY_ASSOCIATION), "association");
	assert_string_equal(priority_factor_name(_PRIORITY_FACTOR_MAX), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_factor_has_its_name_and_what_is_none_has_none),
		cmocka_unit_test(every_factor_of_a_priority_has_its_defined_value),
		cmocka_unit_test(age_is_bounded_and_new_jobs_count_at_once),
		cmocka_unit_test(rows_are_all_there_and_named),
		cmocka_unit_test(truncation_is_at_the_end_only),
		cmocka_unit_test(shown_products_add_up_in_many_worlds),
		cmocka_unit_test(bounds_are_1_and_the_largest_and_0_is_held),
		cmocka_unit_test(sizes_beyond_the_machine_stay_within_the_factor),
		cmocka_unit_test(bad_figures_are_errors_and_nothing_is_written),
		cmocka_unit_test(inputs_are_refused_just_beyond_their_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
