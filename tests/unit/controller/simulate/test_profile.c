/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_profile - a site's profile in a replay: whole nodes and one chunk of the rest, when priorities are computed again, when it
 * wakes without an event, and what suspension does to the times of jobs. */
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
#include "controller/simulate/profile.h"
#include "controller/simulate/replay.h"

#define JOBS_MAX 8
#define NONE ELIGIBLE_NO_LIMIT

struct world {
	struct sim_trace trace;
	uint32_t of[JOBS_MAX];
	struct sim_times times[JOBS_MAX];
	uint32_t order[JOBS_MAX];
};

struct row {
	int64_t submit_s, run_s;
	int32_t cores;
	const char *user;
	uint32_t qos;
};

static const struct sim_qos kinds_of_qos[] = { { "low", 0, SIM_MICRO, NONE, NONE },
					       { "high", 1, SIM_MICRO, NONE, NONE } };

static void make_trace(struct world *w, const struct row *rows, size_t n)
{
	*w = (struct world){ 0 };
	sim_trace_init(&w->trace);
	for (size_t i = 0; i < n; i++) {
		struct history_job j = { .number = (int64_t)i + 1,
					 .submit_s = rows[i].submit_s,
					 .start_s = rows[i].submit_s,
					 .end_s = rows[i].submit_s + rows[i].run_s,
					 .ncpus = rows[i].cores,
					 .walltime_s = -1 };

		snprintf(j.user, sizeof(j.user), "%s", rows[i].user);
		snprintf(j.account, sizeof(j.account), "%s", rows[i].user);
		assert_int_equal(sim_trace_history(&w->trace, &j, HISTORY_OK), 0);
		w->of[i] = rows[i].qos;
	}
	sim_trace_finish(&w->trace, 1000);
}

static void set_machine(struct sim_profile *p, int64_t n1, int64_t cores1, int64_t n2,
			int64_t cores2)
{
	p->kinds[0] = (struct sim_nodes){ n1, cores1 };
	p->kinds[1] = (struct sim_nodes){ n2, cores2 };
	p->n_kinds = n2 ? 2 : 1;
}

/* When they start, as "0 10 5". */
static void expect_starts(struct world *w, struct sim_profile *p, const char *want)
{
	_cleanup_(sim_policy_done) struct sim_policy policy = { 0 };
	struct sim_replay r = { .trace = &w->trace,
				.cores = 1000,
				.policy = &policy,
				.times = w->times,
				.order = w->order };
	struct err err = { "" };
	char got[256] = "";

	p->qos = (struct sim_qos_use){ kinds_of_qos, 2, w->of };
	if (sim_profile_new(p, &w->trace, &policy, &err) < 0 || sim_replay_run(&r, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < w->trace.n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d", i ? " " : "",
			 (int)w->times[i].start_s);
	assert_string_equal(got, want);
}

static void a_job_asks_for_whole_nodes_of_the_smallest_kind_and_one_rest(void **state)
{
	/* Three chunks of 6 and one of 1 leave 1 and 2 cores. */
	static const struct row rest[] = { { 0, 10, 19, "a", 0 },
					   { 0, 10, 3, "a", 0 },
					   { 0, 10, 2, "a", 0 } };
	/* A multiple of the node has no rest: all nodes are full with 3 x 6. */
	static const struct row whole[] = { { 0, 10, 18, "a", 0 }, { 0, 10, 1, "a", 0 } };
	struct sim_profile p = { .rule = SCHEDULE_PRIORITY };
	struct world w;

	(void)state;
	set_machine(&p, 2, 8, 1, 6);
	make_trace(&w, rest, 3);
	expect_starts(&w, &p, "0 10 0");
	sim_trace_done(&w.trace);
	set_machine(&p, 3, 6, 0, 0);
	make_trace(&w, whole, 2);
	expect_starts(&w, &p, "0 10");
	sim_trace_done(&w.trace);
}

static void a_machine_without_nodes_is_refused(void **state)
{
	static const struct row rows[] = { { 0, 10, 1, "a", 0 } };
	struct sim_profile p = { .rule = SCHEDULE_PRIORITY };
	struct sim_policy policy = { 0 };
	struct err err = { "" };
	struct world w;

	(void)state;
	make_trace(&w, rows, 1);
	assert_int_equal(sim_profile_new(&p, &w.trace, &policy, &err), -EINVAL);
	assert_string_equal(err.text, "the machine has no nodes");
	set_machine(&p, 0, 8, 0, 0);
	assert_int_equal(sim_profile_new(&p, &w.trace, &policy, &err), -EINVAL);
	p.rule = _SCHEDULE_RULE_MAX;
	set_machine(&p, 1, 8, 0, 0);
	assert_true(sim_profile_new(&p, &w.trace, &policy, &err) < 0);
	sim_trace_done(&w.trace);
}

/* The first that waits has all of its age at 600 s; the other, of the higher QOS, arrives then and
 * passes it at 700 s. Priorities are computed at 600 s, and again 300 s later. */
static void priorities_are_computed_again_after_their_time(void **state)
{
	struct row rows[] = { { 0, 899, 4, "a", 0 },
			      { 0, 50, 4, "a", 0 },
			      { 600, 50, 4, "a", 1 } };
	struct sim_profile p = {
		.rule = SCHEDULE_PRIORITY,
		.priority = { .weight = { [PRIORITY_AGE] = 600, [PRIORITY_QOS] = 500 },
			      .max_age_s = 600,
			      .highest = { [PRIORITY_PARTITION] = 1,
					   [PRIORITY_QOS] = 1,
					   [PRIORITY_ASSOCIATION] = 1 } }
	};
	struct world w;

	(void)state;
	set_machine(&p, 1, 4, 0, 0);
	make_trace(&w, rows, 3);
	expect_starts(&w, &p, "0 899 949");
	sim_trace_done(&w.trace);
	rows[0].run_s = 900;
	make_trace(&w, rows, 3);
	expect_starts(&w, &p, "0 950 900");
	p.rule = SCHEDULE_FIFO; /* priorities do not count */
	expect_starts(&w, &p, "0 900 950");
	sim_trace_done(&w.trace);
}

/* Four nodes of 4 cores. The sizes are half of nodes and half of cores, of the whole machine. */
static void the_size_of_a_job_counts_in_nodes_and_cores(void **state)
{
	static const struct row rows[] = { { 0, 100, 16, "a", 0 },
					   { 1, 10, 5, "a", 0 }, /* 2 nodes, 5 cores: 0.406 */
					   { 2, 10, 8, "a", 0 }, /* 2 nodes, 8 cores: 0.5 */
					   { 3, 10, 16, "a", 0 } };
	struct sim_profile p = { .rule = SCHEDULE_PRIORITY,
				 .priority = { .weight = { [PRIORITY_SIZE] = 1000 },
					       .max_age_s = 1,
					       .highest = { [PRIORITY_PARTITION] = 1,
							    [PRIORITY_QOS] = 1,
							    [PRIORITY_ASSOCIATION] = 1 } } };
	struct world w;

	(void)state;
	set_machine(&p, 4, 4, 0, 0);
	make_trace(&w, rows, 4);
	expect_starts(&w, &p, "0 110 110 100");
	assert_int_equal(w.order[2], 2); /* the larger first, of two that start together */
	assert_int_equal(w.order[3], 1);
	p.priority.size = PRIORITY_SMALL;
	expect_starts(&w, &p, "0 100 100 110");
	assert_int_equal(w.order[1], 1);
	assert_int_equal(w.order[2], 2);
	sim_trace_done(&w.trace);
}

static void suspended_jobs_go_on_when_the_large_one_has_ended(void **state)
{
	static const struct row rows[] = { { 0, 1000, 4, "s", 0 },
					   { 0, 1000, 4, "s", 0 },
					   { 0, 1000, 4, "s", 0 },
					   { 0, 1000, 4, "s", 0 },
					   { 10, 15, 16, "b", 0 } };
	struct sim_profile p = { .rule = SCHEDULE_PREEMPT };
	struct world w;

	(void)state;
	set_machine(&p, 1, 16, 0, 0);
	make_trace(&w, rows, 5);
	expect_starts(&w, &p, "0 0 0 0 10");
	for (int i = 0; i < 4; i++) {
		assert_int_equal(w.times[i].suspensions, 1);
		assert_int_equal(w.times[i].suspended_s, 15);
		assert_int_equal(w.times[i].end_s, 1015);
	}
	assert_int_equal(w.times[4].end_s, 25);
	sim_trace_done(&w.trace);
}

/* Does all that the policy decides now. Returns how many actions. */
static int take_all(struct sim_policy *p, int64_t now_s)
{
	struct sim_action a;
	int n = 0;

	while (p->ops->next(p->self, now_s, &a) == 1)
		n++;
	return n;
}

static void it_wakes_by_itself_where_jobs_wait_or_are_suspended(void **state)
{
	static const struct row rows[] = { { 0, 1000, 4, "s", 0 }, { 10, 15, 16, "b", 0 } };
	_cleanup_(sim_policy_done) struct sim_policy p = { 0 }, plain = { 0 };
	struct sim_profile profile = { .rule = SCHEDULE_PREEMPT };
	struct err err;
	struct world w;

	(void)state;
	set_machine(&profile, 1, 16, 0, 0);
	make_trace(&w, rows, 2);
	profile.qos = (struct sim_qos_use){ kinds_of_qos, 2, w.of };
	assert_int_equal(sim_profile_new(&profile, &w.trace, &p, &err), 0);
	assert_int_equal(p.ops->wake_s(p.self, 5), SIM_NEVER);
	assert_int_equal(take_all(&p, 0), 0);
	assert_int_equal(p.ops->arrive(p.self, 0, 0), 0);
	assert_int_equal(p.ops->wake_s(p.self, 5), 5 + SIM_WAKE_S);
	assert_int_equal(take_all(&p, 5), 1);
	assert_int_equal(p.ops->wake_s(p.self, 5), SIM_NEVER);
	assert_int_equal(p.ops->arrive(p.self, 1, 10), 0);
	assert_int_equal(take_all(&p, 10), 2); /* suspends the first, starts the second */
	assert_int_equal(p.ops->wake_s(p.self, 10), 10 + SIM_WAKE_S);
	assert_int_equal(p.ops->end(p.self, 1, 25), 0);
	assert_int_equal(take_all(&p, 25), 1);
	assert_int_equal(p.ops->wake_s(p.self, 25), SIM_NEVER);
	profile.rule = SCHEDULE_PRIORITY;
	assert_int_equal(sim_profile_new(&profile, &w.trace, &plain, &err), 0);
	assert_int_equal(plain.ops->arrive(plain.self, 0, 0), 0);
	assert_int_equal(plain.ops->wake_s(plain.self, 5), SIM_NEVER);
	sim_trace_done(&w.trace);
}

/* A suspended job has no cores in use, and has them again when it goes on: the limit of its user is reached then. */
static void suspension_counts_in_the_limits_of_a_user(void **state)
{
	static const struct sim_qos four[] = { { "four", 0, SIM_MICRO, 4, NONE },
					       { "any", 0, SIM_MICRO, NONE, NONE } };
	static const struct row rows[] = { { 0, 1000, 4, "s", 0 },
					   { 10, 15, 16, "b", 1 },
					   { 20, 10, 4, "s", 0 },
					   { 30, 10, 4, "s", 0 } };
	_cleanup_(sim_policy_done) struct sim_policy policy = { 0 };
	struct sim_profile p = { .rule = SCHEDULE_PREEMPT };
	struct sim_replay r;
	struct err err = { "" };
	struct world w;

	(void)state;
	set_machine(&p, 1, 16, 0, 0);
	make_trace(&w, rows, 4);
	p.qos = (struct sim_qos_use){ four, 2, w.of };
	r = (struct sim_replay){ .trace = &w.trace,
				 .cores = 16,
				 .policy = &policy,
				 .times = w.times,
				 .order = w.order };
	assert_int_equal(sim_profile_new(&p, &w.trace, &policy, &err), 0);
	assert_int_equal(sim_replay_run(&r, &err), 0);
	assert_int_equal(w.times[0].suspended_s, 15);
	assert_int_equal(w.times[1].start_s, 10);
	assert_int_equal(w.times[2].start_s, 25); /* with the first, which goes on then */
	assert_int_equal(w.times[3].start_s, 1015);
	sim_trace_done(&w.trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_asks_for_whole_nodes_of_the_smallest_kind_and_one_rest),
		cmocka_unit_test(a_machine_without_nodes_is_refused),
		cmocka_unit_test(priorities_are_computed_again_after_their_time),
		cmocka_unit_test(the_size_of_a_job_counts_in_nodes_and_cores),
		cmocka_unit_test(suspended_jobs_go_on_when_the_large_one_has_ended),
		cmocka_unit_test(it_wakes_by_itself_where_jobs_wait_or_are_suspended),
		cmocka_unit_test(suspension_counts_in_the_limits_of_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
