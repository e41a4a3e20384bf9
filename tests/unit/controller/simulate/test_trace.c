/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_trace - which lines of a history are jobs of a replay, at each bound; their order; the numbers of users and groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/simulate/trace.h"

struct fields {
	long long number, submit_s, run_s, cores, asked_s, uid, gid;
};

static void add_line(struct sim_trace *t, struct fields f)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "%lld %lld 3 %lld %lld -1 -1 4 %lld -1 1 %lld %lld 1 1 1 -1 -1", f.number,
		 f.submit_s, f.run_s, f.cores, f.asked_s, f.uid, f.gid);
	assert_int_equal(sim_trace_line(t, line, strlen(line)), 0);
}

static void each_figure_of_a_line_is_within_its_bounds(void **state)
{
	static const struct {
		struct fields f;
		enum sim_why why; /* _SIM_WHY_MAX: it is a job */
	} rows[] = {
		{ { 0, 0, 1, 1, -1, 0, 0 }, _SIM_WHY_MAX },
		{ { HISTORY_NUMBER_MAX, HISTORY_TIME_MAX, HISTORY_RUN_MAX, HISTORY_CORES_MAX,
		    HISTORY_RUN_MAX, 0, 0 },
		  _SIM_WHY_MAX },
		{ { HISTORY_NUMBER_MAX + 1, 0, 1, 1, 1, 0, 0 }, SIM_OUT_OF_RANGE },
		{ { -1, 0, 1, 1, 1, 0, 0 }, SIM_OUT_OF_RANGE },
		{ { 1, HISTORY_TIME_MAX + 1, 1, 1, 1, 0, 0 }, SIM_OUT_OF_RANGE },
		{ { 1, -1, 1, 1, 1, 0, 0 }, SIM_NO_SUBMIT },
		{ { 1, 0, HISTORY_RUN_MAX + 1, 1, 1, 0, 0 }, SIM_OUT_OF_RANGE },
		{ { 1, 0, 0, 1, 1, 0, 0 }, SIM_NO_RUN_TIME },
		{ { 1, 0, 1, HISTORY_CORES_MAX + 1, 1, 0, 0 }, SIM_OUT_OF_RANGE },
		{ { 1, 0, 1, 0, 1, 0, 0 }, SIM_NO_CORES },
		{ { 1, 0, 1, 1, HISTORY_RUN_MAX + 1, 0, 0 }, SIM_OUT_OF_RANGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(sim_trace_done) struct sim_trace t;

		sim_trace_init(&t);
		sim_trace_line(&t, "; x", 3);
		add_line(&t, rows[i].f);
		assert_int_equal(t.lines, 2);
		assert_int_equal(t.n, rows[i].why == _SIM_WHY_MAX);
		assert_int_equal(sim_trace_rejected(&t), rows[i].why != _SIM_WHY_MAX);
		for (int why = 0; why < _SIM_WHY_MAX; why++) {
			assert_int_equal(t.rejected[why], (int)rows[i].why == why);
			assert_int_equal(t.first_line[why], (int)rows[i].why == why ? 2 : 0);
		}
	}
}

static void a_job_has_the_figures_of_its_line(void **state)
{
	_cleanup_(sim_trace_done) struct sim_trace t;

	(void)state;
	sim_trace_init(&t);
	add_line(&t, (struct fields){ 7, 5, 100, 4, 50, 11, 22 });
	add_line(&t, (struct fields){ 8, 6, 100, 4, 101, 12, 22 });
	add_line(&t, (struct fields){ 9, 7, 100, 4, -1, 11, 23 });
	assert_int_equal(t.jobs[0].number, 7);
	assert_int_equal(t.jobs[0].submit_s, 5);
	assert_int_equal(t.jobs[0].run_s, 100);
	assert_int_equal(t.jobs[0].cores, 4);
	assert_int_equal(t.jobs[0].estimate_s, 100); /* never less than the run time */
	assert_int_equal(t.jobs[1].estimate_s, 101);
	assert_int_equal(t.jobs[2].estimate_s, 100);
	assert_int_equal(t.jobs[2].user, t.jobs[0].user);
	assert_int_equal(t.jobs[1].user, 1);
	assert_int_equal(t.jobs[1].group, 0);
	assert_int_equal(t.jobs[2].group, 1);
	assert_int_equal(t.jobs[2].row, 2);
}

/* Numbers of users as large clusters have them: a table that compares each with all takes minutes. */
static void many_users_keep_their_numbers(void **state)
{
	enum { MANY = 30000 };
	_cleanup_(sim_trace_done) struct sim_trace t;
	char buf[SIM_NAME_MAX];

	(void)state;
	sim_trace_init(&t);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < MANY; i++)
			add_line(&t, (struct fields){ i, 0, 1, 1, 1, 1000 + i, i % 10 });
	assert_int_equal(t.users.n, MANY);
	assert_int_equal(t.groups.n, 10);
	for (int i = 0; i < 2 * MANY; i++)
		assert_int_equal(t.jobs[i].user, i % MANY);
	assert_string_equal(sim_trace_user(&t, MANY - 1, buf), "u30999");
	assert_string_equal(sim_trace_group(&t, 9, buf), "g9");
}

static void jobs_are_in_the_order_of_submission_then_number(void **state)
{
	static const struct fields rows[] = {
		{ 3, 10, 1, 1, 1, 0, 0 }, { 2, 10, 1, 1, 1, 0, 0 }, { 9, 5, 1, 8, 1, 0, 0 },
		{ 8, 20, 1, 9, 1, 0, 0 }, { 1, 20, 1, 8, 1, 0, 0 }, { 1, 20, 1, 7, 1, 0, 0 }
	};
	static const int64_t numbers[] = { 9, 2, 3, 1, 1 };
	_cleanup_(sim_trace_done) struct sim_trace t;

	(void)state;
	sim_trace_init(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		add_line(&t, rows[i]);
	sim_trace_finish(&t, 8);
	assert_int_equal(t.n, 5);
	assert_int_equal(t.rejected[SIM_TOO_LARGE], 1);
	assert_int_equal(t.disordered, 2);
	for (size_t i = 0; i < t.n; i++)
		assert_int_equal(t.jobs[i].number, numbers[i]);
	assert_int_equal(t.jobs[3].cores, 8); /* of the same number: the first in the file */
	assert_int_equal(t.jobs[4].cores, 7);
}

static void the_header_says_how_large_the_machine_was(void **state)
{
	_cleanup_(sim_trace_done) struct sim_trace t;

	(void)state;
	sim_trace_init(&t);
	assert_int_equal(t.max_procs, -1);
	sim_trace_line(&t, "; MaxProcs: 0", 13);
	assert_int_equal(t.max_procs, -1);
	sim_trace_line(&t, "; MaxProcs: 1", 13);
	assert_int_equal(t.max_procs, 1);
	sim_trace_line(&t, "", 0);
	sim_trace_line(&t, "1 2 x", 5);
	assert_int_equal(t.lines, 4);
	assert_int_equal(t.rejected[SIM_GARBAGE], 1);
}

static void a_history_with_names_counts_by_its_reasons(void **state)
{
	struct history_job j = { .number = 1,
				 .submit_s = 1,
				 .start_s = 2,
				 .end_s = 12,
				 .ncpus = 3,
				 .walltime_s = -1,
				 .user = "ann",
				 .account = "phys" };
	_cleanup_(sim_trace_done) struct sim_trace t;
	char buf[SIM_NAME_MAX];

	(void)state;
	sim_trace_init(&t);
	assert_int_equal(sim_trace_history(&t, &j, HISTORY_OK), 0);
	assert_int_equal(t.jobs[0].run_s, 10);
	assert_int_equal(t.jobs[0].estimate_s, 10);
	assert_int_equal(t.jobs[0].qos, 0);
	j.suspended_s = 9;
	j.walltime_s = HISTORY_RUN_MAX;
	j.ngpus = 1;
	strcpy(j.qos, "long");
	assert_int_equal(sim_trace_history(&t, &j, HISTORY_OK), 0);
	assert_int_equal(t.jobs[1].run_s, 1);
	assert_int_equal(t.jobs[1].estimate_s, HISTORY_RUN_MAX);
	assert_int_equal(t.jobs[1].qos, 1);
	assert_int_equal(t.with_gpus, 1);
	j.walltime_s++;
	sim_trace_history(&t, &j, HISTORY_OK);
	assert_int_equal(t.rejected[SIM_OUT_OF_RANGE], 1);
	j.suspended_s = 10;
	sim_trace_history(&t, &j, HISTORY_OK);
	assert_int_equal(t.rejected[SIM_NO_RUN_TIME], 1);
	sim_trace_history(&t, &j, HISTORY_NO_CORES);
	assert_int_equal(t.rejected[SIM_NO_CORES], 1);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.lines, 5);
	assert_string_equal(sim_trace_user(&t, 0, buf), "ann");
	assert_string_equal(sim_trace_group(&t, 0, buf), "phys");
}

static void every_reason_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(sim_why_name(SIM_NO_RUN_TIME), "no-run-time");
	assert_string_equal(sim_why_name(SIM_GARBAGE), "garbage");
	assert_string_equal(sim_why_name(_SIM_WHY_MAX), "unknown");
	for (int i = 0; i < _SIM_WHY_MAX; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(sim_why_name((enum sim_why)i),
						sim_why_name((enum sim_why)k));
}

/* Beyond the first room for jobs, and the first one of each reason is noted once. */
static void a_large_trace_keeps_every_job_in_order(void **state)
{
	_cleanup_(sim_trace_done) struct sim_trace t;

	(void)state;
	sim_trace_init(&t);
	for (int i = 0; i < 10000; i++)
		add_line(&t, (struct fields){ i, 10000 - i, 1, i % 100 ? 1 : 0, 1, i % 7, 0 });
	assert_int_equal(t.rejected[SIM_NO_CORES], 100);
	assert_int_equal(t.first_line[SIM_NO_CORES], 1);
	sim_trace_finish(&t, 1);
	assert_int_equal(t.n, 9900);
	assert_int_equal(t.disordered, 9899);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.jobs[i].submit_s > t.jobs[i - 1].submit_s);
	assert_int_equal(t.users.n, 7);
}

static void the_machine_is_what_the_header_says(void **state)
{
	static const struct {
		const char *line;
		int64_t cores;
	} cases[] = {
		{ "; MaxProcs: 240", 240 },	{ ";MaxProcs:\t7 ", 7 },
		{ "; MaxProcs: -1", -1 },	{ "; MaxProcs: many", -1 },
		{ "; MaxProcs fields.", -1 },	{ "; MaxNodes: 12", -1 },
		{ "; Note: MaxProcs: 12", -1 }, { "; MaxProcs", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sim_trace t;

		sim_trace_init(&t);
		assert_int_equal(sim_trace_line(&t, cases[i].line, strlen(cases[i].line)), 0);
		assert_int_equal(t.max_procs, cases[i].cores);
		sim_trace_done(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_figure_of_a_line_is_within_its_bounds),
		cmocka_unit_test(a_job_has_the_figures_of_its_line),
		cmocka_unit_test(many_users_keep_their_numbers),
		cmocka_unit_test(jobs_are_in_the_order_of_submission_then_number),
		cmocka_unit_test(the_header_says_how_large_the_machine_was),
		cmocka_unit_test(a_history_with_names_counts_by_its_reasons),
		cmocka_unit_test(every_reason_has_a_name),
		cmocka_unit_test(a_large_trace_keeps_every_job_in_order),
		cmocka_unit_test(the_machine_is_what_the_header_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
