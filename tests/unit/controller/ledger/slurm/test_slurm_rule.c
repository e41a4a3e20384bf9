/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_slurm_rule - the rule for rows of Slurm: mended times, whose figures count, how attempts end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/ledger/slurm/rule.h"

#define NOW_S INT64_C(1800000000)
#define NOW_NS (NOW_S * S_NS)

static struct slurm_batch_job ended_job(int64_t start_s, int64_t end_s)
{
	struct slurm_batch_job j = { .job = 7,
				     .state = SLURM_BATCH_COMPLETED,
				     .nodes = "n[1-2]",
				     .node = "n1",
				     .submit_s = start_s - 5,
				     .start_s = start_s,
				     .end_s = end_s };

	return j;
}

static char note[RULE_NOTE_MAX];

static struct rule_times mend_now(const struct slurm_batch_job *j)
{
	return rule_mend(j, NOW_S, NOW_NS, note);
}

static void times_in_seconds_that_agree_are_used_unchanged(void **state)
{
	struct slurm_batch_job j = ended_job(NOW_S - 100, NOW_S - 40);
	struct rule_times t;

	(void)state;
	j.suspended_s = 10;
	t = mend_now(&j);
	assert_string_equal(note, "");
	assert_int_equal(t.start_ns, (NOW_S - 100) * S_NS);
	assert_int_equal(t.end_ns, (NOW_S - 40) * S_NS);
	assert_int_equal(t.running_ns, 50 * S_NS);
	assert_int_equal(t.suspended_ns, 10 * S_NS);
}

static void a_running_job_ran_up_to_when_slurm_said_so(void **state)
{
	struct slurm_batch_job j = ended_job(NOW_S - 100, 0);
	struct rule_times t;

	(void)state;
	j.state = SLURM_BATCH_RUNNING;
	t = rule_mend(&j, NOW_S - 30, NOW_NS, note);
	assert_int_equal(t.end_ns, 0);
	assert_int_equal(t.running_ns, 70 * S_NS);
	/* Slurm's clock is ahead. */
	t = rule_mend(&j, NOW_S + 30, NOW_NS, note);
	assert_int_equal(t.running_ns, 100 * S_NS);
	assert_string_equal(note, "");
}

/* Each row that contradicts itself: its times, the charge in seconds, and that a note says why. */
static void rows_that_contradict_are_mended_and_noted(void **state)
{
	static const struct {
		int64_t start_s, end_s, suspended_s, running_s;
		const char *nodes, *note;
	} cases[] = {
		{ NOW_S - 10, NOW_S - 60, 0, 0, "n1", "before it started" },
		{ 0, NOW_S - 60, 0, 0, "n1", "not from when" },
		{ NOW_S - 60, NOW_S - 10, 0, 0, "", "not where" },
		{ NOW_S - 60, NOW_S - 10, 90, 0, "n1", "suspended for longer" },
		{ NOW_S - 60, NOW_S + 4000, 0, 60, "n1", "end is in the future" },
		{ NOW_S + 4000, NOW_S + 5000, 0, 0, "n1", "start is in the future" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct slurm_batch_job j = ended_job(cases[i].start_s, cases[i].end_s);
		struct rule_times t;

		strcpy(j.nodes, cases[i].nodes);
		j.suspended_s = cases[i].suspended_s;
		t = mend_now(&j);
		assert_int_equal(t.running_ns, cases[i].running_s * S_NS);
		assert_true(t.end_ns >= t.start_ns && t.end_ns <= NOW_NS);
		assert_non_null(strstr(note, cases[i].note));
	}
}

static void a_job_cancelled_while_it_waited_needs_no_note(void **state)
{
	struct slurm_batch_job j = ended_job(NOW_S - 60, NOW_S - 60);

	(void)state;
	j.state = SLURM_BATCH_CANCELLED;
	j.nodes[0] = '\0';
	assert_int_equal(mend_now(&j).start_ns, 0);
	assert_string_equal(note, "");
}

static struct rule_decision decide_at(const struct slurm_batch_job *j, struct rule_known k,
				      int64_t now_s)
{
	const struct rule_times t = rule_mend(j, now_s, now_s * S_NS, note);

	return rule_decide(&t, &k, now_s * S_NS);
}

static void without_an_agent_slurms_seconds_count(void **state)
{
	const struct slurm_batch_job j = ended_job(NOW_S - 100, NOW_S - 40);
	const struct rule_decision d = decide_at(&j, (struct rule_known){ 0 }, NOW_S);

	(void)state;
	assert_int_equal(d.action, RULE_WRITE);
	assert_int_equal(d.times.running_ns, 60 * S_NS);
}

static void the_charge_waits_for_an_agent_that_reports(void **state)
{
	const struct slurm_batch_job j = ended_job(NOW_S - 100, NOW_S - 40);
	const struct rule_known there = { .is_agent_there = true };
	int64_t until_s = NOW_S - 40 + RULE_AGENT_WAIT_NS / S_NS;
	struct rule_decision d = decide_at(&j, there, until_s - 1);

	(void)state;
	assert_int_equal(d.action, RULE_WAIT);
	assert_int_equal(d.until_ns, until_s * S_NS);
	assert_int_equal(decide_at(&j, there, until_s).action, RULE_WRITE);
}

static void an_agents_report_is_not_overwritten(void **state)
{
	const struct slurm_batch_job j = ended_job(NOW_S - 100, NOW_S - 40);
	struct slurm_batch_job runs = ended_job(NOW_S - 100, 0);
	struct rule_known k = { .has_agent_report = true,
				.agent_start_ns = (NOW_S - 98) * S_NS + 500 * MS_NS };
	struct rule_decision d;

	(void)state;
	runs.state = SLURM_BATCH_RUNNING;
	assert_int_equal(decide_at(&runs, k, NOW_S + DAY_S).action, RULE_LEAVE);
	assert_int_equal(decide_at(&j, k, NOW_S).action, RULE_WAIT);
	/* Its last report never came: the end is Slurm's, the start stays the agent's. */
	d = decide_at(&j, k, NOW_S + HOUR_S);
	assert_int_equal(d.action, RULE_WRITE);
	assert_int_equal(d.times.start_ns, k.agent_start_ns);
	assert_int_equal(d.times.running_ns, 57 * S_NS + 500 * MS_NS);
	k.is_final = true;
	assert_int_equal(decide_at(&j, k, NOW_S + DAY_S).action, RULE_LEAVE);
}

static void every_state_has_an_end(void **state)
{
	static const enum job_end_kind kinds[_SLURM_BATCH_STATE_MAX] = {
		[SLURM_BATCH_COMPLETED] = END_EXITED,
		[SLURM_BATCH_FAILED] = END_EXITED,
		[SLURM_BATCH_CANCELLED] = END_CANCELLED,
		[SLURM_BATCH_TIMEOUT] = END_LIMIT,
		[SLURM_BATCH_NODE_FAIL] = END_NODE_LOST,
		[SLURM_BATCH_PREEMPTED] = END_CANCELLED,
		[SLURM_BATCH_BOOT_FAIL] = END_FAILED,
		[SLURM_BATCH_DEADLINE] = END_CANCELLED,
		[SLURM_BATCH_OUT_OF_MEMORY] = END_LIMIT,
		[SLURM_BATCH_REQUEUED] = END_CANCELLED,
		[SLURM_BATCH_UNKNOWN] = END_NODE_LOST,
	};
	struct slurm_batch_job j = ended_job(NOW_S - 100, NOW_S - 40);
	const struct rule_times t = mend_now(&j);

	(void)state;
	for (int s = SLURM_BATCH_COMPLETED; s < _SLURM_BATCH_STATE_MAX; s++) {
		if (s == SLURM_BATCH_REVOKED)
			continue;
		j.state = (enum slurm_batch_state)s;
		assert_int_equal(rule_end(&j, &t).kind, kinds[s]);
	}
	j.state = SLURM_BATCH_FAILED;
	j.signal = 9;
	assert_int_equal(rule_end(&j, &t).kind, END_SIGNALED);
	j.state = SLURM_BATCH_TIMEOUT;
	j.walltime_s = 60;
	assert_int_equal(rule_end(&j, &t).reason.limit, LIMIT_WALLTIME);
	assert_int_equal(rule_end(&j, &t).reason.requested, 60);
}

static void an_id_that_comes_again_is_a_requeue_or_another_job(void **state)
{
	struct rule_former former = { SLURM_BATCH_REQUEUED, NOW_S - 100 * DAY_S };
	const struct slurm_batch_job j = ended_job(NOW_S, NOW_S + 10);

	(void)state;
	assert_true(rule_is_next_attempt(&former, &j));
	former.state = SLURM_BATCH_COMPLETED;
	assert_false(rule_is_next_attempt(&former, &j));
	former.end_s = NOW_S - 60;
	assert_true(rule_is_next_attempt(&former, &j));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_in_seconds_that_agree_are_used_unchanged),
		cmocka_unit_test(a_running_job_ran_up_to_when_slurm_said_so),
		cmocka_unit_test(rows_that_contradict_are_mended_and_noted),
		cmocka_unit_test(a_job_cancelled_while_it_waited_needs_no_note),
		cmocka_unit_test(without_an_agent_slurms_seconds_count),
		cmocka_unit_test(the_charge_waits_for_an_agent_that_reports),
		cmocka_unit_test(an_agents_report_is_not_overwritten),
		cmocka_unit_test(every_state_has_an_end),
		cmocka_unit_test(an_id_that_comes_again_is_a_requeue_or_another_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
