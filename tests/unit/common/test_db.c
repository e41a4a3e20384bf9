/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_db - the strict use of SQLite: versions, cached statements, failed transactions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>
#include "common/db/db.h"
#include "common/err.h"
#include "tests/unit/rig/fail_vfs.h"

static char dir[] = "/tmp/reeve-db-XXXXXX", path[64];
static const char first[] = "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT NOT NULL) STRICT";
static const char second[] = "ALTER TABLE t ADD COLUMN c INTEGER NOT NULL DEFAULT 7";
static const char *const v1[] = { first, NULL };
static const char *const v2[] = { first, second, NULL };
static const char *const broken[] = { first, "CREATE TABLE u(x INTEGER) STRICT; NOT SQL",
				      NULL };

/* In place of the C library's: SQLite syncs by one of these. */
static int n_syncs;
int fdatasync(int fd)
{
	(void)fd;
	n_syncs++;
	return 0;
}
int fsync(int fd)
{
	return fdatasync(fd);
}

static struct db *open_or_fail(const char *const *migrations)
{
	struct db *d = NULL;
	struct err err = { "" };

	if (db_open(path, migrations, &d, &err) < 0)
		fail_msg("%s", err.text);
	return d;
}

static int64_t query_number(struct db *d, const char *sql)
{
	struct db_row *st;
	int64_t n;

	assert_int_equal(db_query(d, NULL, &st, sql, ""), 0);
	assert_int_equal(db_step(d, st, NULL), 1);
	n = db_int(st, 0);
	db_done(st);
	return n;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/reeve-db-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.db", dir);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const tails[] = { "", "-wal", "-shm" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		char name[80];

		snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		unlink(name);
	}
	return rmdir(dir);
}

static void durability_is_full_and_journal_is_wal(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail(v1);
	struct db_row *st;

	(void)state;
	assert_int_equal(query_number(d, "PRAGMA synchronous"), 2);
	assert_int_equal(query_number(d, "PRAGMA foreign_keys"), 1);
	assert_int_equal(db_query(d, NULL, &st, "PRAGMA journal_mode", ""), 0);
	assert_int_equal(db_step(d, st, NULL), 1);
	assert_string_equal(db_text(st, 0), "wal");
}

static void schemas_go_up_and_never_down(void **state)
{
	struct db *d = open_or_fail(v1);
	struct err err = { "" };

	(void)state;
	assert_int_equal(db_run(d, NULL, "INSERT INTO t(b) VALUES(?1)", "t", "x"), 0);
	db_close(d);
	d = open_or_fail(v2);
	assert_int_equal(query_number(d, "SELECT c FROM t"), 7);
	db_close(d);
	assert_int_equal(db_open(path, v1, &d, &err), -EPROTO);
	assert_non_null(strstr(err.text, "newer"));
}

static void a_migration_that_fails_leaves_the_former_schema(void **state)
{
	struct db *d = open_or_fail(v1);
	struct err err;

	(void)state;
	db_close(d);
	assert_true(db_open(path, broken, &d, &err) < 0);
	d = open_or_fail(v2);
	assert_int_equal(query_number(d, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'u'"),
			 0);
	db_close(d);
}

static void a_file_that_is_no_database_is_named(void **state)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");
	struct db *d;
	struct err err = { "" };

	(void)state;
	for (int i = 0; i < 1000; i++)
		fputs("this is no database. ", f);
	fflush(f);
	assert_int_equal(db_open(path, v1, &d, &err), -EBADMSG);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(db_open("/nonexistent/x.db", v1, &d, &err), -EACCES);
}

static void a_broken_constraint_has_its_own_error(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail(v1);
	static const char insert[] = "INSERT INTO t VALUES(?1, ?2)";

	(void)state;
	assert_int_equal(db_run(d, NULL, insert, "it", (int64_t)1, "a"), 0);
	assert_int_equal(db_run(d, NULL, insert, "it", (int64_t)1, "b"), -EEXIST);
	assert_int_equal(db_run(d, NULL, insert, "it", (int64_t)2, NULL), -EINVAL);
	/* The statement is as good as new. */
	assert_int_equal(db_run(d, NULL, insert, "it", (int64_t)2, "b"), 0);
	assert_int_equal(db_changes(d), 1);
	assert_int_equal(db_last_id(d), 2);
	/* Fewer values than the statement has places for. */
	assert_int_equal(db_run(d, NULL, insert, "i", (int64_t)3), -EINVAL);
	assert_int_equal(query_number(d, "SELECT COUNT(*) FROM t"), 2);
}

static void blobs_and_largest_numbers_survive(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail(v1);
	static const char blob[] = "a\0b";
	struct db_row *st;

	(void)state;
	assert_int_equal(db_run(d, NULL, "INSERT INTO t VALUES(?1, 'x')", "i", INT64_MIN), 0);
	assert_int_equal(query_number(d, "SELECT MIN(a) FROM t"), INT64_MIN);
	assert_int_equal(db_query(d, NULL, &st, "SELECT LENGTH(?1), ?1 = x'610062'", "b", blob,
				  (size_t)3),
			 0);
	assert_int_equal(db_step(d, st, NULL), 1);
	assert_int_equal((int)db_int(st, 0), 3);
	assert_int_equal((int)db_int(st, 1), 1);
	assert_int_equal(db_step(d, st, NULL), 0);
}

/* For every n: a transaction of three rows whose n-th change on disk fails is not there at all,
 * and the next one works. */
static void a_transaction_is_stored_whole_or_not_at_all(void **state)
{
	static const char insert[] = "INSERT INTO t(b) VALUES(?1)";
	struct db *d;
	int64_t rows = 0;

	(void)state;
	fail_vfs_install();
	d = open_or_fail(v1);
	for (int n = 1, is_done = 0; !is_done; n++) {
		int r;

		fail_vfs_at(n);
		r = db_begin(d, NULL);
		for (int i = 0; i < 3 && r >= 0; i++)
			r = db_run(d, NULL, insert, "t", "row");
		if (r >= 0)
			r = db_commit(d, NULL);
		else
			db_rollback(d);
		is_done = !fail_vfs_off();
		rows += r < 0 ? 0 : 3;
		assert_int_equal(query_number(d, "SELECT COUNT(*) FROM t"), rows);
		db_close(d);
		d = open_or_fail(v1);
		assert_int_equal(query_number(d, "SELECT COUNT(*) FROM t"), rows);
		assert_true(!is_done || r == 0);
	}
	db_close(d);
}

static const char insert_row[] = "INSERT INTO t VALUES(?1) ON CONFLICT DO NOTHING";

static void rows_of_integers_say_what_each_changed(void **state)
{
	static const char *const v1_keys[] = { "CREATE TABLE t(a INTEGER PRIMARY KEY) STRICT;",
					       NULL };
	int64_t v[] = { 7, 8, 7, 9 }, changed[4];
	struct db *d = open_or_fail(v1_keys);

	(void)state;
	assert_int_equal(db_cache(d, 64 << 20, NULL), 0);
	assert_int_equal(query_number(d, "PRAGMA cache_size"), -65536);
	assert_int_equal(db_run_int_rows(d, insert_row, &(struct db_int_rows){ v, 4, 1, -1 },
					 changed, NULL),
			 0);
	assert_int_equal(changed[0], 1);
	assert_int_equal(changed[1], 1);
	assert_int_equal(changed[2], 0);
	assert_int_equal(changed[3], 1);
	assert_int_equal(query_number(d, "SELECT SUM(a) FROM t"), 24);
	db_close(d);
}

static void on_end(void *ctx, enum db_end how)
{
	char *seen = ctx;

	seen[strlen(seen)] = "cru"[how];
}

static int refuse_commit(void *ctx, struct err *err)
{
	(void)ctx;
	(void)err;
	return -EACCES;
}

static void a_callback_sees_the_end_of_each_transaction(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail(v1);
	char seen[8] = "";

	(void)state;
	db_on_end(d, on_end, seen);
	assert_false(db_is_begun(d));
	assert_int_equal(db_run(d, NULL, "INSERT INTO t(a, b) VALUES(3, 'x')", ""), 0);
	assert_string_equal(seen, "");
	assert_int_equal(db_begin(d, NULL), 0);
	assert_true(db_is_begun(d));
	assert_int_equal(db_commit(d, NULL), 0);
	assert_false(db_is_begun(d));
	assert_string_equal(seen, "c");
	assert_int_equal(db_begin(d, NULL), 0);
	db_rollback(d);
	db_rollback(d); /* nothing is under way */
	assert_string_equal(seen, "cr");
	db_guard(d, refuse_commit, NULL);
	assert_int_equal(db_begin(d, NULL), -EACCES);
	assert_false(db_is_begun(d));
	assert_string_equal(seen, "crr");
}

/* Does any of the database's files hold the word? */
static bool is_on_disk(const char *word)
{
	static const char *const tails[] = { "", "-wal" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		char command[160];

		snprintf(command, sizeof(command), "grep -qa %s %s%s 2>/dev/null", word, path,
			 tails[i]);
		found |= system(command) == 0;
	}
	return found;
}

static void deleted_rows_are_overwritten_on_disk(void **state)
{
	struct db *d = open_or_fail(v1);
	struct db_row *st;

	(void)state;
	assert_int_equal(db_run(d, NULL, "INSERT INTO t VALUES (1, 'keep'), (2, 'sesame')", ""),
			 0);
	assert_true(is_on_disk("sesame"));
	assert_int_equal(db_run(d, NULL, "DELETE FROM t WHERE a = 2", ""), 0);
	assert_int_equal(db_query(d, NULL, &st, "PRAGMA wal_checkpoint(TRUNCATE)", ""), 0);
	assert_int_equal(db_step(d, st, NULL), 1);
	db_done(st);
	assert_true(is_on_disk("keep"));
	assert_false(is_on_disk("sesame"));
	db_close(d);
}

static int count_syncs(struct db *d)
{
	n_syncs = 0;
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run(d, NULL, "INSERT INTO t(b) VALUES('x')", ""), 0);
	assert_int_equal(db_commit(d, NULL), 0);
	return n_syncs;
}

static void a_lazy_commit_is_not_synced_and_the_next_one_is(void **state)
{
	struct db *d = open_or_fail(v1), *other;

	(void)state;
	assert_true(count_syncs(d) > 0);
	assert_int_equal(db_lazy(d, true, NULL), 0);
	assert_int_equal(count_syncs(d), 0);
	n_syncs = 0;
	assert_int_equal(db_run(d, NULL, "INSERT INTO t(b) VALUES('x')", ""), 0);
	assert_int_equal(n_syncs, 0);
	assert_int_equal(db_lazy(d, false, NULL), 0);
	assert_true(count_syncs(d) > 0);
	other = open_or_fail(v1); /* as an agent that is started after a kill */
	assert_int_equal(query_number(other, "SELECT count(*) FROM t"), 4);
	db_close(other);
	db_close(d);
}

static void what_cannot_be_synced_again_is_not_begun(void **state)
{
	struct db *d = open_or_fail(v1);

	(void)state;
	assert_int_equal(db_lazy(d, true, NULL), 0);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_true(db_lazy(d, false, NULL) < 0); /* inside a transaction */
	db_rollback(d);
	assert_true(count_syncs(d) > 0);
	db_close(d);
}

/* 1: the plan of a join begins with all rows of `jobs`, of which none is looked for. `i`: one more than in the call before,
 * since a statement is prepared once, and a plan that is only explained is not made again. */
static int64_t scans_all_jobs(struct db *d, int i)
{
#define PLAN                                                                                   \
	"EXPLAIN QUERY PLAN SELECT j.job FROM arrays a JOIN jobs j ON j.job = a.job"           \
	" WHERE j.state = 0 AND j.held = 8 ORDER BY a.job"
	static const char plan[][sizeof(PLAN)] = { PLAN, PLAN, PLAN };
	struct db_row *st;
	int64_t n = 0;

	assert_int_equal(db_query(d, NULL, &st, plan[i], ""), 0);
	while (db_step(d, st, NULL) > 0)
		n += !strncmp(db_text(st, 3), "SCAN j", 6);
	return n;
}

static void run_elsewhere(const char *what)
{
	sqlite3 *other;

	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, what, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
}

/* Of arrays there were none when another program analysed the file. */
static void statistics_of_another_program_change_no_plan(void **state)
{
	static const char *const schema[] = {
		"CREATE TABLE arrays(job INTEGER PRIMARY KEY) STRICT;"
		"CREATE TABLE jobs(job INTEGER PRIMARY KEY, state INTEGER, held INTEGER) STRICT;"
		"CREATE INDEX jobs_active ON jobs(state, job) WHERE state < 5;"
		"CREATE INDEX jobs_held ON jobs(held, job);"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)"
		" INSERT INTO jobs SELECT i, 5, 0 FROM n",
		NULL
	};
	struct db *d;

	(void)state;
	d = open_or_fail(schema);
	assert_int_equal(scans_all_jobs(d, 0), 0);
	assert_int_equal(db_forget_statistics(d, NULL), 0);
	run_elsewhere("ANALYZE");
	assert_int_equal(query_number(d, "SELECT COUNT(*) FROM arrays"),
			 0); /* reads the schema */
	assert_int_equal(scans_all_jobs(d, 1), 1);
	assert_int_equal(db_forget_statistics(d, NULL), 1);
	assert_int_equal(scans_all_jobs(d, 2), 0);
	assert_int_equal(db_forget_statistics(d, NULL), 0);
	run_elsewhere("ANALYZE");
	db_close(d);
	d = open_or_fail(schema);
	assert_int_equal(scans_all_jobs(d, 0), 0);
	db_close(d);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(durability_is_full_and_journal_is_wal),
		T(a_lazy_commit_is_not_synced_and_the_next_one_is),
		T(what_cannot_be_synced_again_is_not_begun),
		T(schemas_go_up_and_never_down),
		T(a_migration_that_fails_leaves_the_former_schema),
		T(a_file_that_is_no_database_is_named),
		T(a_broken_constraint_has_its_own_error),
		T(blobs_and_largest_numbers_survive),
		T(a_transaction_is_stored_whole_or_not_at_all),
		T(rows_of_integers_say_what_each_changed),
		T(a_callback_sees_the_end_of_each_transaction),
		T(statistics_of_another_program_change_no_plan),
		T(deleted_rows_are_overwritten_on_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
