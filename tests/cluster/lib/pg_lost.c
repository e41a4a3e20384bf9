/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_lost.c - a PostgreSQL connection that goes away, two writers, and what is refused. */
#include <errno.h>
#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/postgres/pg.h"
#include "tests/cluster/lib/pg_admin.h"

static const char *const v1[] = {
	"CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT NOT NULL) STRICT;", NULL
};
static const char insert[] = "INSERT INTO t(b) VALUES(?1)";
static char place[512];

/* Every connection but the asking one. */
static void cut_all(void)
{
	pg_admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
		 "pg_backend_pid()"
		 " AND backend_type = 'client backend'");
}

static int set_up(void **state)
{
	static int n;
	char sql[128];

	(void)state;
	snprintf(sql, sizeof(sql), "CREATE SCHEMA lost%d_%d", (int)getpid(), ++n);
	pg_admin(sql);
	snprintf(place, sizeof(place), "%s&options=-csearch_path%%3Dlost%d_%d",
		 getenv("REEVE_TEST_POSTGRES"), (int)getpid(), n);
	return 0;
}

static struct db *open_or_fail(void)
{
	struct err err = { "" };
	struct db *d;

	if (pg_open(place, v1, &d, &err) < 0)
		fail_msg("%s", err.text);
	return d;
}

static int64_t count_all(struct db *d)
{
	struct db_row *row;
	int64_t n;

	assert_int_equal(db_query(d, NULL, &row, "SELECT COUNT(*) FROM t", ""), 0);
	assert_int_equal(db_step(d, row, NULL), 1);
	n = db_int(row, 0);
	db_done(row);
	return n;
}

static void a_lost_connection_is_made_again(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail();

	(void)state;
	assert_int_equal(db_run(d, NULL, insert, "t", "x"), 0);
	cut_all();
	/* its removal is announced once, then it is there again */
	if (db_run(d, NULL, insert, "t", "y") < 0)
		assert_int_equal(db_run(d, NULL, insert, "t", "y"), 0);
	assert_int_equal(count_all(d), 2);
}

static void what_was_under_way_has_failed_as_a_whole(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail();
	int r;

	(void)state;
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run(d, NULL, insert, "t", "x"), 0);
	cut_all();
	r = db_run(d, NULL, insert, "t", "y");
	assert_true(r < 0);
	assert_true(db_run(d, NULL, insert, "t", "z") < 0); /* not on a new connection */
	assert_true(db_commit(d, NULL) < 0);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(count_all(d), 0);
	assert_int_equal(db_run(d, NULL, insert, "t", "again"), 0);
	assert_int_equal(db_commit(d, NULL), 0);
	assert_int_equal(count_all(d), 1);
}

static void a_statement_that_failed_fails_the_transaction(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail();

	(void)state;
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run(d, NULL, insert, "t", "x"), 0);
	assert_int_equal(db_run(d, NULL, insert, "t", NULL), -EINVAL);
	assert_true(db_commit(d, NULL) < 0);
	assert_int_equal(count_all(d), 0);
}

static void kinds_of_values_survive(void **state)
{
	static const unsigned char blob[] = { 0, 1, 255, '\\', '\'' };
	_cleanup_(db_closep) struct db *d = open_or_fail();
	struct db_row *row;
	const void *data;
	size_t size;

	(void)state;
	assert_int_equal(db_query(d, NULL, &row, "SELECT ?1, ?2, ?3, ?4 IS NULL, ?5 = 5",
				  "itbti", INT64_MIN, "\xc3\xa4'\n", blob, sizeof(blob), NULL,
				  (int64_t)5),
			 0);
	assert_int_equal(db_step(d, row, NULL), 1);
	assert_true(db_int(row, 0) == INT64_MIN);
	assert_string_equal(db_text(row, 1), "\xc3\xa4'\n");
	data = db_blob(row, 2, &size);
	assert_int_equal(size, sizeof(blob));
	assert_memory_equal(data, blob, size);
	assert_int_equal(db_int(row, 3), 1);
	assert_int_equal(db_int(row, 4), 1);
	db_done(row);
	assert_int_equal(db_run(d, NULL, "INSERT INTO t VALUES(?1, ?2)", "it", (int64_t)7, "a"),
			 0);
	assert_int_equal(db_run(d, NULL, "INSERT INTO t VALUES(?1, ?2)", "it", (int64_t)7, "b"),
			 -EEXIST);
}

/* Each adds one to the same row, reading first: a lost update would show. */
static void writers_take_turns(void **state)
{
	enum { WRITERS = 4, ROUNDS = 25 };
	_cleanup_(db_closep) struct db *d = open_or_fail();
	int status;

	(void)state;
	for (int w = 0; w < WRITERS; w++) {
		if (fork() != 0)
			continue;
		d = open_or_fail();
		for (int i = 0; i < ROUNDS; i++) {
			char text[16];

			if (db_begin(d, NULL) < 0)
				_exit(1);
			snprintf(text, sizeof(text), "%d", (int)count_all(d));
			if (db_run(d, NULL, "INSERT INTO t SELECT COUNT(*) + 1, ?1 FROM t", "t",
				   text) < 0 ||
			    db_commit(d, NULL) < 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int w = 0; w < WRITERS; w++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_all(d), WRITERS * ROUNDS);
}

static void errors_say_where_and_never_the_password(void **state)
{
	static const char *const v2[] = { "CREATE TABLE t(a INTEGER) STRICT;",
					  "CREATE TABLE u(a INTEGER) STRICT;", NULL };
	_cleanup_(db_closep) struct db *d = NULL;
	struct db *other = NULL;
	struct err err = { "" };

	(void)state;
	assert_true(pg_open("postgresql://u:hidden@/x?host=/nonexistent", v1, &other, &err) <
		    0);
	assert_null(strstr(err.text, "hidden"));
	assert_non_null(strstr(err.text, "/nonexistent"));
	assert_int_equal(pg_open(place, v2, &d, &err), 0);
	assert_int_equal(pg_open(place, v1, &other, &err), -EPROTO);
	assert_non_null(strstr(err.text, "schema version 2"));
	assert_non_null(strstr(db_place(d), "schema lost"));
}

/* A migration that only moves rows of older schemas has nothing to do here. */
static void a_migration_without_tables_is_passed(void **state)
{
	static const char *const moved[] = { "CREATE TABLE t(a INTEGER PRIMARY KEY) STRICT;",
					     "UPDATE t SET a = a + 1; DELETE FROM t;",
					     "ALTER TABLE t ADD COLUMN b INTEGER;", NULL };
	_cleanup_(db_closep) struct db *d = NULL;
	struct err err = { "" };

	(void)state;
	if (pg_open(place, moved, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(db_run(d, &err, "INSERT INTO t(a, b) VALUES(1, 2)", ""), 0);
}

static const char insert_row[] = "INSERT INTO t VALUES(?1, 'x') ON CONFLICT DO NOTHING";
static const char scan_rows[] = "SELECT a FROM t WHERE a > ?1 ORDER BY a";

static void count_rows(struct db *d, int64_t above, int64_t want)
{
	struct db_row *row;
	int64_t n = 0;

	assert_int_equal(db_query(d, NULL, &row, scan_rows, "i", above), 0);
	db_scan(row);
	while (db_step(d, row, NULL) > 0)
		assert_int_equal(db_int(row, 0), above + ++n);
	assert_int_equal(n, want);
}

/* Rows are sent together, and read in portions: inside of a transaction and outside. */
static void many_rows_go_and_come(void **state)
{
	enum { ROWS = 10000 };
	static int64_t v[ROWS], changed[ROWS];
	const struct db_int_rows rows = { v, ROWS, 1, -1 };
	struct db *d = open_or_fail();
	struct db_row *row;

	(void)state;
	for (int i = 0; i < ROWS; i++)
		v[i] = i == 5000 ? 1 : i + 1;
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run_int_rows(d, insert_row, &rows, changed, NULL), 0);
	for (int i = 0; i < ROWS; i++)
		assert_int_equal(changed[i], i != 5000);
	v[0] = 5001;
	assert_int_equal(db_run_int_rows(d, insert_row, &(struct db_int_rows){ v, 1, 1, -1 },
					 changed, NULL),
			 0);
	count_rows(d, 0, ROWS);
	count_rows(d, 4096, ROWS - 4096);
	count_rows(d, ROWS, 0);
	assert_int_equal(db_commit(d, NULL), 0);
	count_rows(d, 0, ROWS);
	/* One that is not read to its end leaves nothing behind. */
	assert_int_equal(db_query(d, NULL, &row, scan_rows, "i", (int64_t)0), 0);
	db_scan(row);
	assert_int_equal(db_step(d, row, NULL), 1);
	db_done(row);
	assert_int_equal(
		db_query(d, NULL, &row, "SELECT COUNT(*) FROM pg_cursors WHERE name <> ''", ""),
		0);
	assert_int_equal(db_step(d, row, NULL), 1);
	assert_int_equal(db_int(row, 0), 0);
	db_close(d);
}

/* A row that cannot be added: the message says why, and the connection goes on. */
static void a_row_that_fails_in_between_fails_them_all(void **state)
{
	static const char strict[] = "INSERT INTO t VALUES(?1, 'x')";
	int64_t v[] = { 1, 2, 1, 3 }, changed[4];
	struct db *d = open_or_fail();
	struct err err = { "" };

	(void)state;
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(
		db_run_int_rows(d, strict, &(struct db_int_rows){ v, 4, 1, -1 }, changed, &err),
		-EEXIST);
	assert_non_null(strstr(err.text, "duplicate key"));
	db_rollback(d);
	count_rows(d, 0, 0);
	db_close(d);
}

/* Known rows among new ones, and one twice: each is recognised. */
static void rows_as_arrays_tell_new_from_known(void **state)
{
	static const char *const keys[] = {
		"CREATE TABLE k(a INTEGER PRIMARY KEY, b INTEGER) STRICT;", NULL
	};
	static const char into[] = "INSERT INTO k VALUES(?1, ?2) ON CONFLICT DO NOTHING";
	int64_t v[] = { 1, 10, 2, -1, 3, 30 }, w[] = { 4, 40, 2, 99, 5, 50, 5, 55 }, changed[4];
	_cleanup_(db_closep) struct db *d = NULL;
	struct db_row *row;

	(void)state;
	assert_int_equal(pg_open(place, keys, &d, NULL), 0);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(
		db_run_int_rows(d, into, &(struct db_int_rows){ v, 3, 2, -1 }, changed, NULL),
		0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(changed[i], 1);
	assert_int_equal(
		db_run_int_rows(d, into, &(struct db_int_rows){ w, 4, 2, -1 }, changed, NULL),
		0);
	assert_int_equal(changed[0], 1);
	assert_int_equal(changed[1], 0);
	assert_int_equal(changed[2], 1);
	assert_int_equal(changed[3], 0);
	assert_int_equal(db_commit(d, NULL), 0);
	assert_int_equal(db_query(d, NULL, &row, "SELECT SUM(b), COUNT(b) FROM k", ""), 0);
	assert_int_equal(db_step(d, row, NULL), 1);
	assert_int_equal(db_int(row, 0), 130);
	assert_int_equal(db_int(row, 1), 4); /* the NULL is one */
	db_done(row);
}

/* Few are sent one by one and many as arrays: both leave the same. */
static void rows_are_changed_together(void **state)
{
	static const char *const keys[] = {
		"CREATE TABLE k(a INTEGER PRIMARY KEY, n INTEGER, b TEXT, c BLOB) STRICT;", NULL
	};
	static const char put[] = "INSERT INTO k(a, n, b, c) VALUES(?1, ?2, ?3, ?4)"
				  " ON CONFLICT(a) DO UPDATE SET n = k.n + excluded.n,"
				  " b = excluded.b, c = excluded.c";
	static const char change[] = "UPDATE k SET b = ?3, n = n - ?2, c = ?4 WHERE a = ?1";
	static const unsigned char bytes[] = { 0, 255, '\\', '\'', 0 };
	static const int64_t sizes[] = { 1, 2, 3, 300 };
	_cleanup_(db_closep) struct db *d = NULL;
	struct db_row *row;
	const void *data;
	size_t size;

	(void)state;
	assert_int_equal(pg_open(place, keys, &d, NULL), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const int64_t n = sizes[i];
		struct db_rows add = { .sql = put, .format = "iitb" }, more = add,
			       less = { .sql = change, .format = "iitb" };

		assert_int_equal(db_run(d, NULL, "DELETE FROM k", ""), 0);
		assert_int_equal(db_begin(d, NULL), 0);
		for (int64_t a = 1; a <= n; a++) {
			assert_int_equal(
				db_rows_add(&add, NULL, a, a, "first", bytes, (size_t)1), 0);
			assert_int_equal(db_rows_add(&more, NULL, a, INT64_C(100), "second",
						     bytes, (size_t)2),
					 0);
			assert_int_equal(db_rows_add(&less, NULL, a, INT64_C(1),
						     a % 2 ? "a 'text', \\ {\"" : NULL, bytes,
						     a % 3 ? sizeof(bytes) : (size_t)0),
					 0);
		}
		assert_int_equal(db_rows_write(d, &add, NULL), 0);
		assert_int_equal(db_rows_write(d, &more, NULL), 0);
		assert_int_equal(db_rows_write(d, &less, NULL), 0);
		assert_int_equal(db_commit(d, NULL), 0);
		db_rows_done(&add);
		db_rows_done(&more);
		db_rows_done(&less);
		assert_int_equal(
			db_query(d, NULL, &row, "SELECT a, n, b, c FROM k ORDER BY a", ""), 0);
		for (int64_t a = 1; a <= n; a++) {
			assert_int_equal(db_step(d, row, NULL), 1);
			assert_int_equal(db_int(row, 0), a);
			assert_int_equal(db_int(row, 1), a + 99);
			if (a % 2)
				assert_string_equal(db_text(row, 2), "a 'text', \\ {\"");
			else
				assert_true(db_is_null(row, 2));
			data = db_blob(row, 3, &size);
			assert_int_equal(size, a % 3 ? sizeof(bytes) : 0);
			assert_memory_equal(data, bytes, size);
		}
		assert_int_equal(db_step(d, row, NULL), 0);
	}
}

/* What was sent ahead is there for the next question, and its failure fails the commit. */
static void what_is_run_later_is_run_in_order(void **state)
{
	static const char add[] = "INSERT INTO t VALUES(?1, ?2)";
	struct db *d = open_or_fail();
	struct err err = { "" };
	struct db_row *row;

	(void)state;
	assert_int_equal(db_begin(d, NULL), 0);
	for (int64_t i = 1; i <= 2000; i++)
		assert_int_equal(db_run_later(d, NULL, add, "it", i, "x"), 0);
	assert_int_equal(db_query(d, NULL, &row, "SELECT COUNT(*) FROM t", ""), 0);
	assert_int_equal(db_step(d, row, NULL), 1);
	assert_int_equal(db_int(row, 0), 2000);
	db_done(row);
	assert_int_equal(db_run_later(d, NULL, add, "it", (int64_t)2001, "y"), 0);
	assert_int_equal(db_commit(d, NULL), 0);
	count_rows(d, 0, 2001);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run_later(d, NULL, add, "it", (int64_t)3000, "z"), 0);
	assert_int_equal(db_run_later(d, NULL, add, "it", (int64_t)7, "z"), 0);
	assert_int_equal(db_commit(d, &err), -EEXIST);
	assert_non_null(strstr(err.text, "duplicate key"));
	count_rows(d, 0, 2001);
	/* And the next transaction is whole again. */
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run_later(d, NULL, add, "it", (int64_t)2002, "z"), 0);
	assert_int_equal(db_commit(d, NULL), 0);
	count_rows(d, 0, 2002);
	db_close(d);
}

/* ---- rows that are read while they arrive ---- */

static const char many_sql[] = "SELECT a, 'a row of the answer' FROM generate_series(1, ?1) a";
#define MANY INT64_C(300000) /* more than the buffers between the server and us */

/* The statement, at its first row. */
static struct db_row *stream_many(struct db *d)
{
	struct db_row *row;

	assert_int_equal(db_query(d, NULL, &row, many_sql, "i", MANY), 0);
	db_stream(row);
	assert_int_equal(db_step(d, row, NULL), 1);
	assert_int_equal(db_int(row, 0), 1);
	return row;
}

static void streamed_values_are_those_of_the_table(void **state)
{
	static const char sql[] =
		"SELECT ?1, ?2, ?3, ?4 IS NULL, ?5 = 5, b, '$9', '\\N', '', ?6 FROM t ORDER BY a";
	static const char *const texts[] = { "\t\n\r\b\f\v\\", "\\N", "\\", "", "\xc3\xa4'\"" };
	static const char hostile[] = "'; DROP TABLE t; --\\'$1";
	_cleanup_(db_closep) struct db *d = open_or_fail();
	struct db_row *row;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(db_run(d, NULL, insert, "t", texts[i]), 0);
	assert_int_equal(db_query(d, NULL, &row, sql, "itttii", INT64_MIN, hostile, NULL, NULL,
				  (int64_t)5, INT64_MAX),
			 0);
	db_stream(row);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(db_step(d, row, NULL), 1);
		assert_true(db_int(row, 0) == INT64_MIN);
		assert_string_equal(db_text(row, 1), hostile);
		assert_true(db_is_null(row, 2));
		assert_int_equal(db_int(row, 3), 1);
		assert_int_equal(db_int(row, 4), 1);
		assert_string_equal(db_text(row, 5), texts[i]);
		assert_string_equal(db_text(row, 6), "$9");
		assert_string_equal(db_text(row, 7), "\\N");
		assert_string_equal(db_text(row, 8), "");
		assert_true(db_int(row, 9) == INT64_MAX);
	}
	assert_int_equal(db_step(d, row, NULL), 0);
	assert_int_equal(count_all(d), 5);
}

static void a_streamed_statement_takes_no_blob(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail();
	struct db_row *row;

	(void)state;
	assert_int_equal(db_query(d, NULL, &row, "SELECT ?1", "b", "x", (size_t)1), 0);
	db_stream(row);
	assert_int_equal(db_step(d, row, NULL), -EINVAL);
	assert_int_equal(count_all(d), 0);
}

static void a_statement_between_streamed_rows_is_refused(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail();
	struct db_row *row = stream_many(d);
	struct err err = { "" };
	int64_t n = 1;
	int r;

	(void)state;
	assert_int_equal(db_run(d, &err, insert, "t", "x"), -EBUSY);
	assert_non_null(strstr(err.text, "between the rows"));
	assert_int_equal(db_begin(d, NULL), -EBUSY);
	while ((r = db_step(d, row, NULL)) > 0)
		assert_int_equal(db_int(row, 0), ++n);
	assert_int_equal(r, 0);
	assert_int_equal(n, MANY);
	assert_int_equal(db_run(d, NULL, insert, "t", "x"), 0);
	assert_int_equal(count_all(d), 1);
}

static void a_stream_that_is_given_up_leaves_the_connection_usable(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail();

	(void)state;
	db_done(stream_many(d));
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run(d, NULL, insert, "t", "x"), 0);
	db_done(stream_many(d));
	assert_int_equal(db_commit(d, NULL), 0);
	assert_int_equal(count_all(d), 1);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_run(d, NULL, insert, "t", "y"), 0);
	stream_many(d);
	db_rollback(d);
	assert_int_equal(count_all(d), 1);
	stream_many(d); /* and is closed in between */
}

/* Never the end: a caller would take half of the rows for all of them. */
static void a_connection_lost_between_streamed_rows_is_an_error(void **state)
{
	_cleanup_(db_closep) struct db *d = open_or_fail();
	struct db_row *row = stream_many(d);
	struct err err = { "" };
	int64_t n = 1;
	int r;

	(void)state;
	cut_all();
	while ((r = db_step(d, row, &err)) > 0)
		n++;
	assert_true(r < 0);
	assert_true(n < MANY);
	assert_true(strlen(err.text) > 0);
	assert_int_equal(count_all(d), 0); /* on a new connection */
	db_done(stream_many(d));
}

static void an_error_between_streamed_rows_fails_the_statement(void **state)
{
	static const char sql[] = "SELECT 1 / (?1 - a) FROM generate_series(1, 100000) a";
	_cleanup_(db_closep) struct db *d = open_or_fail();
	struct err err = { "" };
	struct db_row *row;
	int64_t n = 0;
	int r;

	(void)state;
	for (int is_begun = 0; is_begun < 2; is_begun++) {
		if (is_begun)
			assert_int_equal(db_begin(d, NULL), 0);
		assert_int_equal(db_query(d, NULL, &row, sql, "i", INT64_C(50000)), 0);
		db_stream(row);
		for (n = 0; (r = db_step(d, row, &err)) > 0; n++)
			;
		assert_int_equal(r, -EINVAL);
		assert_int_equal(n, 49999);
		assert_non_null(strstr(err.text, "division by zero"));
	}
	assert_true(db_commit(d, NULL) < 0);
	assert_int_equal(count_all(d), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_lost_connection_is_made_again, set_up),
		cmocka_unit_test_setup(what_was_under_way_has_failed_as_a_whole, set_up),
		cmocka_unit_test_setup(a_statement_that_failed_fails_the_transaction, set_up),
		cmocka_unit_test_setup(kinds_of_values_survive, set_up),
		cmocka_unit_test_setup(writers_take_turns, set_up),
		cmocka_unit_test_setup(a_migration_without_tables_is_passed, set_up),
		cmocka_unit_test_setup(many_rows_go_and_come, set_up),
		cmocka_unit_test_setup(a_row_that_fails_in_between_fails_them_all, set_up),
		cmocka_unit_test_setup(rows_as_arrays_tell_new_from_known, set_up),
		cmocka_unit_test_setup(rows_are_changed_together, set_up),
		cmocka_unit_test_setup(what_is_run_later_is_run_in_order, set_up),
		cmocka_unit_test_setup(streamed_values_are_those_of_the_table, set_up),
		cmocka_unit_test_setup(a_streamed_statement_takes_no_blob, set_up),
		cmocka_unit_test_setup(a_statement_between_streamed_rows_is_refused, set_up),
		cmocka_unit_test_setup(a_stream_that_is_given_up_leaves_the_connection_usable,
				       set_up),
		cmocka_unit_test_setup(a_connection_lost_between_streamed_rows_is_an_error,
				       set_up),
		cmocka_unit_test_setup(an_error_between_streamed_rows_fails_the_statement,
				       set_up),
		cmocka_unit_test_setup(errors_say_where_and_never_the_password, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
