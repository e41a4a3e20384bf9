/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_import - rollups of imported jobs and live attempts can be recomputed, also in ledgers of older
 * versions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include "common/err.h"
#include "controller/ledger/import/import.h"
#include "controller/ledger/verify/verify.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"

static int count_one(void *ctx, const struct store_difference *d, struct err *err)
{
	(void)d, (void)err;
	++*(int *)ctx;
	return 0;
}

static int64_t count_differences(struct rig *r)
{
	struct store_verified n;
	int told = 0;

	assert_int_equal(store_verify(r->store, count_one, &told, &n, NULL), 0);
	assert_int_equal(told, n.differences);
	return n.differences;
}

static void write_sql(struct rig *r, const char *sql)
{
	assert_int_equal(db_run(r->store->db, NULL, sql, ""), 0);
	assert_int_equal(db_changes(r->store->db), 1);
}

static struct history_job job_of(int64_t number, int64_t start_s, int64_t run_s)
{
	struct history_job j = { .number = number,
				 .submit_s = start_s - 10,
				 .start_s = start_s,
				 .end_s = start_s + run_s,
				 .ncpus = 3,
				 .walltime_s = -1,
				 .mem_bytes = -1,
				 .mem_peak_bytes = -1,
				 .cpu_ms = 2 * run_s * 1000 + 7,
				 .cluster = "c",
				 .account = "a",
				 .user = "u" };

	return j;
}

static int note_outcome(void *ctx, const struct store_import_job *j,
			enum store_import_outcome outcome, struct err *err)
{
	(void)j, (void)err;
	*(int *)ctx = (int)outcome;
	return 0;
}

static int add_job(struct store_import *i, const struct history_job *j, struct fraction rate)
{
	int outcome = -1, r;
	const struct store_import_job job = {
		.job = j,
		.terms = { .rate = rate,
			   .bundle.side[CHARGE_CORES] = { 1, 1 },
			   .ncpus = j->ncpus },
	};

	store_import_listen(i, note_outcome, &outcome);
	r = store_import_add(i, &job, NULL);
	if (r == 0)
		r = store_import_settle(i, NULL);
	store_import_listen(i, NULL, NULL);
	return r ? r : outcome;
}

struct order {
	int64_t next_line, known, fresh;
};

static int in_order(void *ctx, const struct store_import_job *j,
		    enum store_import_outcome outcome, struct err *err)
{
	struct order *o = ctx;

	(void)err;
	assert_int_equal(j->line, o->next_line++);
	o->fresh += outcome == STORE_IMPORT_NEW;
	o->known += outcome == STORE_IMPORT_KNOWN;
	return 0;
}

/* More jobs than are written together, each fourth one twice. */
static void the_listener_is_called_once_for_each_job_in_order(void **state)
{
	struct rig *r = *state;
	const struct store_import_file f = { "many", "file", "swf", "content", "", "" };
	struct store_import_count n;
	struct store_import *i;
	struct order o = { 0 };

	assert_int_equal(store_import_open(r->store, &f, &i, &n, NULL), 0);
	store_import_listen(i, in_order, &o);
	for (int64_t k = 0; k < 4000; k++) {
		struct history_job j = job_of(1 + k - k / 4, 1000000000 + (k - k / 4) * 60, 50);
		struct store_import_job sj = { .job = &j,
					       .line = k,
					       .terms = { .rate = { 3, 1 },
							  .bundle.side[CHARGE_CORES] = { 1, 1 },
							  .ncpus = 3 } };

		assert_int_equal(store_import_add(i, &sj, NULL), 0);
	}
	assert_int_equal(store_import_commit(i, &n, NULL), 0);
	store_import_close(i);
	assert_int_equal(o.next_line, 4000);
	assert_int_equal(o.fresh, 3001);
	assert_int_equal(o.known, 999);
}

static struct store_import *begin_file(struct rig *r, const char *digest,
				       struct store_import_count *ret)
{
	const struct store_import_file f = { digest, "file", "swf", "content", "", "" };
	struct store_import *i;

	assert_int_equal(store_import_open(r->store, &f, &i, ret, NULL), 0);
	return i;
}

/* Rates with thirds, run times over several midnights: the days sum to the rounded whole. */
static void days_of_any_job_sum_to_its_charge(void **state)
{
	struct rig *r = *state;
	struct store_import_count n;
	struct store_import *i = begin_file(r, "one", &n);

	for (int64_t k = 1; k <= 200; k++) {
		struct history_job j = job_of(k, 1000000000 + k * 7919, k * 2347);

		assert_int_equal(add_job(i, &j, (struct fraction){ k, 3 }), 0);
	}
	assert_int_equal(store_import_commit(i, &n, NULL), 0);
	store_import_close(i);
	assert_int_equal(rig_number(r,
				    "SELECT (SELECT SUM(charge_requested_ms) FROM imported) ="
				    " (SELECT SUM(charge_requested_ms) FROM rollups)"),
			 1);
	assert_int_equal(rig_number(r, "SELECT SUM(core_ms) FROM rollups"),
			 200 * 201 / 2 * 2347 * 3000LL);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_started) FROM rollups"), 200);
	assert_int_equal(count_differences(r), 0);
}

static void a_batch_that_is_not_committed_leaves_nothing(void **state)
{
	struct rig *r = *state;
	struct store_import_count n;
	struct history_job j = job_of(1, 1000000000, 50);
	struct store_import *i = begin_file(r, "one", &n);

	assert_int_equal(add_job(i, &j, (struct fraction){ 3, 1 }), 0);
	store_import_close(i);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM imported"), 0);
	i = begin_file(r, "one", &n);
	assert_int_equal(n.lines, 0);
	assert_int_equal(add_job(i, &j, (struct fraction){ 3, 1 }), 0);
	n.lines = 7;
	n.rejected[HISTORY_NO_CORES] = 2;
	assert_int_equal(store_import_commit(i, &n, NULL), 0);
	store_import_close(i);
	n = (struct store_import_count){ 0 };
	store_import_close(begin_file(r, "one", &n));
	assert_int_equal(n.lines, 7);
	assert_int_equal(n.rejected[HISTORY_NO_CORES], 2);
	assert_int_equal(count_differences(r), 0);
}

static void a_job_is_imported_once_and_never_changed(void **state)
{
	struct rig *r = *state;
	struct store_import_count n;
	struct history_job j = job_of(1, 1000000000, 50);
	struct store_import *i = begin_file(r, "one", &n);

	assert_int_equal(add_job(i, &j, (struct fraction){ 3, 1 }), 0);
	assert_int_equal(add_job(i, &j, (struct fraction){ 3, 1 }), STORE_IMPORT_KNOWN);
	assert_int_equal(add_job(i, &j, (struct fraction){ 4, 1 }), STORE_IMPORT_CONFLICT);
	j.cpu_ms = -1;
	assert_int_equal(add_job(i, &j, (struct fraction){ 3, 1 }), STORE_IMPORT_CONFLICT);
	strcpy(j.cluster, "d");
	assert_int_equal(add_job(i, &j, (struct fraction){ 3, 1 }), 0);
	j.number = 2;
	assert_int_equal(add_job(i, &j, (struct fraction){ INT64_MAX, 1 }),
			 STORE_IMPORT_REFUSED);
	assert_int_equal(store_import_commit(i, &n, NULL), 0);
	store_import_close(i);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"), 300000);
	assert_int_equal(count_differences(r), 0);
}

/* A short job, one over three days by several reports, one that goes lost. */
static void tell_lives(struct rig *r)
{
	int64_t short_job = rig_job(r, NOON), long_job = rig_job(r, NOON);

	rig_send_report(r, rig_report(short_job, 1, JOB_ENDED, 20), NOON + 20 * S_NS);
	for (int64_t k = 1; k <= 7; k++)
		rig_send_report(
			r, rig_report(long_job, k, k < 7 ? JOB_RUNNING : JOB_ENDED, k * 30011),
			NOON + k * 30011 * S_NS);
}

static void live_attempts_can_be_recomputed(void **state)
{
	struct rig *r = *state;

	tell_lives(r);
	assert_int_equal(rig_number(r, "SELECT COUNT(DISTINCT job) FROM slices"), 1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM slices"), 3);
	assert_int_equal(count_differences(r), 0);
}

static void every_wrong_figure_is_found(void **state)
{
	static const char *const faults[] = {
		"UPDATE rollups SET cpu_ms = cpu_ms + 1 WHERE day = 20001",
		"UPDATE rollups SET jobs_started = jobs_started - 1 WHERE day = 20000",
		"UPDATE rollups SET day = 20009 WHERE day = 20001",
		"UPDATE slices SET gpu_ms = gpu_ms + 1 WHERE day = 20001",
		"UPDATE attempts SET charge_used_ms = charge_used_ms + 1 WHERE sliced = 0",
		"UPDATE stretches SET running_ns = running_ns - 1"
		" WHERE to_ns = (SELECT MAX(to_ns) FROM stretches)",
		"UPDATE months SET cpu_ms = cpu_ms + 1",
		"UPDATE months SET month = month + 1",
		"UPDATE totals SET core_ms = core_ms + 1 WHERE span = 0"
		" AND begins = 20000",
		"UPDATE totals SET adjusted_ms = adjusted_ms + 1 WHERE span = 1"
		" AND kind = 2 AND cluster = ''",
		"DELETE FROM totals WHERE span = 2 AND kind = 1 AND cluster = ''",
	};
	struct rig *r = *state;

	tell_lives(r);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		int64_t was = count_differences(r);

		write_sql(r, faults[i]);
		assert_true(count_differences(r) > was);
	}
}

/* Drops every table that schema 1 did not have. */
static void drop_later_tables(sqlite3 *db)
{
	static const char later[] =
		"SELECT 'DROP TABLE ' || name FROM sqlite_master WHERE type = 'table' AND"
		" name NOT LIKE 'sqlite_%' AND name NOT IN ('jobs', 'attempts', 'rollups',"
		" 'nodes', 'streams', 'chunks', 'events')";
	char *drops[64] = { 0 };
	sqlite3_stmt *st;
	size_t n = 0;

	assert_int_equal(sqlite3_prepare_v2(db, later, -1, &st, NULL), SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW && n < ARRAY_LEN(drops))
		drops[n++] = strdup((const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(sqlite3_exec(db, drops[i], NULL, NULL, NULL), SQLITE_OK);
		free(drops[i]);
	}
}

static void go_back_to_schema_1(struct rig *r)
{
	static const char back[] =
		"DROP VIEW placements; ALTER TABLE jobs DROP COLUMN chunks;"
		"ALTER TABLE jobs DROP COLUMN scattered;"
		"ALTER TABLE attempts DROP COLUMN hosts;"
		"ALTER TABLE attempts DROP COLUMN node_cores;"
		"ALTER TABLE attempts DROP COLUMN rate_num;"
		"ALTER TABLE attempts DROP COLUMN rate_den;"
		"ALTER TABLE attempts DROP COLUMN verdict;"
		"ALTER TABLE attempts DROP COLUMN verdict_kind;"
		"ALTER TABLE attempts DROP COLUMN held_ns;"
		"ALTER TABLE streams DROP COLUMN is_cut;"
		"ALTER TABLE rollups DROP COLUMN adjusted_ms; DROP INDEX rollups_account;"
		"DROP INDEX IF EXISTS rollups_user; ALTER TABLE attempts DROP COLUMN "
		"started_day;"
		"ALTER TABLE attempts DROP COLUMN ended_day;"
		"ALTER TABLE attempts DROP COLUMN usage_day;"
		"ALTER TABLE attempts DROP COLUMN sliced; ALTER TABLE jobs DROP COLUMN unit;"
		"ALTER TABLE jobs DROP COLUMN rule; ALTER TABLE jobs DROP COLUMN exclusive;"
		"ALTER TABLE jobs DROP COLUMN nice; ALTER TABLE jobs DROP COLUMN site;"
		"ALTER TABLE jobs DROP COLUMN gpu_model; ALTER TABLE attempts DROP COLUMN gpus;"
		"ALTER TABLE nodes DROP COLUMN gpus; ALTER TABLE nodes DROP COLUMN gpu_models;"
		"ALTER TABLE nodes DROP COLUMN free_gpu_models;"
		"ALTER TABLE nodes DROP COLUMN drained_gpu_models; DROP INDEX "
		"jobs_active_account; DROP INDEX attempts_open_job; DROP INDEX "
		"chunks_job; DROP INDEX jobs_array; "
		"DROP INDEX jobs_active_user; DROP INDEX jobs_node; DROP INDEX jobs_user_node;"
		"DROP INDEX jobs_account_node; DROP INDEX attempts_slurm_ended;"
		"ALTER TABLE jobs DROP COLUMN summed; ALTER TABLE jobs DROP COLUMN eligible_ns;"
		"DROP INDEX jobs_start_by; ALTER TABLE jobs DROP COLUMN start_by_ns;"
		"DROP INDEX jobs_suspended; ALTER TABLE jobs DROP COLUMN owner_suspended_ns;"
		"ALTER TABLE jobs DROP COLUMN qos;"
		"DROP INDEX jobs_kept; DROP INDEX "
		"events_node; ALTER TABLE jobs DROP COLUMN env; ALTER TABLE jobs DROP COLUMN "
		"script; ALTER TABLE jobs DROP COLUMN kept;"
		"ALTER TABLE jobs DROP COLUMN gave_way_to; ALTER TABLE jobs DROP COLUMN due_ns;"
		"ALTER TABLE jobs DROP COLUMN withheld; ALTER TABLE jobs DROP COLUMN array_job;"
		"ALTER TABLE jobs DROP COLUMN array_index;"
		"ALTER TABLE jobs DROP COLUMN node_type; ALTER TABLE jobs DROP COLUMN features;"
		"ALTER TABLE nodes DROP COLUMN node_type;"
		"ALTER TABLE nodes DROP COLUMN restored_ns; ALTER TABLE nodes DROP COLUMN pids;"
		"ALTER TABLE nodes DROP COLUMN features; PRAGMA user_version = 1";
	sqlite3 *db;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	drop_later_tables(db);
	assert_int_equal(sqlite3_exec(db, back, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void an_older_ledger_is_upgraded_and_still_recomputes(void **state)
{
	struct rig *r = *state;
	int64_t job;

	tell_lives(r);
	job = rig_job(r, NOON);
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 20), NOON + 20 * S_NS);
	r->store = store_close(r->store);
	go_back_to_schema_1(r);
	/* Its days were cut at midnight UTC, and so they stay. */
	assert_int_equal(store_open_zone(r->path, "Asia/Tokyo", &r->store, NULL), -EEXIST);
	assert_int_equal(store_open(r->path, &r->store, NULL), 0);
	assert_string_equal(store_zone(r->store), "UTC");
	assert_int_equal(count_differences(r), 0);
	/* When its attempts ran is not known: evenly from start to last word, nothing lost. */
	assert_int_equal(rig_number(r, "SELECT SUM(running_ns) FROM stretches"),
			 rig_number(r, "SELECT SUM(running_ns) FROM attempts"));
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM stretches WHERE to_ns <= from_ns"),
			 0);
	rig_send_report(r, rig_report(job, 2, JOB_ENDED, 90000), NOON + 90000 * S_NS);
	assert_int_equal(count_differences(r), 0);
	write_sql(r, "UPDATE rollups SET core_ms = core_ms + 1 WHERE day = 20001");
	assert_int_equal(count_differences(r), 2); /* the row, and the total of the day */
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(days_of_any_job_sum_to_its_charge),
		TEST(a_batch_that_is_not_committed_leaves_nothing),
		TEST(a_job_is_imported_once_and_never_changed),
		TEST(the_listener_is_called_once_for_each_job_in_order),
		TEST(live_attempts_can_be_recomputed),
		TEST(every_wrong_figure_is_found),
		TEST(an_older_ledger_is_upgraded_and_still_recomputes),
	};

	/* The last one is of SQLite: there was no other ledger of schema 1. */
	return _cmocka_run_group_tests("tests", tests, ARRAY_LEN(tests) - !rig_is_sqlite(),
				       NULL, NULL);
}
