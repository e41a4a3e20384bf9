/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sim_qos - what a QOS does in a replay: the limits of each user in it at their edge, its
 * priority, its factor in what fairshare counts; and how a history with names becomes a trace.
 */
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
#include "controller/simulate/limits.h"
#include "controller/simulate/profile.h"
#include "controller/simulate/replay.h"

#define NONE ELIGIBLE_NO_LIMIT
#define JOBS_MAX 8

struct world {
	struct sim_trace trace;
	uint32_t of[JOBS_MAX];
	struct sim_times times[JOBS_MAX];
	uint32_t order[JOBS_MAX];
};

/* Jobs in the order of submission; user and group are one. */
struct row {
	int64_t submit_s, run_s;
	int32_t cores;
	const char *user;
	uint32_t qos; /* SIM_QOS_NONE */
};

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

/* When they start on one node of `cores`, as "0 10 5". */
static void expect_starts(struct world *w, struct sim_profile *p, int64_t cores,
			  const char *want)
{
	_cleanup_(sim_policy_done) struct sim_policy policy = { 0 };
	struct sim_replay r = { .trace = &w->trace,
				.cores = cores,
				.policy = &policy,
				.times = w->times,
				.order = w->order };
	struct err err = { "" };
	char got[256] = "";

	p->kinds[0] = (struct sim_nodes){ 1, cores };
	p->n_kinds = 1;
	p->qos.of = w->of;
	if (sim_profile_new(p, &w->trace, &policy, &err) < 0 || sim_replay_run(&r, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < w->trace.n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d", i ? " " : "",
			 (int)w->times[i].start_s);
	assert_string_equal(got, want);
}

static const struct sim_qos plain[] = { { "x", 0, SIM_MICRO, NONE, NONE } };

static void without_a_limit_nothing_is_counted(void **state)
{
	const struct row rows[] = { { 0, 10, 4, "a", 0 } };
	struct sim_limits *l = (void *)1;
	struct world w;

	(void)state;
	make_trace(&w, rows, 1);
	assert_int_equal(sim_limits_new(&w.trace, &(struct sim_qos_use){ plain, 1, w.of }, &l),
			 0);
	assert_null(l);
	sim_trace_done(&w.trace);
}

static void a_user_holds_exactly_the_limit_and_no_more_in_each_qos(void **state)
{
	static const struct sim_qos two[] = { { "x", 0, SIM_MICRO, 8, NONE },
					      { "y", 0, SIM_MICRO, NONE, 1 } };
	const struct row rows[] = {
		{ 0, 10, 4, "a", 0 },
		{ 0, 10, 4, "a", 0 },
		{ 0, 10, 1, "a", 0 },
		{ 0, 10, 8, "b", 0 },
		{ 0, 10, 1, "a", 1 },
		{ 0, 10, 1, "a", 1 },
		{ 0, 10, 9, "a", SIM_QOS_NONE },
	};
	_cleanup_(sim_limits_freep) struct sim_limits *l = NULL;
	struct world w;

	(void)state;
	make_trace(&w, rows, ARRAY_LEN(rows));
	assert_int_equal(sim_limits_new(&w.trace, &(struct sim_qos_use){ two, 2, w.of }, &l),
			 0);
	sim_limits_start(l, 0);
	assert_true(sim_limits_may_start(l, 1)); /* 8 of 8 */
	sim_limits_start(l, 1);
	assert_false(sim_limits_may_start(l, 2));
	assert_true(sim_limits_may_start(l, 3)); /* another user */
	assert_true(sim_limits_may_start(l, 4)); /* another QOS */
	assert_true(sim_limits_may_start(l, 6)); /* none */
	sim_limits_start(l, 4);
	assert_false(sim_limits_may_start(l, 5));
	sim_limits_suspend(l, 4); /* a suspended job is a job still */
	assert_false(sim_limits_may_start(l, 5));
	sim_limits_end(l, 4);
	assert_true(sim_limits_may_start(l, 5));
	sim_limits_suspend(l, 1); /* and has no cores in use */
	assert_true(sim_limits_may_start(l, 2));
	sim_limits_resume(l, 1);
	assert_false(sim_limits_may_start(l, 2));
	sim_limits_end(l, 0);
	assert_true(sim_limits_may_start(l, 2));
	sim_trace_done(&w.trace);
}

static void beyond_a_limit_a_job_waits_and_others_pass_it(void **state)
{
	static const struct sim_qos x[] = { { "x", 0, SIM_MICRO, 4, NONE } };
	const struct row rows[] = { { 0, 10, 4, "a", 0 },
				    { 0, 10, 4, "a", 0 },
				    { 1, 10, 4, "b", 0 },
				    { 2, 10, 4, "a", SIM_QOS_NONE } };
	struct sim_profile p = { .rule = SCHEDULE_PRIORITY, .qos = { x, 1, NULL } };
	struct world w;

	(void)state;
	make_trace(&w, rows, ARRAY_LEN(rows));
	expect_starts(&w, &p, 16, "0 10 1 2");
	p.qos = (struct sim_qos_use){ plain, 1, NULL };
	expect_starts(&w, &p, 16, "0 0 1 2"); /* without the limit */
	sim_trace_done(&w.trace);
}

static void the_higher_qos_starts_first_and_none_last(void **state)
{
	static const struct sim_qos two[] = { { "low", 10, SIM_MICRO, NONE, NONE },
					      { "high", 40, SIM_MICRO, NONE, NONE } };
	const struct row rows[] = { { 0, 10, 4, "a", SIM_QOS_NONE },
				    { 1, 10, 4, "a", SIM_QOS_NONE },
				    { 2, 10, 4, "a", 0 },
				    { 3, 10, 4, "a", 1 } };
	struct sim_profile p = { .rule = SCHEDULE_PRIORITY,
				 .qos = { two, 2, NULL },
				 .priority = { .weight = { [PRIORITY_QOS] = 1000 },
					       .max_age_s = 1,
					       .highest = { [PRIORITY_PARTITION] = 1,
							    [PRIORITY_QOS] = 40,
							    [PRIORITY_ASSOCIATION] = 1 } } };
	struct world w;

	(void)state;
	make_trace(&w, rows, ARRAY_LEN(rows));
	expect_starts(&w, &p, 4, "0 30 20 10");
	sim_trace_done(&w.trace);
}

/* a ran for 1000 s and b for 600: b has used less, unless a's counted half. */
static void usage_counts_by_the_factor_of_the_qos(void **state)
{
	static const struct sim_qos two[] = { { "half", 0, SIM_MICRO / 2, NONE, NONE },
					      { "free", 0, 0, NONE, NONE } };
	struct row rows[] = { { 0, 1000, 4, "a", SIM_QOS_NONE },
			      { 0, 600, 4, "b", SIM_QOS_NONE },
			      { 1, 1000, 4, "c", SIM_QOS_NONE },
			      { 2, 900, 4, "b", SIM_QOS_NONE },
			      { 2, 900, 4, "a", SIM_QOS_NONE } };
	struct sim_profile p = { .rule = SCHEDULE_PRIORITY,
				 .has_fairshare = true,
				 .qos = { two, 2, NULL },
				 .priority = { .weight = { [PRIORITY_FAIRSHARE] = 1000 },
					       .max_age_s = 1,
					       .highest = { [PRIORITY_PARTITION] = 1,
							    [PRIORITY_QOS] = 1,
							    [PRIORITY_ASSOCIATION] = 1 } } };
	struct world w;

	(void)state;
	make_trace(&w, rows, ARRAY_LEN(rows));
	expect_starts(&w, &p, 4, "0 1000 1600 2600 3500");
	rows[0].qos = 0; /* 500 s of a against 600 s of b */
	sim_trace_done(&w.trace);
	make_trace(&w, rows, ARRAY_LEN(rows));
	expect_starts(&w, &p, 4, "0 1000 1600 3500 2600");
	sim_trace_done(&w.trace);
	rows[0].qos = 1; /* free */
	make_trace(&w, rows, ARRAY_LEN(rows));
	expect_starts(&w, &p, 4, "0 1000 1600 3500 2600");
	sim_trace_done(&w.trace);
}

/* ---- names ---- */

static void a_history_keeps_its_names_and_what_is_no_job_is_counted(void **state)
{
	struct history_job j = { .number = 7,
				 .submit_s = 5,
				 .start_s = 10,
				 .end_s = 40,
				 .suspended_s = 10,
				 .ncpus = 2,
				 .ngpus = 1,
				 .walltime_s = 60,
				 .account = "physics",
				 .user = "alice",
				 .qos = "high" };
	char buf[SIM_NAME_MAX];
	struct sim_trace t;

	(void)state;
	sim_trace_init(&t);
	assert_int_equal(sim_trace_history(&t, &j, HISTORY_OK), 0);
	strcpy(j.qos, "");
	strcpy(j.user, "");
	assert_int_equal(sim_trace_history(&t, &j, HISTORY_OK), 0);
	strcpy(j.qos, "high");
	assert_int_equal(sim_trace_history(&t, &j, HISTORY_OK), 0);
	j.suspended_s = 30;
	assert_int_equal(sim_trace_history(&t, &j, HISTORY_OK), 0);
	j.suspended_s = 0;
	j.walltime_s = HISTORY_RUN_MAX + 1;
	assert_int_equal(sim_trace_history(&t, &j, HISTORY_OK), 0);
	for (enum history_why why = HISTORY_OK + 1; why < _HISTORY_WHY_MAX; why++)
		assert_int_equal(sim_trace_history(&t, &j, why), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(sim_trace_rejected(&t), 2 + _HISTORY_WHY_MAX - 1);
	assert_int_equal(t.with_gpus, 3);
	assert_int_equal(t.jobs[0].run_s, 20);
	assert_int_equal(t.jobs[0].estimate_s, 60);
	assert_string_equal(t.qos.texts[t.jobs[0].qos - 1], "high");
	assert_int_equal(t.jobs[1].qos, 0);
	assert_int_equal(t.jobs[2].qos, t.jobs[0].qos);
	assert_string_equal(sim_trace_group(&t, t.jobs[0].group, buf), "physics");
	assert_string_equal(sim_trace_user(&t, t.jobs[0].user, buf), "alice");
	assert_string_equal(sim_trace_user(&t, t.jobs[1].user, buf), "-");
	sim_trace_done(&t);
}

static void each_of_many_names_keeps_its_number(void **state)
{
	struct sim_names names = { 0 };
	uint32_t n;
	char name[16];

	(void)state;
	for (int again = 0; again < 2; again++)
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "u%u", i);
			assert_int_equal(sim_names_number(&names, name, &n), 0);
			assert_int_equal(n, i);
			assert_string_equal(names.texts[n], name);
		}
	assert_int_equal(names.n, 5000);
	sim_names_done(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_nothing_is_counted),
		cmocka_unit_test(a_user_holds_exactly_the_limit_and_no_more_in_each_qos),
		cmocka_unit_test(beyond_a_limit_a_job_waits_and_others_pass_it),
		cmocka_unit_test(the_higher_qos_starts_first_and_none_last),
		cmocka_unit_test(usage_counts_by_the_factor_of_the_qos),
		cmocka_unit_test(a_history_keeps_its_names_and_what_is_no_job_is_counted),
		cmocka_unit_test(each_of_many_names_keeps_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
