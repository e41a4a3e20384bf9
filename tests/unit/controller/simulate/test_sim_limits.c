/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sim_limits - what each user may run at once in a QOS, at its edge: cores and jobs, started, suspended, ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "controller/policy/quota/eligible.h"
#include "controller/simulate/limits.h"

#define NONE ELIGIBLE_NO_LIMIT
#define USERS 3

enum { FREE, BY_CORES, BY_JOBS, N_QOS };
static const struct sim_qos list[] = {
	[FREE] = { "free", 0, SIM_MICRO, NONE, NONE },
	[BY_CORES] = { "by-cores", 0, SIM_MICRO, 8, NONE },
	[BY_JOBS] = { "by-jobs", 0, SIM_MICRO, NONE, 2 },
};

/* The jobs of a test, each with its user and QOS. */
static struct sim_job jobs[] = {
	{ .user = 1, .cores = 5 },  { .user = 1, .cores = 3 },	{ .user = 1, .cores = 1 },
	{ .user = 2, .cores = 8 },  { .user = 2, .cores = 9 },	{ .user = 1, .cores = 90 },
	{ .user = 1, .cores = 90 }, { .user = 1, .cores = 90 }, { .user = 0, .cores = 90 },
	{ .user = 1, .cores = 90 }, { .user = 1, .cores = 90 },
};
static const uint32_t of[] = { BY_CORES, BY_CORES, BY_CORES, BY_CORES, BY_CORES,    BY_JOBS,
			       BY_JOBS,	 BY_JOBS,  BY_JOBS,  FREE,     SIM_QOS_NONE };
#define N_JOBS (sizeof(of) / sizeof(of[0]))

static const struct sim_trace trace = { .jobs = jobs, .n = N_JOBS, .users.n = USERS };
static const struct sim_qos_use use = { list, N_QOS, of };

static struct sim_limits *new_limits(void)
{
	struct sim_limits *l = NULL;

	assert_int_equal(sim_limits_new(&trace, &use, &l), 0);
	assert_non_null(l);
	return l;
}

static void without_a_limit_nothing_is_kept(void **state)
{
	static const struct sim_qos_use none[] = { { list, 1, of },
						   { list, N_QOS, NULL },
						   { list, 0, of } };
	static const struct sim_qos_use one[] = { { &list[BY_CORES], 1, of },
						  { &list[BY_JOBS], 1, of },
						  { list, 2, of } };
	struct sim_limits *l;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sim_limits_new(&trace, &none[i], &l), 0);
		assert_null(l);
		assert_int_equal(sim_limits_new(&trace, &one[i], &l), 0);
		assert_non_null(l);
		sim_limits_free(l);
	}
}

static void exactly_the_limit_of_cores_may_run(void **state)
{
	_cleanup_(sim_limits_freep) struct sim_limits *l = new_limits();

	(void)state;
	assert_true(sim_limits_may_start(l, 0));
	sim_limits_start(l, 0);
	assert_true(sim_limits_may_start(l, 1)); /* 5 + 3 = 8 */
	sim_limits_start(l, 1);
	assert_false(sim_limits_may_start(l, 2)); /* 9 */
	assert_false(sim_limits_may_start(l, 4)); /* 9 alone */
	sim_limits_end(l, 1);
	assert_true(sim_limits_may_start(l, 2));
	assert_true(sim_limits_may_start(l, 1));
}

static void a_suspended_job_holds_no_cores_and_takes_them_again(void **state)
{
	_cleanup_(sim_limits_freep) struct sim_limits *l = new_limits();

	(void)state;
	sim_limits_start(l, 0);
	sim_limits_start(l, 1);
	sim_limits_suspend(l, 0);
	assert_true(sim_limits_may_start(l, 2));
	assert_true(sim_limits_may_start(l, 0)); /* 5 of 8, 3 in use */
	sim_limits_start(l, 2);
	assert_false(sim_limits_may_start(l, 0));
	sim_limits_end(l, 2);
	sim_limits_resume(l, 0);
	assert_false(sim_limits_may_start(l, 2));
}

static void a_suspended_job_counts_as_a_job(void **state)
{
	_cleanup_(sim_limits_freep) struct sim_limits *l = new_limits();

	(void)state;
	sim_limits_start(l, 5);
	assert_true(sim_limits_may_start(l, 6));
	sim_limits_start(l, 6);
	assert_false(sim_limits_may_start(l, 7));
	sim_limits_suspend(l, 5);
	assert_false(sim_limits_may_start(l, 7));
	sim_limits_end(l, 6);
	assert_true(sim_limits_may_start(l, 7));
}

static void each_user_has_the_limit_of_each_qos_alone(void **state)
{
	_cleanup_(sim_limits_freep) struct sim_limits *l = new_limits();

	(void)state;
	sim_limits_start(l, 0);
	sim_limits_start(l, 1);
	sim_limits_start(l, 5);
	assert_false(sim_limits_may_start(l, 2)); /* the user's cores are in use */
	assert_true(sim_limits_may_start(l, 3));  /* another's are not */
	assert_true(sim_limits_may_start(l, 6));  /* nor is this user's other QOS full */
	sim_limits_start(l, 6);
	assert_false(sim_limits_may_start(l, 7));
	assert_true(sim_limits_may_start(l, 8));
}

static void without_a_limited_qos_a_job_may_always_start(void **state)
{
	_cleanup_(sim_limits_freep) struct sim_limits *l = new_limits();

	(void)state;
	for (uint32_t job = 9; job <= 10; job++)
		for (int i = 0; i < 5; i++) {
			assert_true(sim_limits_may_start(l, job));
			sim_limits_start(l, job);
			sim_limits_suspend(l, job);
			sim_limits_resume(l, job);
		}
	/* Nor does it count against the first user, whose scopes come first. */
	assert_true(sim_limits_may_start(l, 8));
	sim_limits_end(l, 9);
	assert_true(sim_limits_may_start(l, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_nothing_is_kept),
		cmocka_unit_test(exactly_the_limit_of_cores_may_run),
		cmocka_unit_test(a_suspended_job_holds_no_cores_and_takes_them_again),
		cmocka_unit_test(a_suspended_job_counts_as_a_job),
		cmocka_unit_test(each_user_has_the_limit_of_each_qos_alone),
		cmocka_unit_test(without_a_limited_qos_a_job_may_always_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
