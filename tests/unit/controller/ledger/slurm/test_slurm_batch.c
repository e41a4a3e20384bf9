/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_slurm_batch - rows of slurmctld and slurmdbd in any order, repeated or late, give one ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/import/import.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/slurm/list.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/slurm_rig.h"
#include "tests/unit/rig/verify_rig.h"

/* What Slurm says, at `at_s` seconds after noon; the controller's clock shows the same. */
struct told {
	enum slurm_batch_source source;
	int64_t at_s, mark_s;
	bool is_whole;
	struct slurm_batch_present present[4];
	size_t n_present;
	int64_t n_wanted, answered_mark_s, n_late; /* filled */
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
					       .price = rig_set_price };
	struct store_slurm_result result;
	struct err err = { "" };

	if (n)
		memcpy(copy, rows, n * sizeof(*rows));
	if (store_slurm_batch(r->store, &b, &from, &result, &err) < 0)
		fail_msg("%s", err.text);
	t->n_wanted = (int64_t)result.answer.n_wanted;
	t->n_late = result.n_late;
	t->answered_mark_s = result.answer.mark_s ? result.answer.mark_s - NOON_S : 0;
	store_slurm_result_done(&result);
}

static void send_row(struct rig *r, enum slurm_batch_source source, int64_t at_s,
		     const struct slurm_batch_job *row)
{
	struct told t = { .source = source, .at_s = at_s };

	send_batch(r, &t, row, 1);
}

static void write_sql(struct rig *r, const char *sql)
{
	assert_int_equal(db_run(r->store->db, NULL, sql, ""), 0);
}

static int64_t first_number(void)
{
	return store_slurm_number(1, 0, 7);
}

static void a_repeated_row_counts_once(void **state)
{
	struct rig *r = *state;
	const struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_COMPLETED, 0, 100);

	for (int i = 0; i < 3; i++) {
		send_row(r, SLURM_BATCH_SLURMDBD, 200 + i, &row);
		assert_int_equal(rig_load_job(r, first_number()).charge_requested_ms, 200000);
	}
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM slurm_attempts"), 1);
	assert_int_equal(rig_count_differences(r), 0);
}

static void a_running_job_is_charged_as_it_runs(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_RUNNING, 0, 0);

	row.attempt = 1;
	for (int64_t at_s = 10; at_s < 60; at_s += 10) {
		send_row(r, SLURM_BATCH_SLURMCTLD, at_s, &row);
		assert_int_equal(rig_load_job(r, first_number()).running_ns, at_s * S_NS);
		assert_int_equal(rig_load_job(r, first_number()).state, JOB_RUNNING);
	}
	row.state = SLURM_BATCH_SUSPENDED;
	row.suspended_s = 10;
	send_row(r, SLURM_BATCH_SLURMCTLD, 60, &row);
	assert_int_equal(rig_load_job(r, first_number()).state, JOB_SUSPENDED);
	row = rig_slurm_row(7, SLURM_BATCH_COMPLETED, 0, 90);
	row.suspended_s = 30;
	send_row(r, SLURM_BATCH_SLURMDBD, 95, &row);
	assert_int_equal(rig_load_job(r, first_number()).running_ns, 60 * S_NS);
	assert_int_equal(rig_load_job(r, first_number()).suspended_ns, 30 * S_NS);
	assert_int_equal(rig_load_job(r, first_number()).state, JOB_ENDED);
	/* slurmctld still has it as it was. */
	row = rig_slurm_row(7, SLURM_BATCH_RUNNING, 0, 0);
	send_row(r, SLURM_BATCH_SLURMCTLD, 96, &row);
	assert_int_equal(rig_load_job(r, first_number()).state, JOB_ENDED);
	assert_int_equal(rig_count_differences(r), 0);
}

/* slurmd is away: what Slurm keeps in the job's cgroup stays, and the agent counts on. */
static void time_that_an_agent_counts_after_slurms_end_is_not_charged(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_RUNNING, 0, 0);

	row.attempt = 1;
	send_row(r, SLURM_BATCH_SLURMCTLD, 10, &row);
	rig_report_slurm(r, 1, 50, 0);
	row = rig_slurm_row(7, SLURM_BATCH_COMPLETED, 0, 100);
	send_row(r, SLURM_BATCH_SLURMDBD, 110, &row);
	rig_report_slurm(r, 2, 160, 0); /* within the slack: cleaning up takes time */
	assert_int_equal(rig_load_job(r, first_number()).running_ns, 160 * S_NS);
	rig_report_slurm(r, 3, 161, 0);
	rig_report_slurm(r, 4, 500, 0);
	assert_int_equal(rig_load_job(r, first_number()).running_ns, 160 * S_NS);
	rig_report_slurm(r, 5, 600, 600);
	assert_int_equal(rig_load_job(r, first_number()).running_ns, 160 * S_NS);
	assert_int_equal(rig_load_job(r, first_number()).ended_ns, NOON + 100 * S_NS);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM events WHERE what = 'clamp'"), 2);
	assert_int_equal(rig_count_differences(r), 0);
}

static void a_run_that_slurm_forgot_stays_and_the_next_has_its_row(void **state)
{
	struct rig *r = *state;
	const int64_t next = store_slurm_number(1, 1, 7);
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_RUNNING, 0, 0);
	const int64_t submit_s = row.submit_s;

	row.attempt = 1;
	send_row(r, SLURM_BATCH_SLURMCTLD, 5, &row);
	rig_report_slurm(r, 1, 8, 8);
	row.start_s = NOON_S + 7; /* its agent has the end later: a correction */
	send_row(r, SLURM_BATCH_SLURMCTLD, 9, &row);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 1);
	row.start_s = NOON_S + 80;
	for (int64_t at_s = 85; at_s < 95; at_s += 5) {
		send_row(r, SLURM_BATCH_SLURMCTLD, at_s, &row);
		assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 2);
		assert_int_equal(rig_number(r, "SELECT job FROM slurm_attempts"), next);
	}
	row = rig_slurm_row(7, SLURM_BATCH_COMPLETED, 80, 100);
	row.submit_s = submit_s;
	send_row(r, SLURM_BATCH_SLURMDBD, 110, &row);
	assert_int_equal(rig_load_job(r, first_number()).running_ns, 8 * S_NS);
	assert_int_equal(rig_load_job(r, next).running_ns, 20 * S_NS);
	assert_int_equal(rig_count_differences(r), 0);
}

/* Slurm's starts are whole seconds: of a run that began in the same one it is a correction. */
static void a_run_that_ended_within_the_second_of_the_next_start_is_one_before(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_RUNNING, 0, 0);

	row.attempt = 1;
	send_row(r, SLURM_BATCH_SLURMCTLD, 5, &row);
	rig_report_slurm(r, 1, 8, 8);
	write_sql(r, "UPDATE attempts SET started_ns = started_ns + 7500000000,"
		     " ended_ns = ended_ns + 581000000");
	row.start_s = NOON_S + 8;
	send_row(r, SLURM_BATCH_SLURMCTLD, 9, &row);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 1);
	write_sql(r, "UPDATE attempts SET started_ns = started_ns - 7500000000");
	write_sql(r, "UPDATE slurm_attempts SET start_s = start_s - 8");
	send_row(r, SLURM_BATCH_SLURMCTLD, 10, &row);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 2);
	row.start_s++;
	send_row(r, SLURM_BATCH_SLURMCTLD, 11, &row);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 2);
}

static void rows_of_a_requeue_are_attempts_in_any_order(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job rows[] = { rig_slurm_row(7, SLURM_BATCH_COMPLETED, 500, 510),
					  rig_slurm_row(7, SLURM_BATCH_REQUEUED, 0, 100) };

	/* slurmctld said that the second one runs; the first comes late. */
	rows[0].attempt = 2;
	send_row(r, SLURM_BATCH_SLURMCTLD, 520, &rows[0]);
	send_row(r, SLURM_BATCH_SLURMDBD, 530, &rows[1]);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 2);
	assert_int_equal(rig_number(r, "SELECT attempt FROM slurm_attempts WHERE state = 12"),
			 1);
	assert_int_equal(rig_load_job(r, first_number()).end, END_EXITED);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM attempts"),
			 220000);
	assert_int_equal(rig_count_differences(r), 0);
}

static void an_id_that_comes_again_much_later_is_another_job(void **state)
{
	struct rig *r = *state;
	const struct slurm_batch_job rows[] = { rig_slurm_row(7, SLURM_BATCH_COMPLETED, 0, 100),
						rig_slurm_row(7, SLURM_BATCH_COMPLETED,
							      3 * DAY_S, 3 * DAY_S + 10) };

	send_row(r, SLURM_BATCH_SLURMDBD, 200, &rows[0]);
	send_row(r, SLURM_BATCH_SLURMDBD, 3 * DAY_S + 20, &rows[1]);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 2);
	assert_int_equal(rig_load_job(r, store_slurm_number(1, 1, 7)).charge_requested_ms,
			 20000);
	assert_int_equal(rig_count_differences(r), 0);
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

static void an_attempt_that_slurm_forgot_is_wanted_and_ends_as_lost(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_RUNNING, 0, 0);
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
	assert_int_equal(rig_load_job(r, first_number()).state, JOB_RUNNING);
	whole.at_s = 30 + HOUR_S;
	send_batch(r, &whole, NULL, 0);
	assert_int_equal(rig_load_job(r, first_number()).end, END_NODE_LOST);
	assert_int_equal(rig_load_job(r, first_number()).running_ns, 10 * S_NS);
	/* slurmdbd has got it after all. */
	row = rig_slurm_row(7, SLURM_BATCH_COMPLETED, 0, 25);
	send_row(r, SLURM_BATCH_SLURMDBD, 40 + HOUR_S, &row);
	assert_int_equal(rig_load_job(r, first_number()).end, END_EXITED);
	assert_int_equal(rig_load_job(r, first_number()).running_ns, 25 * S_NS);
	assert_int_equal(rig_count_differences(r), 0);
}

static void an_array_task_cancelled_while_it_waited_has_no_attempt(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_CANCELLED, 100, 100);

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
		const struct slurm_batch_job row =
			rig_slurm_row(id, SLURM_BATCH_COMPLETED, 0, 100);

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

/* ---- archived ---- */

#define LATER_S (70 * DAY_S)

/* The months before the one of `now_s`, into a directory of their own. */
static int64_t archive_before(struct rig *r, int64_t now_s)
{
	char dir[] = "/tmp/reeve-unit-archive-XXXXXX", command[64];
	struct store_archive how = { .now_ns = NOON + now_s * S_NS };
	struct store_archived n = { 0 };
	struct err err = { "" };

	assert_non_null(mkdtemp(dir));
	how.dir = dir;
	how.before = calendar_month(store_day(r->store, how.now_ns));
	write_sql(r, "UPDATE jobs SET kept = 0");
	if (store_archive(r->store, &how, &n, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	return n.jobs;
}

static size_t list_all(struct rig *r, struct slurm_batch_job *ret)
{
	const struct store_slurm_page p = { "east", NOON_S - DAY_S, NOON_S + DAY_S, 0, 0 };
	size_t n = 0;

	assert_int_equal(store_slurm_list(r->store, &p, ret, &n, NULL), 0);
	return n;
}

static int64_t sum_charges(struct rig *r)
{
	return rig_number(r, "SELECT COALESCE(SUM(charge_requested_ms), 0) FROM rollups");
}

static void an_archived_attempt_that_slurm_lists_again_makes_no_job(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job rows[] = { rig_slurm_row(7, SLURM_BATCH_REQUEUED, 0, 100),
					  rig_slurm_row(7, SLURM_BATCH_COMPLETED, 300, 400),
					  rig_slurm_row(8, SLURM_BATCH_CANCELLED, 10, 10) };
	struct slurm_batch_job *was = calloc(SLURM_BATCH_MAX, sizeof(*was)),
			       *is = calloc(SLURM_BATCH_MAX, sizeof(*is));
	struct told t = { .source = SLURM_BATCH_SLURMDBD, .at_s = 500 };
	size_t n;

	rows[2].nodes[0] = rows[2].node[0] = '\0';
	send_batch(r, &t, rows, 3);
	n = list_all(r, was);
	assert_int_equal(n, 3);
	assert_int_equal(archive_before(r, LATER_S), 2);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM slurm_attempts"), 0);
	assert_int_equal(rig_count_differences(r), 0);
	t.at_s = LATER_S;
	for (int i = 0; i < 2; i++)
		send_batch(r, &t, rows, 3);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 0);
	assert_int_equal(sum_charges(r), 400000);
	assert_int_equal(t.n_late, 0);
	assert_int_equal(rig_count_differences(r), 0);
	/* What reconcile compares is as it was. */
	assert_int_equal(list_all(r, is), n);
	for (size_t k = 0; k < n; k++) {
		assert_int_equal(is[k].job, was[k].job);
		assert_int_equal(is[k].submit_s, was[k].submit_s);
		assert_int_equal(is[k].state, was[k].state);
		assert_int_equal(is[k].start_s, was[k].start_s);
		assert_int_equal(is[k].end_s, was[k].end_s);
		assert_int_equal(is[k].ncpus, was[k].ncpus);
		assert_int_equal(*is[k].nodes != '\0', *was[k].nodes != '\0');
	}
	free(was);
	free(is);
}

static void what_slurmdbd_corrects_of_an_archived_attempt_is_counted_not_charged(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_COMPLETED, 0, 100);
	struct told t = { .source = SLURM_BATCH_SLURMDBD, .at_s = LATER_S };

	send_row(r, SLURM_BATCH_SLURMDBD, 200, &row);
	assert_int_equal(archive_before(r, LATER_S), 1);
	row.end_s += 50;
	send_batch(r, &t, &row, 1);
	assert_int_equal(t.n_late, 1);
	assert_int_equal(sum_charges(r), 200000);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 0);
}

/* An id that comes again, and an attempt that was never reported, are charged under a number of their own. */
static void a_run_that_is_not_in_the_archive_is_charged_beside_it(void **state)
{
	struct rig *r = *state;
	const struct slurm_batch_job rows[] = {
		rig_slurm_row(7, SLURM_BATCH_COMPLETED, 300, 400),
		rig_slurm_row(7, SLURM_BATCH_COMPLETED, LATER_S, LATER_S + 10),
		rig_slurm_row(7, SLURM_BATCH_REQUEUED, 0, 100),
	};

	send_row(r, SLURM_BATCH_SLURMDBD, 500, &rows[0]);
	assert_int_equal(archive_before(r, LATER_S), 1);
	send_row(r, SLURM_BATCH_SLURMDBD, LATER_S + 20, &rows[1]);
	assert_int_equal(rig_load_job(r, store_slurm_number(1, 1, 7)).charge_requested_ms,
			 20000);
	send_row(r, SLURM_BATCH_SLURMDBD, LATER_S + 30, &rows[2]);
	assert_int_equal(sum_charges(r), 420000);
	send_row(r, SLURM_BATCH_SLURMDBD, LATER_S + 40, &rows[0]);
	assert_int_equal(sum_charges(r), 420000);
	assert_int_equal(rig_count_differences(r), 0);
}

static void a_job_that_slurm_may_still_correct_is_not_archived(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job rows[] = { rig_slurm_row(7, SLURM_BATCH_COMPLETED, 0, 100),
					  rig_slurm_row(8, SLURM_BATCH_COMPLETED, LATER_S,
							LATER_S + 100) };
	int64_t first_s = LATER_S;

	/* 8 ended two days before the end of a month. */
	while (calendar_month(store_day(r->store, NOON + (first_s + 2 * DAY_S) * S_NS)) ==
	       calendar_month(store_day(r->store, NOON + first_s * S_NS)))
		first_s += DAY_S;
	rows[1] = rig_slurm_row(8, SLURM_BATCH_COMPLETED, first_s - 100, first_s);
	send_row(r, SLURM_BATCH_SLURMDBD, 200, &rows[0]);
	send_row(r, SLURM_BATCH_SLURMDBD, first_s, &rows[1]);
	write_sql(r, "UPDATE slurm_attempts SET due_ns = 1 WHERE id = 7");
	assert_int_equal(archive_before(r, first_s + 3 * DAY_S), 0);
	write_sql(r, "UPDATE slurm_attempts SET due_ns = 0 WHERE id = 7");
	assert_int_equal(archive_before(r, first_s + 3 * DAY_S), 1);
	assert_int_equal(archive_before(r, first_s + 8 * DAY_S), 1);
}

/* ---- imported from a log, and from Slurm ---- */

struct imported {
	const char *name;
	int64_t id, start_s, end_s;
	enum store_import_outcome outcome; /* filled */
};

static int note_outcome(void *ctx, const struct store_import_job *j,
			enum store_import_outcome outcome, struct err *err)
{
	(void)j, (void)err;
	((struct imported *)ctx)->outcome = outcome;
	return 0;
}

static enum store_import_outcome import_one(struct rig *r, struct imported of)
{
	const struct store_import_file f = { of.name, "file", "sacct", of.name, "", "" };
	struct history_job h = { .number = of.id,
				 .submit_s = NOON_S + of.start_s - 1,
				 .start_s = NOON_S + of.start_s,
				 .end_s = NOON_S + of.end_s,
				 .ncpus = 2,
				 .walltime_s = -1,
				 .mem_bytes = -1,
				 .mem_peak_bytes = -1,
				 .cpu_ms = -1,
				 .cluster = "east",
				 .account = "physics",
				 .user = "alice" };
	const struct store_import_job job = { .job = &h,
					      .terms = { .rate = { 2, 1 }, .ncpus = 2 } };
	struct store_import_count n;
	struct store_import *i;
	struct err err = { "" };
	int r_of = store_import_open(r->store, &f, &i, &n, &err);

	if (r_of >= 0) {
		store_import_listen(i, note_outcome, &of);
		r_of = store_import_add(i, &job, &err);
		if (r_of >= 0)
			r_of = store_import_commit(i, &n, &err);
		store_import_close(i);
	}
	if (r_of < 0)
		fail_msg("%s", err.text);
	return of.outcome;
}

static void a_job_that_slurm_listed_is_not_imported(void **state)
{
	struct rig *r = *state;
	struct slurm_batch_job row = rig_slurm_row(7, SLURM_BATCH_COMPLETED, 7200, 7300);

	send_row(r, SLURM_BATCH_SLURMDBD, 8000, &row);
	assert_int_equal(import_one(r, (struct imported){ "a", 7, 7200, 7300, 0 }),
			 STORE_IMPORT_FOLLOWED);
	/* The same with the clocks of another zone. */
	assert_int_equal(import_one(r, (struct imported){ "b", 7, 3600, 3700, 0 }),
			 STORE_IMPORT_CONFLICT);
	assert_int_equal(sum_charges(r), 200000);
	/* Others, and an earlier run of the same, which the ledger does not have. */
	assert_int_equal(import_one(r, (struct imported){ "c", 8, 7200, 7300, 0 }),
			 STORE_IMPORT_NEW);
	assert_int_equal(import_one(r, (struct imported){ "d", 7, 5000, 5010, 0 }),
			 STORE_IMPORT_NEW);
	assert_int_equal(sum_charges(r), 420000);
	assert_int_equal(archive_before(r, LATER_S), 1);
	assert_int_equal(import_one(r, (struct imported){ "e", 7, 7200, 7300, 0 }),
			 STORE_IMPORT_FOLLOWED);
	assert_int_equal(sum_charges(r), 420000);
	assert_int_equal(rig_count_differences(r), 0);
}

static void a_job_that_was_imported_is_not_made_when_slurm_lists_it(void **state)
{
	struct rig *r = *state;
	const struct slurm_batch_job rows[] = {
		rig_slurm_row(7, SLURM_BATCH_COMPLETED, 300, 400),
		rig_slurm_row(7, SLURM_BATCH_REQUEUED, 0, 100),
		rig_slurm_row(7, SLURM_BATCH_COMPLETED, 500, 510)
	};

	assert_int_equal(import_one(r, (struct imported){ "a", 7, 0, 100, 0 }),
			 STORE_IMPORT_NEW);
	assert_int_equal(import_one(r, (struct imported){ "b", 7, 300, 400, 0 }),
			 STORE_IMPORT_NEW);
	send_row(r, SLURM_BATCH_SLURMDBD, 450, &rows[0]);
	send_row(r, SLURM_BATCH_SLURMDBD, 450, &rows[1]);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 0);
	assert_int_equal(sum_charges(r), 400000);
	/* A run after them. */
	send_row(r, SLURM_BATCH_SLURMDBD, 600, &rows[2]);
	assert_int_equal(sum_charges(r), 420000);
	assert_int_equal(rig_count_differences(r), 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_repeated_row_counts_once),
		TEST(a_running_job_is_charged_as_it_runs),
		TEST(rows_of_a_requeue_are_attempts_in_any_order),
		TEST(a_run_that_slurm_forgot_stays_and_the_next_has_its_row),
		TEST(a_run_that_ended_within_the_second_of_the_next_start_is_one_before),
		TEST(time_that_an_agent_counts_after_slurms_end_is_not_charged),
		TEST(an_id_that_comes_again_much_later_is_another_job),
		TEST(the_mark_moves_with_the_rows_and_never_back),
		TEST(an_attempt_that_slurm_forgot_is_wanted_and_ends_as_lost),
		TEST(an_array_task_cancelled_while_it_waited_has_no_attempt),
		TEST(attempts_are_listed_page_by_page),
		TEST(an_archived_attempt_that_slurm_lists_again_makes_no_job),
		TEST(what_slurmdbd_corrects_of_an_archived_attempt_is_counted_not_charged),
		TEST(a_run_that_is_not_in_the_archive_is_charged_beside_it),
		TEST(a_job_that_slurm_may_still_correct_is_not_archived),
		TEST(a_job_that_slurm_listed_is_not_imported),
		TEST(a_job_that_was_imported_is_not_made_when_slurm_lists_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
