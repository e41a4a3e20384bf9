/* test_slurm_batch - what slurmctld and slurmdbd say of jobs, in whatever order and how often, into the ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/slurm/list.h"
#include "controller/ledger/verify/verify.h"
#include "tests/unit/rig/ledger_rig.h"

#define NOON_S (NOON / S_NS)

static int set_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		     struct err *err)
{
	(void)ctx;
	(void)note;
	(void)err;
	job->terms = (struct tally_terms){ .rate = { job->request->res.ncpus, 1 },
					   .ncpus = job->request->res.ncpus };
	return 0;
}

static struct slurm_batch_job row_of(int64_t id, enum slurm_batch_state state, int64_t start_s,
				     int64_t end_s)
{
	struct slurm_batch_job j = { .job = id,
				     .uid = 1001,
				     .state = state,
				     .user = "alice",
				     .account = "physics",
				     .queue = "batch",
				     .name = "run",
				     .nodes = "m1",
				     .node = "m1",
				     .ncpus = 2,
				     .n_nodes = 1,
				     .submit_s = NOON_S + start_s - 1,
				     .start_s = NOON_S + start_s,
				     .end_s = end_s ? NOON_S + end_s : 0,
				     .array_task = SLURM_BATCH_NO_TASK };

	return j;
}

/* What Slurm says, at `at_s` seconds after noon; the controller's clock shows the same. */
struct told {
	enum slurm_batch_source source;
	int64_t at_s, mark_s;
	bool is_whole;
	struct slurm_batch_present present[4];
	size_t n_present;
	int64_t n_wanted, answered_mark_s; /* filled */
};

static void send_batch(struct rig *r, struct told *t, const struct slurm_batch_job *rows,
		       size_t n)
{
	struct slurm_batch_job copy[8];
	struct slurm_batch b = { .cluster = "east",
				 .source = t->source,
				 .at_s = NOON_S + t->at_s,
				 .mark_s = t->mark_s ? NOON_S + t->mark_s : 0,
				 .is_whole = t->is_whole,
				 .jobs = copy,
				 .n_jobs = n,
				 .present = t->present,
				 .n_present = t->n_present };
	const struct store_slurm_from from = { .now_ns = NOON + t->at_s * S_NS,
					       .forgotten_ns = HOUR_NS,
					       .lost_ns = 120 * S_NS,
					       .price = set_price };
	struct store_slurm_result result;
	struct err err = { "" };

	if (n)
		memcpy(copy, rows, n * sizeof(*rows));
	if (store_slurm_batch(r->store, &b, &from, &result, &err) < 0)
		fail_msg("%s", err.text);
	t->n_wanted = (int64_t)result.answer.n_wanted;
	t->answered_mark_s = result.answer.mark_s ? result.answer.mark_s - NOON_S : 0;
	store_slurm_result_done(&result);
}

static void send_row(struct rig *r, enum slurm_batch_source source, int64_t at_s,
		     const struct slurm_batch_job *row)
{
	struct told t = { .source = source, .at_s = at_s };

	send_batch(r, &t, row, 1);
}

static int ignore_difference(void *ctx, const struct store_difference *d, struct err *err)
{
	(void)ctx;
	(void)d;
	(void)err;
	return 0;
}

static void assert_sums(struct rig *r)
{
	struct store_verified n;

	assert_int_equal(store_verify(r->store, ignore_difference, NULL, &n, NULL), 0);
	assert_int_equal(n.differences, 0);
}

static int64_t first_number(void)
{
	return store_slurm_number(1, 0, 7);
}

static void a_row_told_often_counts_once(void **state)
{
	struct rig *r = *state;
	const struct slurm_batch_job row = row_of(7, SLURM_BATCH_COMPLETED, 0, 100);

	for (int i = 0; i < 3; i++) {
		send_row(r, SLURM_BATCH_SLURMDBD, 200 + i, &row);
		assert_int_equal(rig_see(r, first_number()).charge_requested_ms, 200000);
	}
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM slurm_attempts"), 1);
	assert_sums(r);
}

static void a_running_job_is_charged_as_it_runs(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = row_of(7, SLURM_BATCH_RUNNING, 0, 0);

	row.attempt = 1;
	for (int64_t at_s = 10; at_s < 60; at_s += 10) {
		send_row(r, SLURM_BATCH_SLURMCTLD, at_s, &row);
		assert_int_equal(rig_see(r, first_number()).running_ns, at_s * S_NS);
		assert_int_equal(rig_see(r, first_number()).state, JOB_RUNNING);
	}
	row.state = SLURM_BATCH_SUSPENDED;
	row.suspended_s = 10;
	send_row(r, SLURM_BATCH_SLURMCTLD, 60, &row);
	assert_int_equal(rig_see(r, first_number()).state, JOB_SUSPENDED);
	row = row_of(7, SLURM_BATCH_COMPLETED, 0, 90);
	row.suspended_s = 30;
	send_row(r, SLURM_BATCH_SLURMDBD, 95, &row);
	assert_int_equal(rig_see(r, first_number()).running_ns, 60 * S_NS);
	assert_int_equal(rig_see(r, first_number()).suspended_ns, 30 * S_NS);
	assert_int_equal(rig_see(r, first_number()).state, JOB_ENDED);
	/* slurmctld still has it as it was. */
	row = row_of(7, SLURM_BATCH_RUNNING, 0, 0);
	send_row(r, SLURM_BATCH_SLURMCTLD, 96, &row);
	assert_int_equal(rig_see(r, first_number()).state, JOB_ENDED);
	assert_sums(r);
}

static void rows_of_a_requeue_are_attempts_in_any_order(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job rows[] = { row_of(7, SLURM_BATCH_COMPLETED, 500, 510),
					  row_of(7, SLURM_BATCH_REQUEUED, 0, 100) };

	/* slurmctld said that the second one runs; the first comes late. */
	rows[0].attempt = 2;
	send_row(r, SLURM_BATCH_SLURMCTLD, 520, &rows[0]);
	send_row(r, SLURM_BATCH_SLURMDBD, 530, &rows[1]);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 2);
	assert_int_equal(rig_number(r, "SELECT attempt FROM slurm_attempts WHERE state = 12"),
			 1);
	assert_int_equal(rig_see(r, first_number()).end, END_EXITED);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM attempts"),
			 220000);
	assert_sums(r);
}

static void an_id_that_comes_again_much_later_is_another_job(void **state)
{
	struct rig *r = *state;
	const struct slurm_batch_job rows[] = { row_of(7, SLURM_BATCH_COMPLETED, 0, 100),
						row_of(7, SLURM_BATCH_COMPLETED, 3 * DAY_S,
						       3 * DAY_S + 10) };

	send_row(r, SLURM_BATCH_SLURMDBD, 200, &rows[0]);
	send_row(r, SLURM_BATCH_SLURMDBD, 3 * DAY_S + 20, &rows[1]);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 2);
	assert_int_equal(rig_see(r, store_slurm_number(1, 1, 7)).charge_requested_ms, 20000);
	assert_sums(r);
}

static void the_mark_moves_with_the_rows_and_never_back(void **state)
{
	struct rig *r = *state;
	struct told t = { .source = SLURM_BATCH_SLURMDBD, .at_s = 100 };

	send_batch(r, &t, NULL, 0);
	assert_int_equal(t.answered_mark_s, 0);
	t.mark_s = 50;
	send_batch(r, &t, NULL, 0);
	assert_int_equal(t.answered_mark_s, 50);
	t.mark_s = 20;
	send_batch(r, &t, NULL, 0);
	assert_int_equal(t.answered_mark_s, 50);
}

static void what_slurm_forgot_is_wanted_and_ends_as_lost(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = row_of(7, SLURM_BATCH_RUNNING, 0, 0);
	struct told whole = {
		.at_s = 20, .is_whole = true, .present = { { 7, 1 } }, .n_present = 1
	};

	row.attempt = 1;
	send_row(r, SLURM_BATCH_SLURMCTLD, 10, &row);
	send_batch(r, &whole, NULL, 0);
	assert_int_equal(whole.n_wanted, 0);
	whole.n_present = 0;
	whole.at_s = 30;
	send_batch(r, &whole, NULL, 0);
	assert_int_equal(whole.n_wanted, 1);
	assert_int_equal(rig_see(r, first_number()).state, JOB_RUNNING);
	whole.at_s = 30 + HOUR_S;
	send_batch(r, &whole, NULL, 0);
	assert_int_equal(rig_see(r, first_number()).end, END_NODE_LOST);
	assert_int_equal(rig_see(r, first_number()).running_ns, 10 * S_NS);
	/* slurmdbd has got it after all. */
	row = row_of(7, SLURM_BATCH_COMPLETED, 0, 25);
	send_row(r, SLURM_BATCH_SLURMDBD, 40 + HOUR_S, &row);
	assert_int_equal(rig_see(r, first_number()).end, END_EXITED);
	assert_int_equal(rig_see(r, first_number()).running_ns, 25 * S_NS);
	assert_sums(r);
}

static void an_array_task_cancelled_while_it_waited_has_no_attempt(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = row_of(7, SLURM_BATCH_CANCELLED, 100, 100);

	row.nodes[0] = row.node[0] = '\0';
	row.array_job = 7;
	row.array_task = 3;
	send_row(r, SLURM_BATCH_SLURMDBD, 200, &row);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs WHERE state = 5"), 1);
	assert_int_equal(rig_number(r, "SELECT array_task FROM slurm_attempts"), 3);
}

static void attempts_are_listed_page_by_page(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job *page = calloc(SLURM_BATCH_MAX, sizeof(*page));
	struct store_slurm_page p = { "east", NOON_S, NOON_S + DAY_S, 0, 0 };
	size_t n;

	for (int64_t id = 1; id <= 3; id++) {
		const struct slurm_batch_job row = row_of(id, SLURM_BATCH_COMPLETED, 0, 100);

		send_row(r, SLURM_BATCH_SLURMDBD, 200, &row);
	}
	assert_int_equal(store_slurm_list(r->store, &p, page, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_int_equal(page[1].start_s, NOON_S);
	assert_int_equal(page[1].end_s, NOON_S + 100);
	p.after_id = page[1].job;
	p.after_submit_s = page[1].submit_s;
	assert_int_equal(store_slurm_list(r->store, &p, page, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(page[0].job, 3);
	p.cluster = "west";
	assert_int_equal(store_slurm_list(r->store, &p, page, &n, NULL), 0);
	assert_int_equal(n, 0);
	free(page);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_told_often_counts_once),
		TEST(a_running_job_is_charged_as_it_runs),
		TEST(rows_of_a_requeue_are_attempts_in_any_order),
		TEST(an_id_that_comes_again_much_later_is_another_job),
		TEST(the_mark_moves_with_the_rows_and_never_back),
		TEST(what_slurm_forgot_is_wanted_and_ends_as_lost),
		TEST(an_array_task_cancelled_while_it_waited_has_no_attempt),
		TEST(attempts_are_listed_page_by_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
