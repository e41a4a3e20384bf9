/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_elapsed - the running time that a node reports is at most the time since the allocation. Times and
 * figures as in ledger_rig.h: rate 2.5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/attempts/bound/clock_step.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/restored.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"
#include "tests/unit/rig/parts_rig.h"

#define SUM "SELECT SUM(charge_requested_ms) FROM rollups"
#define CLAMPS "SELECT COUNT(*) FROM events WHERE what = 'clamp'"
#define RATE_MS 2500

static void running_time_is_at_most_the_time_since_the_allocation(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);

	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 3600), NOON + 12 * S_NS);
	assert_int_equal(rig_load_job(r, job).running_ns, 12 * S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 12 * RATE_MS);
	assert_int_equal(rig_number(r, SUM), 12 * RATE_MS);
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups"), 12000);
	assert_int_equal(
		rig_number(r, "SELECT SUM(text = 'node n1 reported 3600 s of running 12 s after"
			      " the job was dispatched to it: 12 s are charged') FROM events"
			      " WHERE what = 'clamp'"),
		1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts WHERE note LIKE"
				       " 'node n1 reported 3600 s of running 12 s after %'"),
			 1);
	/* As it is true later, it counts. */
	rig_send_report(r, rig_report(job, 2, JOB_RUNNING, 3600), NOON + 3600 * S_NS);
	assert_int_equal(rig_number(r, SUM), 3600 * RATE_MS);
}

static void the_last_report_is_bounded_too_and_the_job_ends(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);

	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 1000000), NOON + 30 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 30 * RATE_MS);
	assert_int_equal(rig_number(r, SUM), 30 * RATE_MS);
}

static int64_t step_clock(struct rig *r, const char *boot, int64_t wall_s, int64_t boot_s)
{
	struct store_clock now = { boot, wall_s * S_NS, boot_s * S_NS };
	struct err err;

	return store_clock_step(r->store, &now, &err);
}

/* A job that was dispatched by a clock an hour ahead is charged all the same. */
static void a_clock_that_is_set_back_takes_no_time_from_a_job(void **state)
{
	struct rig *r = *state;
	int64_t job, noon_s = NOON / S_NS;

	assert_int_equal(step_clock(r, "b1", noon_s + 3600, 100), 0);
	job = rig_job(r, NOON + 3600 * S_NS);
	assert_int_equal(step_clock(r, "b1", noon_s + 20, 120), 3600 * S_NS);
	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 18), NOON + 20 * S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 18 * RATE_MS);
	assert_int_equal(rig_number(r, CLAMPS), 0);
	assert_int_equal(step_clock(r, "b1", noon_s + 30, 130), 0);
}

static void a_clock_is_set_back_while_the_controller_is_away(void **state)
{
	struct rig *r = *state;
	int64_t noon_s = NOON / S_NS, job;

	assert_int_equal(step_clock(r, "b1", noon_s, 100), 0);
	job = rig_job(r, NOON);
	r->store->has_clock = false; /* as when it was opened */
	assert_int_equal(step_clock(r, "b1", noon_s - 50, 110), 60 * S_NS);
	assert_int_equal(rig_number(r, "SELECT given_ns FROM attempts"), NOON - 60 * S_NS);
	/* In another boot nothing is known; an ended job stays as it is. */
	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 1), NOON);
	r->store->has_clock = false;
	assert_int_equal(step_clock(r, "b2", noon_s - 5000, 1), 0);
	assert_int_equal(step_clock(r, "b2", noon_s - 9000, 1), 4000 * S_NS);
	assert_int_equal(rig_number(r, "SELECT given_ns FROM attempts"), NOON - 60 * S_NS);
}

/* What was dispatched after the backup counts as dispatched when that was made: an hour ahead, by the clock of then. */
static void
a_clock_that_is_set_back_takes_no_time_from_a_job_found_after_a_restore(void **state)
{
	struct rig *r = *state;
	int64_t noon_s = NOON / S_NS, ahead_ns = 3600 * S_NS, first_job, job;
	const struct store_restored how = { .taken_ns = NOON + ahead_ns,
					    .now_ns = NOON + ahead_ns + 5 * S_NS };
	struct err err;

	assert_int_equal(step_clock(r, "b1", noon_s + 3600, 100), 0);
	job = rig_job(r, NOON + ahead_ns);
	assert_int_equal(db_begin(r->store->db, &err), 0);
	assert_int_equal(db_run(r->store->db, &err, "DELETE FROM attempts", ""), 0);
	assert_int_equal(
		db_run(r->store->db, &err, "UPDATE jobs SET state = 0, attempt = 0", ""), 0);
	assert_int_equal(db_end(r->store->db,
				store_identity_restored(r->store, &how, &first_job, &err),
				&err),
			 0);
	rig_reopen(r);
	assert_int_equal(step_clock(r, "b1", noon_s + 20, 120), 3600 * S_NS);
	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 18), NOON + 20 * S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 18 * RATE_MS);
	assert_int_equal(rig_number(r, CLAMPS), 0);
}

static void a_clock_that_is_set_forward_or_drifts_changes_nothing(void **state)
{
	struct rig *r = *state;
	int64_t noon_s = NOON / S_NS;
	struct err err;

	assert_int_equal(step_clock(r, "b1", noon_s, 100), 0);
	rig_job(r, NOON);
	assert_int_equal(step_clock(r, "b1", noon_s + 7200, 200), 0);
	for (int i = 1; i <= 5000; i++) { /* half a millisecond a second */
		struct store_clock now = { "b1",
					   (noon_s + 7200 + i) * S_NS - i * INT64_C(500000),
					   (200 + i) * S_NS };

		assert_int_equal(store_clock_step(r->store, &now, &err), 0);
	}
	assert_int_equal(rig_number(r, "SELECT given_ns FROM attempts"), NOON);
}

static void suspended_time_is_bounded_by_what_running_leaves(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_SUSPENDED, 4);

	rep.suspended_ns = 5000 * S_NS;
	rig_send_report(r, rep, NOON + 10 * S_NS);
	assert_int_equal(rig_load_job(r, job).running_ns, 4 * S_NS);
	assert_int_equal(rig_load_job(r, job).suspended_ns, 6 * S_NS);
	rep.seq = 2;
	rep.running_ns = rep.suspended_ns = INT64_MAX;
	rig_send_report(r, rep, NOON + 20 * S_NS);
	assert_int_equal(rig_load_job(r, job).running_ns, 20 * S_NS);
	assert_int_equal(rig_load_job(r, job).suspended_ns, 6 * S_NS); /* never taken back */
	assert_int_equal(rig_number(r, SUM), 20 * RATE_MS);
}

/* 2 s and a thousandth of the time that has passed. */
static void clocks_that_differ_a_little_bound_nothing(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_RUNNING, 12);

	rig_send_report(r, rep, NOON + 10 * S_NS);
	assert_int_equal(rig_load_job(r, job).running_ns, 12 * S_NS);
	rig_send_report(r, rig_report(job, 2, JOB_RUNNING, 100102), NOON + 100000 * S_NS);
	assert_int_equal(rig_load_job(r, job).running_ns, 100102 * S_NS);
	assert_int_equal(rig_number(r, CLAMPS), 0);
	rig_send_report(r, rig_report(job, 3, JOB_RUNNING, 200203), NOON + 200000 * S_NS);
	assert_int_equal(rig_load_job(r, job).running_ns, 200000 * S_NS);
	assert_int_equal(rig_number(r, CLAMPS), 1);
}

static void a_node_that_repeats_a_wrong_time_is_logged_once(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);

	for (int64_t s = 1; s <= 50; s++)
		rig_send_report(r, rig_report(job, s, JOB_RUNNING, 100 * s), NOON + s * S_NS);
	assert_int_equal(rig_number(r, SUM), 50 * RATE_MS);
	assert_int_equal(rig_number(r, CLAMPS), 1);
	rig_send_report(r, rig_report(job, 51, JOB_ENDED, 9000), NOON + 51 * S_NS);
	assert_int_equal(rig_number(r, CLAMPS), 2); /* and of what was charged in the end */
}

/* The node's own clock, in started_ns, ended_ns and at_ns, is not believed for it. */
static void a_start_before_the_allocation_adds_no_time(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_ENDED, 86400);

	rep.started_ns = NOON - DAY_NS;
	rep.ended_ns = rep.at_ns = NOON + DAY_NS;
	rig_send_report(r, rep, NOON + 5 * S_NS);
	assert_int_equal(rig_number(r, SUM), 5 * RATE_MS);
}

/* The job is lost with n1 after 40 s, and allocated to it again at 300 s. */
static int64_t given_twice(struct rig *r, const char *request)
{
	struct store_lost_result lost = { 0 };
	const struct rig_sync hello = { .now_ns = NOON + 300 * S_NS };
	struct sync_result result;
	struct store_allocation gift = { .job = rig_job(r, NOON), .node = "n1" };

	store_set_max_requeues(r->store, 3);
	assert_int_equal(
		db_run(r->store->db, NULL, "UPDATE jobs SET request = ?1", "t", request), 0);
	rig_send_report(r, rig_report(gift.job, 1, JOB_RUNNING, 40), NOON + 40 * S_NS);
	assert_true(store_mark_lost_nodes(r->store, NOON + 80 * S_NS, NOON + 200 * S_NS,
					  NULL) >= 0);
	assert_int_equal(store_end_lost_jobs(r->store, NOON + 200 * S_NS, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, 1);
	assert_int_equal(rig_send_sync(r, &hello, &result), 0);
	sync_result_done(&result);
	if (lost.n_requeued)
		assert_int_equal(store_allocate(r->store, &gift, 1, hello.now_ns, NULL), 0);
	return gift.job;
}

static void each_attempt_is_bounded_by_its_own_allocation(void **state)
{
	struct rig *r = *state;
	struct report rep =
		rig_report(given_twice(r, "{\"requeue\": true}"), 1, JOB_RUNNING, 290);

	rep.attempt = 2;
	rig_send_report(r, rep, NOON + 310 * S_NS);
	assert_int_equal(rig_number(r, SUM), (40 + 10) * RATE_MS);
	assert_int_equal(rig_number(r, "SELECT running_ns FROM attempts WHERE attempt = 2"),
			 10 * S_NS);
}

/* A node that comes back may have run the job all the time, and not longer. */
static void a_late_report_of_a_lost_attempt_is_bounded(void **state)
{
	struct rig *r = *state;
	int64_t job = given_twice(r, "{}");

	rig_send_report(r, rig_report(job, 2, JOB_ENDED, 100000), NOON + 400 * S_NS);
	assert_int_equal(rig_number(r, SUM), 400 * RATE_MS);
}

static void every_node_of_a_job_on_several_is_bounded(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	struct report rep = parts_report(job, 2, JOB_RUNNING, 10);

	rep.running_ns = 7200 * S_NS;
	parts_send_report(r, 1, rep, NOON + 10 * S_NS);
	assert_int_equal(rig_number(r, "SELECT MAX(running_ns) FROM parts"), 10 * S_NS);
	parts_send_report(r, 0, rep, NOON + 10 * S_NS);
	assert_int_equal(parts_of_attempt(r, "running_ns"), 10 * S_NS);
	assert_int_equal(parts_of_attempt(r, "charge_requested_ms"), 60000);
	assert_int_equal(rig_number(r, CLAMPS), 2); /* of two nodes */
	parts_verify(r);
}

int main(void)
{
#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)
	const struct CMUnitTest tests[] = {
		RIG(running_time_is_at_most_the_time_since_the_allocation),
		RIG(the_last_report_is_bounded_too_and_the_job_ends),
		RIG(a_clock_that_is_set_back_takes_no_time_from_a_job),
		RIG(a_clock_is_set_back_while_the_controller_is_away),
		RIG(a_clock_that_is_set_back_takes_no_time_from_a_job_found_after_a_restore),
		RIG(a_clock_that_is_set_forward_or_drifts_changes_nothing),
		RIG(suspended_time_is_bounded_by_what_running_leaves),
		RIG(clocks_that_differ_a_little_bound_nothing),
		RIG(a_node_that_repeats_a_wrong_time_is_logged_once),
		RIG(a_start_before_the_allocation_adds_no_time),
		RIG(each_attempt_is_bounded_by_its_own_allocation),
		RIG(a_late_report_of_a_lost_attempt_is_bounded),
		RIG(every_node_of_a_job_on_several_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
