/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_baseline - fcfs and easy behind the interface of a replay: which jobs each of them starts, and when. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "controller/simulate/policy.h"

#define CORES 4

/* The second needs all cores; the third fits beside the first, and ends with it; the fourth fits, and ends later. */
static struct sim_job jobs[] = {
	{ .cores = 2, .run_s = 1, .estimate_s = 10 },
	{ .cores = 4, .run_s = 1, .estimate_s = 10 },
	{ .cores = 1, .run_s = 1, .estimate_s = 10 },
	{ .cores = 1, .run_s = 1, .estimate_s = 11 },
};
static const struct sim_trace trace = { .jobs = jobs, .n = 4 };

static struct sim_policy new_policy(const char *name, const struct sim_trace *t)
{
	struct sim_policy p = { 0 };

	assert_int_equal(sim_baseline_new(name, t, CORES, &p), 0);
	assert_null(p.ops->wake_s); /* it acts upon events alone */
	return p;
}

static void add_arrivals(struct sim_policy *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(p->ops->arrive(p->self, i, 0), 0);
}

/* All that start at this moment, as "0 2 ". */
static void expect_next(struct sim_policy *p, int64_t now_s, const char *want)
{
	struct sim_action a = { SIM_RESUME, 99 };
	char got[16] = "";
	size_t n = 0;
	int r;

	while ((r = p->ops->next(p->self, now_s, &a)) > 0) {
		assert_int_equal(r, 1);
		assert_int_equal(a.act, SIM_START);
		assert_true(a.job < 4 && n + 2 < sizeof(got));
		got[n++] = (char)('0' + a.job);
		got[n++] = ' ';
		a = (struct sim_action){ SIM_RESUME, 99 };
	}
	assert_int_equal(r, 0);
	assert_string_equal(got, want);
}

static void fcfs_passes_no_job(void **state)
{
	_cleanup_(sim_policy_done) struct sim_policy p = new_policy("fcfs", &trace);

	(void)state;
	expect_next(&p, 0, "");
	add_arrivals(&p, 4);
	expect_next(&p, 0, "0 ");
	assert_int_equal(p.ops->end(p.self, 0, 1), 0);
	expect_next(&p, 1, "1 ");
	assert_int_equal(p.ops->end(p.self, 1, 2), 0);
	expect_next(&p, 2, "2 3 ");
}

static void easy_passes_the_first_that_waits_where_that_delays_it_not(void **state)
{
	_cleanup_(sim_policy_done) struct sim_policy p = new_policy("easy", &trace);

	(void)state;
	expect_next(&p, 0, "");
	add_arrivals(&p, 4);
	expect_next(&p, 0, "0 2 ");
	assert_int_equal(p.ops->end(p.self, 0, 1), 0);
	expect_next(&p, 1, ""); /* the third may still run until 10 s, the fourth until 12 s */
	assert_int_equal(p.ops->end(p.self, 2, 2), 0);
	expect_next(&p, 2, "1 ");
	assert_int_equal(p.ops->end(p.self, 1, 3), 0);
	expect_next(&p, 3, "3 ");
}

static void the_moment_decides_what_easy_starts(void **state)
{
	_cleanup_(sim_policy_done) struct sim_policy p = new_policy("easy", &trace);

	(void)state;
	add_arrivals(&p, 2);
	expect_next(&p, 0, "0 ");
	assert_int_equal(p.ops->arrive(p.self, 2, 1), 0);
	expect_next(&p, 1, ""); /* it would end at 11 s: one second too late */
}

static void a_trace_without_jobs_starts_none(void **state)
{
	static const struct sim_trace empty = { 0 };
	_cleanup_(sim_policy_done) struct sim_policy fcfs = new_policy("fcfs", &empty);
	_cleanup_(sim_policy_done) struct sim_policy easy = new_policy("easy", &empty);

	(void)state;
	expect_next(&fcfs, 0, "");
	expect_next(&easy, 0, "");
}

static void another_name_is_no_baseline(void **state)
{
	static const char *const names[] = { "", "fcf", "fcfs ", "easy1", "EASY", "nci" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sim_policy p = { 0 };

		assert_int_equal(sim_baseline_new(names[i], &trace, CORES, &p), -ENOENT);
		assert_null(p.ops);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fcfs_passes_no_job),
		cmocka_unit_test(easy_passes_the_first_that_waits_where_that_delays_it_not),
		cmocka_unit_test(the_moment_decides_what_easy_starts),
		cmocka_unit_test(a_trace_without_jobs_starts_none),
		cmocka_unit_test(another_name_is_no_baseline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
