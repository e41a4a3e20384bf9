/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_lost - lost nodes: what their jobs are charged, which jobs are queued again, and which reports of a
 * node that is back still count. Times and figures as in ledger_rig.h: rate 2.5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"

#define SUM "SELECT SUM(charge_requested_ms) FROM rollups"
#define ATTEMPTS "SELECT SUM(charge_requested_ms) FROM attempts"
#define RATE_MS 2500

/* A job that runs on n1 and was reported with 40 s. */
static int64_t start_job(struct rig *r, const char *request)
{
	int64_t job = rig_job(r, NOON);

	if (request)
		assert_int_equal(db_run(r->store->db, NULL,
					"UPDATE jobs SET request = ?2 WHERE job = ?1", "it",
					job, request),
				 0);
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 40), NOON + 40 * S_NS);
	return job;
}

static const char again[] = "{\"requeue\": true}";

/* n1 is silent for long. Returns how many jobs were queued again. */
static int64_t lose_nodes(struct rig *r, int64_t now_ns, int64_t expected)
{
	struct store_lost_result lost = { 0 };

	assert_true(store_mark_lost_nodes(r->store, now_ns - 120 * S_NS, now_ns, NULL) >= 0);
	assert_int_equal(store_end_lost_jobs(r->store, now_ns, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, expected);
	return lost.n_requeued;
}

static void give_again(struct rig *r, int64_t job, int64_t now_ns)
{
	const struct store_allocation gift = { .job = job, .node = "n1" };
	const struct rig_sync hello = { .now_ns = now_ns };
	struct sync_result result;

	assert_int_equal(rig_send_sync(r, &hello, &result), 0);
	sync_result_done(&result);
	assert_int_equal(store_allocate(r->store, &gift, 1, now_ns, NULL), 0);
}

/* One report, in a list that shows the attempt so. How many refusals came. */
static size_t tell_back(struct rig *r, struct report rep, int64_t now_ns)
{
	const struct sync_job hold = { rep.job, rep.attempt, rep.state };
	const struct rig_sync say = {
		.reports = &rep, .n_reports = 1, .jobs = &hold, .n_jobs = 1, .now_ns = now_ns
	};
	struct sync_result result;
	size_t n;

	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_int_equal(result.n_acks, 1); /* the node may forget it */
	n = result.n_refusals;
	sync_result_done(&result);
	return n;
}

static void check_charge(struct rig *r, int64_t seconds)
{
	assert_int_equal(rig_number(r, SUM), seconds * RATE_MS);
	assert_int_equal(rig_number(r, ATTEMPTS), seconds * RATE_MS);
}

static void jobs_of_a_lost_node_end_charged_to_its_last_report(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, NULL);

	assert_int_equal(lose_nodes(r, NOON + 100 * S_NS, 0),
			 0); /* not silent for long enough */
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	assert_int_equal(lose_nodes(r, NOON + 200 * S_NS, 1), 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
	check_charge(r, 40);
	assert_int_equal(lose_nodes(r, NOON + 300 * S_NS, 0), 0); /* once */
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_ended) FROM rollups"), 1);
}

static void a_lost_job_that_runs_on_is_refused_and_its_time_is_not_charged(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, NULL);

	lose_nodes(r, NOON + 200 * S_NS, 1);
	assert_int_equal(tell_back(r, rig_report(job, 2, JOB_RUNNING, 250), NOON + 250 * S_NS),
			 1);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
	/* Killed for it: its final report is taken from the node and changes nothing. */
	assert_int_equal(tell_back(r, rig_report(job, 3, JOB_ENDED, 255), NOON + 256 * S_NS),
			 0);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
	check_charge(r, 40);
}

static void the_final_report_of_a_lost_job_decides_how_it_ended(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, NULL);
	struct report rep = rig_report(job, 2, JOB_ENDED, 60);

	lose_nodes(r, NOON + 200 * S_NS, 1);
	assert_int_equal(tell_back(r, rep, NOON + 250 * S_NS), 0);
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
	check_charge(r, 60);
	assert_int_equal(tell_back(r, rep, NOON + 251 * S_NS), 0); /* said twice */
	check_charge(r, 60);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_ended) FROM rollups"), 1);
}

/* While it cleans up it is shown as ending: that is no reason to refuse it. */
static void a_job_that_is_ending_is_waited_for(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, NULL);
	const struct sync_job hold = { job, 1, JOB_ENDING };
	const struct rig_sync say = { .jobs = &hold, .n_jobs = 1, .now_ns = NOON + 250 * S_NS };
	struct sync_result result;

	lose_nodes(r, NOON + 200 * S_NS, 1);
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_int_equal(result.n_refusals, 0);
	sync_result_done(&result);
	tell_back(r, rig_report(job, 2, JOB_ENDED, 60), NOON + 251 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
	check_charge(r, 60);
}

static int note_waiting(void *ctx, const struct store_waiting *w, struct err *err)
{
	int64_t **next = ctx;

	(void)err;
	*(*next)++ = w->job;
	return 0;
}

static void a_lost_job_with_requeue_is_queued_again_at_its_place(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, again), other;
	int64_t queue[4] = { 0 }, *next = queue;

	store_set_max_requeues(r->store, 3);
	other = rig_job(r, NOON + 50 * S_NS);
	/* The other one waits behind it, as if it had never been allocated. */
	assert_int_equal(
		db_run(r->store->db, NULL, "DELETE FROM attempts WHERE job = ?1", "i", other),
		0);
	assert_int_equal(db_run(r->store->db, NULL,
				"UPDATE jobs SET state = 0, node = NULL WHERE job = ?1", "i",
				other),
			 0);
	assert_int_equal(lose_nodes(r, NOON + 200 * S_NS, 1), 1);
	assert_int_equal(rig_load_job(r, job).state, JOB_QUEUED);
	assert_int_equal(store_waiting(r->store, "main", note_waiting, &next, NULL), 0);
	assert_int_equal(next - queue, 2);
	assert_int_equal(queue[0], job);
	assert_int_equal(rig_number(r, "SELECT submitted_ns FROM jobs ORDER BY job LIMIT 1"),
			 NOON);
	check_charge(r, 40);
	/* The next attempt is charged beside the first. */
	give_again(r, job, NOON + 300 * S_NS);
	assert_int_equal(rig_number(r, "SELECT attempt FROM jobs ORDER BY job LIMIT 1"), 2);
	struct report rep = rig_report(job, 1, JOB_RUNNING, 10);

	rep.attempt = 2;
	rep.started_ns += 300 * S_NS;
	rep.at_ns += 300 * S_NS;
	rig_send_report(r, rep, NOON + 310 * S_NS);
	check_charge(r, 50);
}

static void late_reports_of_a_former_attempt_change_nothing(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, again);

	store_set_max_requeues(r->store, 3);
	lose_nodes(r, NOON + 200 * S_NS, 1);
	/* It has even ended well: but the job is queued again, and runs again. */
	tell_back(r, rig_report(job, 2, JOB_ENDED, 60), NOON + 250 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_QUEUED);
	check_charge(r, 40);
	give_again(r, job, NOON + 300 * S_NS);
	assert_int_equal(tell_back(r, rig_report(job, 3, JOB_RUNNING, 300), NOON + 301 * S_NS),
			 1);
	assert_int_equal(rig_load_job(r, job).state, JOB_STARTING);
	check_charge(r, 40);
}

static void a_lost_job_is_queued_again_up_to_the_bound(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, again), now = NOON + 200 * S_NS;

	store_set_max_requeues(r->store, 2);
	for (int i = 0; i < 2; i++, now += 300 * S_NS) {
		assert_int_equal(lose_nodes(r, now, 1), 1);
		assert_int_equal(rig_load_job(r, job).state, JOB_QUEUED);
		give_again(r, job, now + S_NS);
	}
	assert_int_equal(lose_nodes(r, now, 1), 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 3);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs WHERE end LIKE"
				       " '%lost 3 nodes: MaxRequeues is 2%'"),
			 1);
}

static void a_lost_job_that_is_being_cancelled_is_not_queued_again(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, again);
	const struct store_desired_change change = { .job = job,
						     .want = DESIRED_CANCEL,
						     .reason = "cancelled by alice",
						     .now_ns = NOON + 50 * S_NS };
	char node[REQUEST_NAME_MAX];

	store_set_max_requeues(r->store, 3);
	assert_int_equal(store_set_desired(r->store, &change, node, NULL), 0);
	assert_int_equal(lose_nodes(r, NOON + 200 * S_NS, 1), 0);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
}

/* The node is back and reports its new boot: its figures are the later ones. */
static void a_reboot_that_the_node_reports_queues_its_jobs_again(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, again);
	struct report rep = rig_report(job, 2, JOB_ENDED, 44);

	store_set_max_requeues(r->store, 3);
	rep.end.kind = END_NODE_LOST;
	tell_back(r, rep, NOON + 100 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_QUEUED);
	check_charge(r, 44);
	tell_back(r, rep, NOON + 101 * S_NS);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM events WHERE what = 'requeue'"),
			 1);
	check_charge(r, 44);
}

static void a_reboot_that_the_controller_sees_queues_its_jobs_again_once(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r, again);
	const struct rig_sync say = { .boot = "b2", .now_ns = NOON + 100 * S_NS };
	struct sync_result result;

	store_set_max_requeues(r->store, 3);
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_true(result.has_freed);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).state, JOB_QUEUED);
	check_charge(r, 40);
}

/* The node's clock is set an hour ahead, then back, while the job runs: running time is of its
 * steady clock, and so is the charge. Then the node is lost, and comes back. */
static void a_clock_that_is_set_charges_nothing(void **state)
{
	static const int64_t steps_s[] = { 3600, -3600, 0, -3600, 3600 };
	struct rig *r = *state;
	int64_t job = start_job(r, NULL), ran_s = 40;

	for (size_t i = 0; i < ARRAY_LEN(steps_s); i++) {
		struct report rep = rig_report(job, 2 + (int64_t)i, JOB_RUNNING, ran_s += 10);

		rep.at_ns += steps_s[i] * S_NS;
		rig_send_report(r, rep, NOON + ran_s * S_NS);
		check_charge(r, ran_s);
	}
	lose_nodes(r, NOON + (ran_s + 200) * S_NS, 1);
	check_charge(r, ran_s);
	struct report rep = rig_report(job, 9, JOB_ENDED, ran_s + 5);

	rep.ended_ns -= 3600 * S_NS;
	tell_back(r, rep, NOON + (ran_s + 300) * S_NS);
	check_charge(r, ran_s + 5);
}

#define RIG(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(jobs_of_a_lost_node_end_charged_to_its_last_report),
		RIG(a_lost_job_that_runs_on_is_refused_and_its_time_is_not_charged),
		RIG(the_final_report_of_a_lost_job_decides_how_it_ended),
		RIG(a_job_that_is_ending_is_waited_for),
		RIG(a_lost_job_with_requeue_is_queued_again_at_its_place),
		RIG(late_reports_of_a_former_attempt_change_nothing),
		RIG(a_lost_job_is_queued_again_up_to_the_bound),
		RIG(a_lost_job_that_is_being_cancelled_is_not_queued_again),
		RIG(a_reboot_that_the_node_reports_queues_its_jobs_again),
		RIG(a_reboot_that_the_controller_sees_queues_its_jobs_again_once),
		RIG(a_clock_that_is_set_charges_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
