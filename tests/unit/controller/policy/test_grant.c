/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_grant - the published charges, and granted = used + reserved + available throughout. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/time_units.h"
#include "controller/policy/quota/grant.h"

#define SU INT64_C(3600000)

static struct grant sum_grant(int64_t granted, const struct grant_job *jobs, size_t n)
{
	struct grant g;

	assert_int_equal(grant_sum(granted, 0, &(struct grant_jobs){ jobs, n }, &g), 0);
	assert_int_equal(g.used + g.reserved + g.available, g.granted);
	return g;
}

/* 16 cpus, 90 minutes running (and 30 suspended, which does not count): 24, 72, 0 SU. */
static void the_published_example_holds_in_the_three_queues(void **state)
{
	static const int64_t factor[] = { 1, 3, 0 }, su[] = { 24, 72, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(factor); i++) {
		struct grant_job job = {
			{ 16 * factor[i], 1 }, 600 * MIN_NS, 90 * MIN_NS, true
		};

		assert_int_equal(sum_grant(100 * SU, &job, 1).used, su[i] * SU);
		assert_int_equal(sum_grant(100 * SU, &job, 1).reserved, 0);
		job.ended = false;
		assert_int_equal(sum_grant(100 * SU, &job, 1).reserved,
				 160 * factor[i] * SU - su[i] * SU);
	}
}

static void reservation_becomes_use_step_by_step_and_its_rest_comes_back(void **state)
{
	struct grant_job job = { { 7, 3 }, 100 * MIN_NS + 1, 0, false };
	struct grant g = sum_grant(100 * SU, &job, 1);
	int64_t whole = g.reserved;

	(void)state;
	assert_int_equal(g.used, 0);
	for (job.ran_ns = 0; job.ran_ns <= 100 * MIN_NS; job.ran_ns += 7777777777) {
		g = sum_grant(100 * SU, &job, 1);
		assert_int_equal(g.used + g.reserved, whole);
		assert_int_equal(g.available, 100 * SU - whole);
	}
	job.ran_ns = 50 * MIN_NS;
	job.ended = true;
	g = sum_grant(100 * SU, &job, 1);
	assert_int_equal(g.reserved, 0);
	assert_int_equal(g.available, 100 * SU - g.used);
	/* Past its walltime it reserves nothing more; what it ran is used. */
	job.ended = false;
	job.ran_ns = 200 * MIN_NS;
	g = sum_grant(100 * SU, &job, 1);
	assert_int_equal(g.reserved, 0);
	assert_true(g.used > whole);
}

static void sum_is_that_of_the_jobs(void **state)
{
	struct grant_job jobs[20];
	int64_t used = 0, reserved = 0;
	struct grant g;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct grant_part part;

		jobs[i] = (struct grant_job){
			{ i, 1 }, i * MIN_NS, i * i * MIN_NS / 20, i % 3 == 0
		};
		assert_int_equal(grant_job_part(&jobs[i], &part), 0);
		used += part.used;
		reserved += part.reserved;
	}
	g = sum_grant(SU, jobs, 20);
	assert_int_equal(g.used, used);
	assert_int_equal(g.reserved, reserved);
}

static enum grant_verdict admit_need(int64_t available, struct grant_rule rule, int64_t need)
{
	struct grant g = { .available = available };
	enum grant_verdict v;

	assert_int_equal(grant_admit(&g, &rule, need, &v), 0);
	return v;
}

static void exhausted_means_bonus_at_the_exact_edge(void **state)
{
	const struct grant_rule whole = { GRANT_COVER_WHOLE, 0, false };
	const struct grant_rule any = { GRANT_COVER_ANY, 0, false };
	const struct grant_rule loan = { GRANT_COVER_WHOLE, 10, true };

	(void)state;
	assert_int_equal(admit_need(100, whole, 100), GRANT_COVERED);
	assert_int_equal(admit_need(100, whole, 101), GRANT_BONUS);
	assert_int_equal(admit_need(0, whole, 0), GRANT_COVERED);
	assert_int_equal(admit_need(-5, whole, 0), GRANT_COVERED);
	assert_int_equal(admit_need(1, any, 1000),
			 GRANT_COVERED); /* overdrawn by one job's rest */
	assert_int_equal(admit_need(0, any, 1), GRANT_BONUS);
	assert_int_equal(admit_need(-999, any, 1), GRANT_BONUS);
	assert_int_equal(admit_need(100, loan, 110), GRANT_COVERED);
	assert_int_equal(admit_need(100, loan, 111), GRANT_REFUSED);
}

/* Whatever is admitted under "whole", and however it runs within its walltime, nothing is
 * overdrawn beyond the overdraft. */
static void whole_cover_is_never_overdrawn(void **state)
{
	const struct grant_rule rule = { GRANT_COVER_WHOLE, 1000, true };
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct grant_job jobs[30];
		size_t n = 0;

		for (int i = 0; i < 30; i++) {
			struct grant g = sum_grant(SU, jobs, n);
			struct grant_part need;

			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			jobs[n] = (struct grant_job){ { 1 + (int64_t)(seed >> 60), 1 },
						      (int64_t)(seed >> 30 & 15) * MIN_NS,
						      0,
						      false };
			assert_int_equal(grant_job_part(&jobs[n], &need), 0);
			if (admit_need(g.available, rule, need.reserved) == GRANT_COVERED)
				n++;
			assert_true(sum_grant(SU, jobs, n).available >= -1000);
			for (size_t k = 0; k < n; k += 2) {
				jobs[k].ran_ns = jobs[k].walltime_ns / 2;
				jobs[k].ended |= seed >> k & 1;
			}
		}
	}
}

static void bad_figures_are_errors(void **state)
{
	struct grant_job huge[2] = { { { INT64_MAX, 1 }, 1000000, 0, false },
				     { { INT64_MAX, 1 }, 1000000, 0, false } };
	struct grant_job minus = { { 1, 1 }, -1, 0, false },
			 over = { { INT64_MAX, 1 }, INT64_MAX, 0, false };
	struct grant g = { .granted = 42 };
	const struct grant_rule rule = { GRANT_COVER_WHOLE, -1, false };
	enum grant_verdict v;

	(void)state;
	assert_int_equal(grant_sum(1, 0, &(struct grant_jobs){ huge, 2 }, &g), -ERANGE);
	assert_int_equal(grant_sum(1, 0, &(struct grant_jobs){ &over, 1 }, &g), -ERANGE);
	assert_int_equal(grant_sum(1, 0, &(struct grant_jobs){ &minus, 1 }, &g), -EINVAL);
	assert_int_equal(grant_sum(-1, 0, &(struct grant_jobs){ NULL, 0 }, &g), -EINVAL);
	assert_int_equal(grant_sum(1, -1, &(struct grant_jobs){ NULL, 0 }, &g), -EINVAL);
	assert_int_equal(g.granted, 42);
	assert_int_equal(grant_admit(&g, &rule, 1, &v), -EINVAL);
	assert_int_equal(grant_admit(&g, &(struct grant_rule){ 0 }, -1, &v), -EINVAL);
	assert_string_equal(grant_verdict_name(GRANT_BONUS), "bonus");
}

static void figures_out_of_range_are_refused_one_by_one(void **state)
{
	const int64_t most = INT64_MAX;
	struct grant_job job = { { 1, 1 }, 0, -1, false };
	struct grant_job jobs[2] = { { { most, 1 }, 2000000, 1000000, false },
				     { { most, 1 }, 2000000, 1000000, false } };
	struct grant g = { .available = most };
	struct grant_part part = { 7, 7 };
	enum grant_verdict v = GRANT_BONUS;

	(void)state;
	assert_int_equal(grant_job_part(&job, &part), -EINVAL);
	job = (struct grant_job){ { most, 1 }, 0, 2000000, false };
	assert_int_equal(grant_job_part(&job, &part), -ERANGE);
	job = (struct grant_job){ { most, 1 }, 2000000, 0, false };
	assert_int_equal(grant_job_part(&job, &part), -ERANGE);
	assert_int_equal(part.used, 7);
	/* The sum of what is reserved, and of what was used. */
	jobs[0] = jobs[1] = (struct grant_job){ { most, 1 }, 1000000, 0, false };
	assert_int_equal(grant_sum(0, 0, &(struct grant_jobs){ jobs, 2 }, &g), -ERANGE);
	jobs[0] = jobs[1] = (struct grant_job){ { most, 1 }, 0, 1000000, true };
	assert_int_equal(grant_sum(0, 0, &(struct grant_jobs){ jobs, 2 }, &g), -ERANGE);
	/* Used and reserved together are twice the largest number: of a grant of 0 that is below all numbers. */
	jobs[1] = (struct grant_job){ { most, 1 }, 1000000, 0, false };
	assert_int_equal(grant_sum(0, 0, &(struct grant_jobs){ jobs, 2 }, &g), -ERANGE);
	assert_int_equal(grant_sum(most, 0, &(struct grant_jobs){ jobs, 2 }, &g), 0);
	assert_int_equal(g.available, -most);
	g.available = most;
	assert_int_equal(
		grant_admit(&g, &(struct grant_rule){ GRANT_COVER_ANY, 1, false }, 1, &v),
		-ERANGE);
	assert_int_equal(
		grant_admit(&g, &(struct grant_rule){ .cover = _GRANT_COVER_MAX }, 1, &v),
		-EINVAL);
	assert_int_equal(v, GRANT_BONUS);
	assert_string_equal(grant_verdict_name(GRANT_COVERED), "covered");
	assert_string_equal(grant_verdict_name(GRANT_REFUSED), "refused");
	assert_string_equal(grant_verdict_name(_GRANT_VERDICT_MAX), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_example_holds_in_the_three_queues),
		cmocka_unit_test(reservation_becomes_use_step_by_step_and_its_rest_comes_back),
		cmocka_unit_test(sum_is_that_of_the_jobs),
		cmocka_unit_test(exhausted_means_bonus_at_the_exact_edge),
		cmocka_unit_test(whole_cover_is_never_overdrawn),
		cmocka_unit_test(bad_figures_are_errors),
		cmocka_unit_test(figures_out_of_range_are_refused_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
