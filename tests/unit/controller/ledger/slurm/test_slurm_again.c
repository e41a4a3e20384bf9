/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_slurm_again - an attempt that slurmctld starts once more, since it died before it saved that it had: two runs, each charged once, in whatever
 * order agent and Slurm are heard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/slurm_rig.h"
#include "tests/unit/rig/verify_rig.h"

/* The first run, which has ended, and the second, which runs for 5 s: at `state`. */
static struct rig_said first_run(void)
{
	struct rig_said w = rig_said_of(7, NOON);

	w.seq = 1;
	w.running_s = 10;
	w.state = JOB_ENDED;
	return w;
}

static struct rig_said second_run(enum job_state state)
{
	struct rig_said w = rig_said_of(7, NOON + 40 * S_NS);

	w.seq = 2;
	w.running_s = 5;
	w.state = state;
	return w;
}

/* What Slurm says of the attempt, on the agent's node, at `at_s`. Times: seconds after noon; end_s 0: it runs. */
static void say_start(struct rig *r, int64_t at_s, int64_t start_s, int64_t end_s)
{
	struct slurm_batch_job row = rig_slurm_row(
		7, end_s ? SLURM_BATCH_COMPLETED : SLURM_BATCH_RUNNING, start_s, end_s);
	const struct slurm_batch b = { .cluster = "east",
				       .source = end_s ? SLURM_BATCH_SLURMDBD
						       : SLURM_BATCH_SLURMCTLD,
				       .at_s = NOON_S + at_s,
				       .jobs = &row,
				       .n_jobs = 1 };
	const struct store_slurm_from from = { .now_ns = NOON + at_s * S_NS,
					       .forgotten_ns = HOUR_NS,
					       .lost_ns = 120 * S_NS,
					       .price = rig_set_price };
	struct store_slurm_result result;
	struct err err = { "" };

	row.attempt = 1;
	row.submit_s = NOON_S - 1;
	strcpy(row.nodes, "e1");
	strcpy(row.node, "e1");
	if (store_slurm_batch(r->store, &b, &from, &result, &err) < 0)
		fail_msg("%s", err.text);
	store_slurm_result_done(&result);
}

static void say_second_start(struct rig *r, int64_t at_s, int64_t end_s)
{
	say_start(r, at_s, 40, end_s);
}

/* reeve-slurm follows the cluster: an agent's first report of a job waits for it. */
static void follow_cluster(struct rig *r, struct rig_said *first, struct rig_said *second)
{
	assert_int_equal(
		db_run(r->store->db, NULL,
		       "INSERT INTO slurm_marks(origin, mark_s, live_ns) VALUES(1, 1, ?1)"
		       " ON CONFLICT(origin) DO UPDATE SET live_ns = ?1",
		       "i", NOON + 60 * S_NS),
		0);
	first->now_ns = second->now_ns = NOON + 61 * S_NS;
}

/* Two jobs, of 10 s and of 5 s, each charged for its 2 cores; Slurm's row is that of the second. */
static void assert_both_are_charged(struct rig *r)
{
	const int64_t first = store_slurm_number(1, 0, 7), second = store_slurm_number(1, 1, 7);

	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 2);
	assert_int_equal(rig_load_job(r, first).running_ns, 10 * S_NS);
	assert_int_equal(rig_load_job(r, second).running_ns, 5 * S_NS);
	assert_int_equal(rig_load_job(r, first).charge_requested_ms, 20000);
	assert_int_equal(rig_load_job(r, second).charge_requested_ms, 10000);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM slurm_attempts"), 1);
	assert_int_equal(rig_number(r, "SELECT job FROM slurm_attempts"), second);
	assert_int_equal(rig_count_differences(r), 0);
}

/* The answer to its report was lost, and Slurm's row has made the second run's job meanwhile. */
static void the_first_run_said_again_is_not_the_second(void **state)
{
	struct rig *r = *state;
	struct rig_said first = first_run(), again = first_run(),
			second = second_run(JOB_ENDED);

	rig_send_said(r, &first);
	say_start(r, 5, 0, 0);
	say_second_start(r, 41, 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 2);
	rig_send_said(r, &again);
	assert_int_equal(again.job, first.job);
	assert_int_equal(again.n_acks, 1);
	rig_send_said(r, &second);
	assert_int_equal(second.job, store_slurm_number(1, 1, 7));
	rig_send_said(r, &again);
	assert_int_equal(again.job, first.job);
	say_second_start(r, 60, 45);
	assert_both_are_charged(r);
}

/* The controller was away from before the first run until the second one ran. */
static void both_runs_may_come_after_slurms_word_on_the_second_start(void **state)
{
	struct rig *r = *state;
	struct rig_said first = first_run(), second = second_run(JOB_ENDED);

	say_second_start(r, 41, 0);
	follow_cluster(r, &first, &second);
	rig_send_said(r, &first);
	rig_send_said(r, &second);
	say_second_start(r, 60, 45);
	assert_both_are_charged(r);
}

/* It went away while the first one ran. */
static void both_runs_may_come_after_the_first_was_known(void **state)
{
	struct rig *r = *state;
	struct rig_said running = first_run(), first = first_run(),
			second = second_run(JOB_ENDED);

	running.state = JOB_RUNNING;
	running.running_s = 3;
	rig_send_said(r, &running);
	say_start(r, 5, 0, 0);
	say_second_start(r, 41, 0);
	follow_cluster(r, &first, &second);
	first.seq = 2;
	rig_send_said(r, &first);
	assert_int_equal(first.job, running.job);
	second.seq = 3;
	rig_send_said(r, &second);
	say_second_start(r, 60, 45);
	assert_both_are_charged(r);
}

/* ... until the second one had ended, as slurmdbd says first. */
static void both_runs_may_come_after_slurms_word_on_the_second_end(void **state)
{
	struct rig *r = *state;
	struct rig_said first = first_run(), second = second_run(JOB_ENDED);

	say_second_start(r, 60, 45);
	follow_cluster(r, &first, &second);
	rig_send_said(r, &first);
	rig_send_said(r, &second);
	assert_both_are_charged(r);
}

/* ... and so long that Slurm's seconds were charged. */
static void both_runs_may_come_after_slurms_seconds_are_charged(void **state)
{
	struct rig *r = *state;
	struct rig_said first = first_run(), second = second_run(JOB_ENDED);

	say_second_start(r, 60, 45);
	say_second_start(r, 900, 45);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM attempts"), 10000);
	rig_send_said(r, &first);
	rig_send_said(r, &second);
	assert_both_are_charged(r);
}

/* Of two nodes, each by its own clock, in whatever order. */
static void a_job_on_two_nodes_has_both_runs_on_each(void **state)
{
	struct rig *r = *state;

	for (int order = 0; order < 2; order++) {
		struct rig_said all[] = { first_run(), first_run(), second_run(JOB_ENDED),
					  second_run(JOB_ENDED), first_run() };

		for (size_t i = 0; i < 5; i++) {
			struct rig_said *w = &all[i];

			w->told.job = 7 + order;
			w->told.nodes = 2;
			w->node = (i == 1 || i == 4 || (i == 2 && order) || (i == 3 && !order))
					  ? "e2"
					  : "e1";
			w->told.started_ns += i == 1 || i == 4 ? 300 * MS_NS : 0;
			rig_send_said(r, w);
			assert_int_equal(w->n_acks, 1);
		}
		assert_int_equal(all[0].job, store_slurm_number(1, 0, 7 + order));
		assert_int_equal(all[1].job, all[0].job);
		assert_int_equal(all[2].job, store_slurm_number(1, 1, 7 + order));
		assert_int_equal(all[3].job, all[2].job);
		assert_int_equal(all[4].job, all[0].job);
		assert_int_equal(rig_load_job(r, all[0].job).running_ns, 10 * S_NS);
		assert_int_equal(rig_load_job(r, all[2].job).running_ns, 5 * S_NS);
	}
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 4);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM parts WHERE seq > 0"), 8);
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(the_first_run_said_again_is_not_the_second),
		RIG(both_runs_may_come_after_slurms_word_on_the_second_start),
		RIG(both_runs_may_come_after_the_first_was_known),
		RIG(both_runs_may_come_after_slurms_word_on_the_second_end),
		RIG(both_runs_may_come_after_slurms_seconds_are_charged),
		RIG(a_job_on_two_nodes_has_both_runs_on_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
