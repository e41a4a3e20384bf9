/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_parts_end - how jobs on several nodes end: by their command, by a cancel, by one of their parts, or
 * with a node; the ledger recomputes afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/utf8.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/verify/verify.h"
#include "tests/unit/rig/fail_vfs.h"
#include "tests/unit/rig/parts_rig.h"

/* ---- ends ---- */

static int see_end(void *ctx, const struct store_job *j, struct err *err)
{
	(void)err;
	snprintf(ctx, 2048, "%s", j->end ? j->end : "");
	return 0;
}

static void one_kill_for_the_whole_job_when_a_part_exceeds(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	char end[2048];
	struct parts_desired t;

	assert_true(
		parts_send_report(r, 1, parts_ended(job, 2, END_LIMIT, 5), NOON + 5 * S_NS));
	t = parts_get_desired(r, 0);
	assert_int_equal(t.g.want, DESIRED_CANCEL);
	if (!strstr(t.reason, "node n2") || !strstr(t.reason, "vmem limit exceeded"))
		fail_msg("%s", t.reason);
	assert_int_equal(parts_get_desired(r, 2).g.want, DESIRED_CANCEL);
	assert_int_equal(parts_get_desired(r, 1).n, 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	/* Another one that ends so later is not the reason. */
	parts_send_report(r, 2, parts_ended(job, 2, END_SIGNALED, 5), NOON + 6 * S_NS);
	parts_send_report(r, 0, parts_ended(job, 2, END_CANCELLED, 6), NOON + 6 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_LIMIT);
	assert_int_equal(parts_of_attempt(r, "end_kind"), END_LIMIT);
	assert_int_equal(store_job(r->store, job, see_end, end, NULL), 0);
	assert_non_null(strstr(end, "\"host\":\"n2\""));
	parts_verify(r);
}

/* A part's sentence is cut to go into the whole job's: never within a character, which JSON and
 * PostgreSQL refuse, and with it all that its node says. */
static void a_reason_in_any_alphabet_is_cut_between_characters(void **state)
{
	struct rig *r = *state;

	for (int shift = 0; shift < 2; shift++) {
		int64_t job = parts_running(r, false);
		struct report rep = parts_ended(job, 2, END_FAILED, 5);
		char *text = rep.end.reason.text;
		struct parts_desired t;

		memset(text, 'x', (size_t)shift);
		for (int i = 0; i < 100; i++)
			strcpy(text + shift + 2 * i, "\xd0\x96");
		assert_true(parts_send_report(r, 1, rep, NOON + 5 * S_NS));
		t = parts_get_desired(r, 0);
		assert_int_equal(t.g.want, DESIRED_CANCEL);
		assert_non_null(strstr(t.reason, "\xd0\x96"));
		assert_true(utf8_is_valid(t.reason));
		parts_send_report(r, 2, parts_ended(job, 2, END_CANCELLED, 5), NOON + 6 * S_NS);
		parts_send_report(r, 0, parts_ended(job, 2, END_CANCELLED, 6), NOON + 6 * S_NS);
		assert_int_equal(rig_load_job(r, job).end, END_FAILED);
	}
}

static void the_end_of_the_command_does_not_replace_the_reason_of_the_job(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	parts_send_report(r, 1, parts_ended(job, 2, END_SIGNALED, 5), NOON + 5 * S_NS);
	parts_send_report(r, 0, parts_ended(job, 2, END_EXITED, 6), NOON + 6 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
}

static struct report make_exit(int64_t job, int64_t seq, int32_t status)
{
	struct report rep = parts_ended(job, seq, END_EXITED, 6);

	rep.end.exit_status = status;
	return rep;
}

/* Node n1 says it: is it acknowledged? */
static bool is_taken(struct rig *r, struct report rep, int64_t now_ns)
{
	const struct sync_job listed = { rep.job, rep.attempt, rep.state };
	const struct parts_sync what = { .listed = &listed, .report = &rep, .now_ns = now_ns };
	struct sync_result out;
	size_t n;

	parts_send_sync(r, &what, &out);
	assert_int_equal(out.n_refusals, 0);
	n = out.n_acks;
	sync_result_done(&out);
	return n == 1;
}

static void an_mpi_that_misses_a_rank_is_not_the_reason(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	parts_send_report(r, 1, parts_ended(job, 2, END_LIMIT, 5), NOON + 5 * S_NS);
	assert_true(is_taken(r, make_exit(job, 2, 205), NOON + 6 * S_NS));
	assert_int_equal(rig_load_job(r, job).end, END_LIMIT);
	parts_send_report(r, 2, parts_ended(job, 2, END_CANCELLED, 5), NOON + 6 * S_NS);
	parts_verify(r);
}

/* The end of the first node comes before the word of the one that exceeded. */
static void the_end_of_part_0_waits_for_the_reason_of_another_part(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	assert_false(is_taken(r, make_exit(job, 2, 205), NOON + 6 * S_NS));
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	for (int i = 1; i < 3; i++)
		assert_int_equal(parts_get_desired(r, i).g.want, DESIRED_CANCEL);
	parts_send_report(r, 2, parts_ended(job, 2, END_CANCELLED, 5), NOON + 6 * S_NS);
	assert_false(is_taken(r, make_exit(job, 2, 205), NOON + 7 * S_NS));
	parts_send_report(r, 1, parts_ended(job, 2, END_LIMIT, 5), NOON + 7 * S_NS);
	assert_true(is_taken(r, make_exit(job, 2, 205), NOON + 8 * S_NS));
	assert_int_equal(rig_load_job(r, job).end, END_LIMIT);
	assert_true(is_taken(r, make_exit(job, 2, 205), NOON + 9 * S_NS));
	parts_verify(r);
}

static void without_another_reason_the_end_of_the_command_counts(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	assert_false(is_taken(r, make_exit(job, 2, 7), NOON + 6 * S_NS));
	for (int i = 1; i < 3; i++)
		parts_send_report(r, i, parts_ended(job, 2, END_CANCELLED, 5), NOON + 6 * S_NS);
	assert_true(is_taken(r, make_exit(job, 2, 7), NOON + 7 * S_NS));
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
	assert_int_equal(parts_of_attempt(r, "exit_status"), 7);
	parts_verify(r);
}

static void the_wait_for_other_parts_has_a_bound(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	assert_false(is_taken(r, make_exit(job, 2, 7), NOON + 6 * S_NS));
	assert_false(is_taken(r, make_exit(job, 2, 7), NOON + 15 * S_NS));
	assert_true(is_taken(r, make_exit(job, 2, 7), NOON + 16 * S_NS));
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
}

static void a_command_that_exits_with_0_waits_for_no_other_part(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	assert_true(is_taken(r, make_exit(job, 2, 0), NOON + 6 * S_NS));
	parts_send_report(r, 1, parts_ended(job, 2, END_LIMIT, 5), NOON + 7 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
}

static void when_part_0_ends_the_other_parts_are_cancelled(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	assert_true(
		parts_send_report(r, 0, parts_ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS));
	assert_int_equal(parts_get_desired(r, 0).n, 0);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(parts_get_desired(r, i).g.want, DESIRED_CANCEL);
		assert_string_equal(parts_get_desired(r, i).reason, "the job has ended");
	}
}

static void a_part_that_cannot_start_ends_the_job_before_part_0_starts(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_submit(r, false);

	parts_allocate(r, job, NOON);
	assert_true(parts_send_report(r, 2, parts_ended(job, 1, END_FAILED, 0), NOON + S_NS));
	assert_int_equal(parts_get_desired(r, 0).n, 1);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_CANCEL);
	assert_int_equal(parts_get_desired(r, 1).g.want, DESIRED_CANCEL);
	parts_send_report(r, 0, parts_ended(job, 1, END_CANCELLED, 0), NOON + 2 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_FAILED);
	assert_int_equal(parts_of_attempt(r, "charge_requested_ms"), 0);
}

static void desired_states_reach_every_node(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	parts_set_desired(r, job, DESIRED_SUSPEND, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(parts_get_desired(r, i).g.want, DESIRED_SUSPEND);
	parts_list_job(r, 1, job, JOB_SUSPENDED, NOON + 4 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	assert_int_equal(parts_cores_in_use(r, 1), 0);
	assert_int_equal(parts_cores_in_use(r, 0), 2);
	parts_list_job(r, 0, job, JOB_SUSPENDED, NOON + 4 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_SUSPENDED);
	parts_set_desired(r, job, DESIRED_RUN, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(parts_cores_in_use(r, i), 2);
	parts_set_desired(r, job, DESIRED_CANCEL, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(parts_get_desired(r, i).g.want, DESIRED_CANCEL);
}

static void a_job_cancelled_before_part_0_started_ends_everywhere(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_submit(r, false);

	parts_allocate(r, job, NOON);
	parts_set_desired(r, job, DESIRED_CANCEL, 0);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_CANCEL);
	/* A part that dies of another signal than the order's has no other reason. */
	parts_send_report(r, 1, parts_ended(job, 1, END_SIGNALED, 0), NOON + 2 * S_NS);
	parts_send_report(r, 0, parts_ended(job, 1, END_CANCELLED, 0), NOON + 2 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_CANCELLED);
}

/* ---- nodes that are lost ---- */

/* Of three nodes the second is silent. */
static void lose_n2(struct rig *r, int64_t expected)
{
	struct store_lost_result lost = { 0 };

	assert_true(store_mark_lost_nodes(r->store, NOON + 100 * S_NS, NOON + 200 * S_NS,
					  NULL) >= 0);
	assert_int_equal(store_end_lost_jobs(r->store, NOON + 200 * S_NS, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, expected);
}

static int64_t with_n2_lost(struct rig *r, bool requeue)
{
	int64_t job = parts_running(r, requeue);

	store_set_max_requeues(r->store, 3);
	for (int i = 0; i < 3; i++)
		parts_send_report(r, i, parts_report(job, 2, JOB_RUNNING, 10),
				  NOON + (i == 1 ? 10 : 150) * S_NS);
	lose_n2(r, 1);
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_CANCEL);
	assert_int_equal(parts_get_desired(r, 2).g.want, DESIRED_CANCEL);
	lose_n2(r, 0); /* once */
	return job;
}

static void a_lost_node_ends_the_job_of_all(void **state)
{
	struct rig *r = *state;
	int64_t job = with_n2_lost(r, false);
	const struct sync_job listed = { job, 1, JOB_RUNNING };
	const struct parts_sync back = { .node = 1,
					 .listed = &listed,
					 .now_ns = NOON + 250 * S_NS };
	struct sync_result out;

	parts_send_report(r, 0, parts_ended(job, 3, END_CANCELLED, 12), NOON + 201 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
	/* It is back and shows its part still: refused. What it says then is nothing. */
	parts_send_sync(r, &back, &out);
	assert_int_equal(out.n_refusals, 1);
	sync_result_done(&out);
	parts_send_report(r, 1, parts_ended(job, 3, END_CANCELLED, 200), NOON + 251 * S_NS);
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"), 32 * S_NS);
	parts_verify(r);
}

static void a_job_with_requeue_is_queued_again_after_losing_a_node(void **state)
{
	struct rig *r = *state;
	int64_t job = with_n2_lost(r, true);

	parts_send_report(r, 0, parts_ended(job, 3, END_CANCELLED, 12), NOON + 201 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_QUEUED);
	assert_int_equal(parts_of_attempt(r, "end_kind"), END_NODE_LOST);
	/* The former attempt's other node still gets the order, and its report adds nothing. */
	assert_int_equal(parts_get_desired(r, 2).g.want, DESIRED_CANCEL);
	assert_int_equal(parts_cores_in_use(r, 2), 2);
	parts_send_report(r, 2, parts_ended(job, 3, END_CANCELLED, 90), NOON + 202 * S_NS);
	assert_int_equal(parts_cores_in_use(r, 2), 0);
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"), 32 * S_NS);
	parts_allocate(r, job, NOON + 300 * S_NS);
	assert_int_equal(rig_number(r, "SELECT MAX(attempt) FROM parts"), 2);
	assert_int_equal(parts_get_desired(r, 1).g.attempt, 2);
	assert_int_equal(parts_get_desired(r, 1).g.want, DESIRED_RUN);
	parts_verify(r);
}

static void a_job_may_be_cancelled_before_it_is_queued_again(void **state)
{
	struct rig *r = *state;
	int64_t job = with_n2_lost(r, true);

	parts_set_desired(r, job, DESIRED_CANCEL, 0);
	parts_send_report(r, 0, parts_ended(job, 3, END_CANCELLED, 12), NOON + 201 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, job).end, END_CANCELLED);
}

static void losing_the_node_of_part_0_ends_the_job(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	struct store_lost_result lost = { 0 };

	for (int i = 1; i < 3; i++)
		parts_send_report(r, i, parts_report(job, 2, JOB_RUNNING, 10),
				  NOON + 150 * S_NS);
	store_mark_lost_nodes(r->store, NOON + 100 * S_NS, NOON + 200 * S_NS, NULL);
	assert_int_equal(store_end_lost_jobs(r->store, NOON + 200 * S_NS, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, 1);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(parts_get_desired(r, i).g.want, DESIRED_CANCEL);
		parts_send_report(r, i, parts_ended(job, 3, END_CANCELLED, 11),
				  NOON + 201 * S_NS);
	}
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"), 22 * S_NS);
	parts_verify(r);
}

/* A part had brought it down already: that is why it ended, and no reason to start it again. */
static void losing_the_node_of_part_0_while_the_job_ends_keeps_the_reason(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, true);
	struct store_lost_result lost = { 0 };

	store_set_max_requeues(r->store, 3);
	parts_send_report(r, 1, parts_ended(job, 2, END_LIMIT, 5), NOON + 150 * S_NS);
	parts_sync_empty(r, 2, NOON + 150 * S_NS);
	store_mark_lost_nodes(r->store, NOON + 100 * S_NS, NOON + 200 * S_NS, NULL);
	assert_int_equal(store_end_lost_jobs(r->store, NOON + 200 * S_NS, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, 1);
	assert_int_equal(lost.n_requeued, 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, job).end, END_LIMIT);
	parts_verify(r);
}

/* A job that depends on its good end depends on its command, which was stopped. */
static void a_part_that_ends_by_itself_is_no_success_of_the_job(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	parts_send_report(r, 1, parts_ended(job, 2, END_EXITED, 5), NOON + 5 * S_NS);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_CANCEL);
	parts_send_report(r, 0, parts_ended(job, 2, END_CANCELLED, 5), NOON + 6 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
	assert_int_equal(parts_of_attempt(r, "exit_status"), -1);
}

/* Its agent has lost its records, and found what runs there: it gets its jobs again. */
static void a_part_that_its_agent_found_again_keeps_running(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	struct sync_job found = { .job = job, .attempt = 1 };
	struct sync in = { .node = "n2", .boot = "b1", .found = &found, .n_found = 1 };
	const struct sync_from from = { .cluster = "main",
					.address = "10.0.0.1",
					.now_ns = NOON + 30 * S_NS,
					.lost_ns = 120 * S_NS };
	struct sync_result out;

	parts_sync_empty(r, 1, NOON + 10 * S_NS);
	assert_int_equal(parts_get_desired(r, 1).n, 0);
	assert_int_equal(store_ingest(r->store, &in, &from, &out, NULL), 0);
	assert_int_equal(out.n_refusals, 0);
	sync_result_done(&out);
	assert_int_equal(parts_get_desired(r, 1).n, 1);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_RUN);
	parts_send_report(r, 1, parts_ended(job, 2, END_CANCELLED, 5), NOON + 31 * S_NS);
	assert_int_equal(store_ingest(r->store, &in, &from, &out, NULL), 0);
	assert_int_equal(out.n_refusals, 1); /* it had ended */
	sync_result_done(&out);
}

static void a_reboot_of_a_parts_node_ends_the_job(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	const struct parts_sync back = { .node = 2, .boot = "b2", .now_ns = NOON + 30 * S_NS };
	struct sync_result out;

	parts_send_sync(r, &back, &out);
	assert_int_equal(out.n_affected, 1);
	sync_result_done(&out);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_CANCEL);
	parts_send_report(r, 0, parts_ended(job, 2, END_CANCELLED, 9), NOON + 31 * S_NS);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
}

static void a_part_that_its_agent_does_not_know_is_given_up_after_a_while(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	parts_sync_empty(r, 1, NOON + 10 * S_NS);
	assert_int_equal(parts_get_desired(r, 1).n, 0);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_RUN);
	parts_list_job(r, 1, job, JOB_RUNNING, NOON + 12 * S_NS); /* it was overtaken */
	assert_int_equal(parts_get_desired(r, 1).n, 1);
	parts_sync_empty(r, 1, NOON + 20 * S_NS);
	parts_sync_empty(r, 1, NOON + 40 * S_NS);
	assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_CANCEL);
}

/* ---- a disk that fails ---- */

static int say_it_fell(struct rig *r, int64_t job)
{
	struct report rep = parts_ended(job, 2, END_LIMIT, 5);
	struct sync in = { .node = "n2", .boot = "b1", .reports = &rep, .n_reports = 1 };
	const struct sync_from from = { .cluster = "main",
					.address = "10.0.0.1",
					.now_ns = NOON + 5 * S_NS,
					.lost_ns = 120 * S_NS };
	struct sync_result out;
	int rc = store_ingest(r->store, &in, &from, &out, NULL);

	if (rc >= 0)
		sync_result_done(&out);
	return rc;
}

/* For every n: the n-th change on disk fails, and all after it. Either nothing of the part's
 * end is known, or all that follows from it. */
static void no_failure_of_the_disk_leaves_half_of_a_jobs_end(void **state)
{
	int failures = 0;

	(void)state;
	fail_vfs_install();
	for (int n = 1;; n++) {
		void *own = NULL;
		struct rig *r;
		int64_t job;
		int rc;

		assert_int_equal(rig_open(&own), 0);
		r = own;
		job = parts_running(r, false);
		fail_vfs_at(n);
		rc = say_it_fell(r, job);
		if (!fail_vfs_off()) {
			rig_close(&own);
			break;
		}
		failures += rc < 0;
		rig_reopen(r);
		if (rc < 0)
			assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_RUN);
		assert_int_equal(say_it_fell(r, job), 0);
		assert_int_equal(parts_get_desired(r, 0).g.want, DESIRED_CANCEL);
		assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"), 5 * S_NS);
		parts_verify(r);
		rig_close(&own);
	}
	assert_true(failures >= 3);
}

/* ---- verified ---- */

static int count_differences(void *ctx, const struct store_difference *d, struct err *err)
{
	(void)err;
	snprintf(ctx, 64, "%s", d->figure);
	return 0;
}

static void verify_finds_parts_that_do_not_sum_to_their_attempt(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	struct store_verified n = { 0 };
	char figure[64] = "";

	parts_send_report(r, 0, parts_ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS);
	parts_verify(r);
	assert_int_equal(db_run(r->store->db, NULL,
				"UPDATE parts SET usage = '{\"minor_faults\": 7}'"
				" WHERE part = 1",
				""),
			 0);
	assert_int_equal(store_verify(r->store, count_differences, figure, &n, NULL), 0);
	assert_int_equal(n.differences, 2); /* and the peak that is gone */
	assert_int_equal(db_run(r->store->db, NULL, "DELETE FROM parts WHERE part = 1", ""), 0);
	parts_sync_empty(r, 2, NOON + 5000 * S_NS);
	assert_int_equal(store_verify(r->store, count_differences, figure, &n, NULL), 0);
	assert_string_equal(figure, "open_part");
}

#define IN_A_LEDGER(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)
int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_LEDGER(one_kill_for_the_whole_job_when_a_part_exceeds),
		IN_A_LEDGER(a_reason_in_any_alphabet_is_cut_between_characters),
		IN_A_LEDGER(the_end_of_the_command_does_not_replace_the_reason_of_the_job),
		IN_A_LEDGER(an_mpi_that_misses_a_rank_is_not_the_reason),
		IN_A_LEDGER(the_end_of_part_0_waits_for_the_reason_of_another_part),
		IN_A_LEDGER(without_another_reason_the_end_of_the_command_counts),
		IN_A_LEDGER(the_wait_for_other_parts_has_a_bound),
		IN_A_LEDGER(a_command_that_exits_with_0_waits_for_no_other_part),
		IN_A_LEDGER(when_part_0_ends_the_other_parts_are_cancelled),
		IN_A_LEDGER(a_part_that_cannot_start_ends_the_job_before_part_0_starts),
		IN_A_LEDGER(desired_states_reach_every_node),
		IN_A_LEDGER(a_job_cancelled_before_part_0_started_ends_everywhere),
		IN_A_LEDGER(a_lost_node_ends_the_job_of_all),
		IN_A_LEDGER(a_job_with_requeue_is_queued_again_after_losing_a_node),
		IN_A_LEDGER(a_job_may_be_cancelled_before_it_is_queued_again),
		IN_A_LEDGER(losing_the_node_of_part_0_ends_the_job),
		IN_A_LEDGER(losing_the_node_of_part_0_while_the_job_ends_keeps_the_reason),
		IN_A_LEDGER(a_part_that_ends_by_itself_is_no_success_of_the_job),
		IN_A_LEDGER(a_part_that_its_agent_found_again_keeps_running),
		IN_A_LEDGER(a_reboot_of_a_parts_node_ends_the_job),
		IN_A_LEDGER(a_part_that_its_agent_does_not_know_is_given_up_after_a_while),
		IN_A_LEDGER(verify_finds_parts_that_do_not_sum_to_their_attempt),
		cmocka_unit_test(no_failure_of_the_disk_leaves_half_of_a_jobs_end),
	};

	/* The last one is of SQLite: its disk fails. */
	return _cmocka_run_group_tests("tests", tests, ARRAY_LEN(tests) - !rig_is_sqlite(),
				       NULL, NULL);
}
