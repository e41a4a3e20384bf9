/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sim_memory - a simulation where memory ends, at each allocation from the first line of the trace to the summary: the error is returned,
 * and nothing is lost or freed twice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/policy/quota/eligible.h"
#include "controller/simulate/pool/queue_tree.h"
#include "controller/simulate/pool/running_set.h"
#include "controller/simulate/profile.h"
#include "controller/simulate/summary.h"
#include "tests/unit/rig/faults/fail_alloc.h"

#define JOBS 6

struct run {
	struct sim_trace trace;
	struct sim_policy policy;
	struct sim_fairness *fair;
	struct sim_times times[JOBS];
	uint32_t order[JOBS], of[JOBS];
};

static void run_done(struct run *r)
{
	sim_policy_done(&r->policy);
	sim_trace_done(&r->trace);
}

/* With names of users, accounts and QOS. */
static int read_jobs(struct run *r)
{
	int e = 0;

	for (int i = 0; i < JOBS && e == 0; i++) {
		struct history_job j = { .number = i + 1,
					 .submit_s = i,
					 .start_s = 20 + i,
					 .end_s = 30 + i,
					 .ncpus = i % 3 ? 4 : 8,
					 .walltime_s = 100 };

		snprintf(j.user, sizeof(j.user), "u%d", i % 2);
		snprintf(j.account, sizeof(j.account), "a%d", i % 3);
		snprintf(j.qos, sizeof(j.qos), "q%d", i % 2);
		e = sim_trace_history(&r->trace, &j, HISTORY_OK);
		r->of[i] = (uint32_t)i % 2;
	}
	sim_trace_finish(&r->trace, 16);
	return e;
}

static int replay_jobs(struct run *run)
{
	struct sim_replay r = { .trace = &run->trace,
				.cores = 16,
				.policy = &run->policy,
				.times = run->times,
				.order = run->order };
	struct err err = { "" };
	struct sim_summary sum;
	int e = sim_replay_run(&r, &err);

	return e < 0 ? e : sim_summarise(&r, &sum);
}

static int run_baseline(void *ctx)
{
	__attribute__((cleanup(run_done))) struct run r = { 0 };
	int e;

	sim_trace_init(&r.trace);
	e = read_jobs(&r);
	if (e == 0)
		e = sim_baseline_new(ctx, &r.trace, 16, &r.policy);
	return e < 0 ? e : replay_jobs(&r);
}

static void a_baseline_without_memory_is_refused(void **state)
{
	(void)state;
	assert_true(fail_alloc_each(run_baseline, (void *)(uintptr_t) "fcfs") > 5);
	assert_true(fail_alloc_each(run_baseline, (void *)(uintptr_t) "easy") > 5);
}

static int run_profile(void *ctx)
{
	static const struct sim_qos list[] = { { "q0", 0, SIM_MICRO, 12, 2 },
					       { "q1", 1, 2 * SIM_MICRO, ELIGIBLE_NO_LIMIT,
						 ELIGIBLE_NO_LIMIT } };
	__attribute__((cleanup(run_done))) struct run r = { 0 };
	struct sim_profile p = { .rule = *(const enum schedule_rule *)ctx,
				 .kinds = { { 2, 8 } },
				 .n_kinds = 1 };
	struct err err = { "" };
	int e;

	sim_trace_init(&r.trace);
	e = read_jobs(&r);
	p.qos = (struct sim_qos_use){ list, 2, r.of };
	if (e == 0)
		e = sim_profile_new(&p, &r.trace, &r.policy, &err);
	return e < 0 ? e : replay_jobs(&r);
}

static void a_profile_without_memory_is_refused(void **state)
{
	(void)state;
	for (int rule = 0; rule < _SCHEDULE_RULE_MAX; rule++) {
		enum schedule_rule of = (enum schedule_rule)rule;

		assert_true(fail_alloc_each(run_profile, &of) > 10);
	}
}

static int read_lines(void *ctx)
{
	_cleanup_(sim_trace_done) struct sim_trace t;
	char line[128];
	int e = 0;

	(void)ctx;
	sim_trace_init(&t);
	for (int i = 0; i < 20 && e == 0; i++) {
		snprintf(line, sizeof(line), "%d %d -1 10 4 -1 -1 4 20 -1 1 %d %d 1 1 1 -1 -1",
			 i + 1, i, i, i % 7);
		e = sim_trace_line(&t, line, strlen(line));
	}
	return e;
}

static void a_trace_without_memory_is_refused(void **state)
{
	(void)state;
	assert_true(fail_alloc_each(read_lines, NULL) >=
		    5); /* jobs, ids and slots of users and groups */
}

/* More than a block holds, and more blocks than there was room for. */
static int fill_set(void *ctx)
{
	_cleanup_(running_set_freep) struct running_set *s = NULL;
	int64_t at_s, freed;
	int r = running_set_new(&s);

	(void)ctx;
	for (uint32_t i = 0; i < 2000 && r == 0; i++)
		r = running_set_add(s, &(struct running_set_job){ i % 97, i, 1 });
	if (r == 0) {
		assert_int_equal(running_set_when(s, 2000, &at_s, &freed), 0);
		assert_int_equal(freed, 2000);
		assert_int_equal(at_s, 96);
	}
	return r;
}

static int make_tree(void *ctx)
{
	_cleanup_(queue_tree_freep) struct queue_tree *t = NULL;

	(void)ctx;
	return queue_tree_new(100, &t);
}

static void a_set_and_a_tree_without_memory_are_refused(void **state)
{
	(void)state;
	assert_true(fail_alloc_each(fill_set, NULL) > 30);
	assert_true(fail_alloc_each(make_tree, NULL) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_baseline_without_memory_is_refused),
		cmocka_unit_test(a_profile_without_memory_is_refused),
		cmocka_unit_test(a_trace_without_memory_is_refused),
		cmocka_unit_test(a_set_and_a_tree_without_memory_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
