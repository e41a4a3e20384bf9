/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_asked.c - queries that a PostgreSQL server is asked ahead: their answers, their order, what is forgotten, and what fails. */
#include <errno.h>
#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/postgres/pg.h"
#include "tests/cluster/lib/pg_admin.h"

static const char *const schema[] = {
	"CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT NOT NULL) STRICT;", NULL
};
static const char add[] = "INSERT INTO t(a, b) VALUES(?1, ?2)";
static const char change[] = "UPDATE t SET b = ?2 WHERE a = ?1";
static const char text_sql[] = "SELECT b FROM t WHERE a = ?1 AND b >= ?2";
static const char some_sql[] = "SELECT a, b FROM t WHERE a IN (?1, ?2, ?3) ORDER BY a";
static char place[512];

static int set_up(void **state)
{
	static int n;
	struct err err = { "" };
	char sql[128];
	struct db *d;

	snprintf(sql, sizeof(sql), "CREATE SCHEMA asked%d_%d", (int)getpid(), ++n);
	pg_admin(sql);
	snprintf(place, sizeof(place), "%s&options=-csearch_path%%3Dasked%d_%d",
		 getenv("REEVE_TEST_POSTGRES"), (int)getpid(), n);
	if (pg_open(place, schema, &d, &err) < 0)
		fail_msg("%s", err.text);
	for (int64_t i = 1; i <= 3; i++)
		assert_int_equal(db_run(d, NULL, add, "it", i, "old"), 0);
	*state = d;
	return 0;
}

static int tear_down(void **state)
{
	db_close(*state);
	return 0;
}

static int ask_text(struct db *d, int64_t a, const char *from)
{
	return db_ask(d, NULL, text_sql, "it", a, from);
}

/* The text that the query says row a has; "": it says that there is none. */
static const char *text_of(struct db *d, int64_t a, const char *from)
{
	static char text[64];
	struct db_row *row;
	int r = db_query_first(d, NULL, &row, text_sql, "it", a, from);

	assert_true(r >= 0);
	snprintf(text, sizeof(text), "%s", r > 0 ? db_text(row, 0) : "");
	if (r > 0)
		db_done(row);
	return text;
}

/* That the answer is of the moment at which it was asked shows that it is not asked again. */
static void an_answer_is_that_of_the_moment_of_asking(void **state)
{
	struct db *d = *state;

	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(ask_text(d, 1, ""), 0);
	assert_int_equal(ask_text(d, 2, ""), 0);
	assert_int_equal(ask_text(d, 9, ""), 0);
	for (int64_t i = 1; i <= 2; i++)
		assert_int_equal(db_run_later(d, NULL, change, "it", i, "new"), 0);
	assert_string_equal(text_of(d, 2, ""), "old");	/* in any order */
	assert_string_equal(text_of(d, 2, ""), "new");	/* an answer is used once */
	assert_string_equal(text_of(d, 1, "a"), "new"); /* other values were not asked for */
	assert_string_equal(text_of(d, 1, ""), "old");
	assert_string_equal(text_of(d, 9, ""), "");
	assert_int_equal(db_commit(d, NULL), 0);
	assert_string_equal(text_of(d, 1, ""), "new");
}

static void integers_are_asked_for_too(void **state)
{
	struct db *d = *state;
	int64_t numbers[] = { 1, 3, 7 };
	const struct db_ints v = { numbers, 3, INT64_MIN };
	struct db_row *row;
	int n = 0, r;

	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(db_ask_ints(d, some_sql, &v, NULL), 0);
	assert_int_equal(db_run_later(d, NULL, change, "it", (int64_t)3, "new"), 0);
	assert_int_equal(db_query_ints(d, some_sql, &v, &row, NULL), 0);
	while ((r = db_step(d, row, NULL)) > 0) {
		assert_string_equal(db_text(row, 1), "old");
		n++;
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 2);
	assert_int_equal(db_commit(d, NULL), 0);
}

/* The caller's text may be gone when the answer is used. */
static void texts_are_copied(void **state)
{
	struct db *d = *state;
	char from[] = "ol";

	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(ask_text(d, 1, from), 0);
	memset(from, 'z', 2);
	assert_int_equal(db_run_later(d, NULL, change, "it", (int64_t)1, "new"), 0);
	assert_string_equal(text_of(d, 1, from), "");
	assert_string_equal(text_of(d, 1, "ol"), "old");
	db_rollback(d);
}

static void what_is_forgotten_is_asked_again(void **state)
{
	struct db *d = *state;

	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(ask_text(d, 1, ""), 0);
	assert_int_equal(ask_text(d, 2, ""), 0);
	assert_string_equal(text_of(d, 2, ""), "old"); /* both have arrived */
	assert_int_equal(ask_text(d, 3, ""), 0);       /* and this one has not */
	for (int64_t i = 1; i <= 3; i++)
		assert_int_equal(db_run_later(d, NULL, change, "it", i, "new"), 0);
	db_forget_asked(d);
	assert_string_equal(text_of(d, 1, ""), "new");
	assert_string_equal(text_of(d, 3, ""), "new");
	assert_int_equal(db_commit(d, NULL), 0);
}

static void the_end_of_a_transaction_forgets(void **state)
{
	struct db *d = *state;

	for (int how = 0; how < 2; how++) {
		assert_int_equal(db_begin(d, NULL), 0);
		assert_int_equal(ask_text(d, 1, ""), 0);
		assert_int_equal(db_run_later(d, NULL, change, "it", (int64_t)1, "new"), 0);
		if (how == 0)
			assert_int_equal(db_commit(d, NULL), 0);
		else
			db_rollback(d);
		assert_int_equal(db_begin(d, NULL), 0);
		assert_string_equal(text_of(d, 1, ""), "new");
		assert_int_equal(db_commit(d, NULL), 0);
	}
	/* Without a transaction nothing is sent. */
	assert_int_equal(ask_text(d, 1, ""), 0);
	assert_int_equal(db_run(d, NULL, change, "it", (int64_t)1, "newer"), 0);
	assert_string_equal(text_of(d, 1, ""), "newer");
}

/* More than a pipeline holds, between statements without an answer. */
static void thousands_are_answered_in_their_order(void **state)
{
	struct db *d = *state;
	char text[16];

	assert_int_equal(db_begin(d, NULL), 0);
	for (int64_t i = 10; i < 2010; i++) {
		snprintf(text, sizeof(text), "row %d", (int)i);
		assert_int_equal(db_run_later(d, NULL, add, "it", i, text), 0);
		assert_int_equal(ask_text(d, i, ""), 0);
	}
	for (int64_t i = 2009; i >= 10; i -= 7) {
		snprintf(text, sizeof(text), "row %d", (int)i);
		assert_string_equal(text_of(d, i, ""), text);
	}
	assert_int_equal(db_commit(d, NULL), 0);
}

/* What fails is known when room is made for more, and nothing of the transaction stays. */
static void a_failure_is_known_when_the_pipeline_is_full(void **state)
{
	struct db *d = *state;
	int64_t n = 0;
	int r;

	assert_int_equal(db_begin(d, NULL), 0);
	r = db_run_later(d, NULL, add, "it", (int64_t)1, "is there already");
	for (int64_t i = 10; i < 1010 && r >= 0; i++) {
		r = db_run_later(d, NULL, add, "it", i, "new");
		if (r >= 0)
			r = ask_text(d, i, "");
	}
	assert_int_equal(r, -EEXIST);
	db_rollback(d);
	assert_true(db_query_int(d, NULL, &n, "SELECT COUNT(*) FROM t", "") >= 0);
	assert_int_equal(n, 3);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(ask_text(d, 1, ""), 0);
	assert_string_equal(text_of(d, 1, ""), "old");
	assert_int_equal(db_commit(d, NULL), 0);
}

static void a_failure_fails_the_transaction_and_leaves_nothing(void **state)
{
	static const char bad[] = "SELECT 1 / (a - ?1) FROM t WHERE b >= ?2";
	struct db *d = *state;
	struct err err = { "" };
	struct db_row *row;

	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(ask_text(d, 1, ""), 0);
	assert_int_equal(db_ask(d, NULL, bad, "it", (int64_t)2, ""), 0);
	assert_int_equal(ask_text(d, 3, ""), 0);
	db_forget_asked(d);
	assert_int_equal(ask_text(d, 3, "a"), 0);
	assert_true(db_query_first(d, &err, &row, text_sql, "it", (int64_t)3, "a") < 0);
	assert_non_null(strstr(err.text, "division by zero"));
	assert_true(db_commit(d, NULL) < 0);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_string_equal(text_of(d, 3, ""), "old");
	assert_int_equal(db_commit(d, NULL), 0);
}

static void a_lost_connection_loses_the_answers(void **state)
{
	struct db *d = *state;
	struct db_row *row;

	assert_int_equal(db_begin(d, NULL), 0);
	assert_string_equal(text_of(d, 1, ""), "old"); /* prepared */
	assert_int_equal(ask_text(d, 1, ""), 0);
	pg_admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
		 "pg_backend_pid() AND backend_type = 'client backend'");
	assert_true(db_query_first(d, NULL, &row, text_sql, "it", (int64_t)1, "") < 0);
	assert_true(db_commit(d, NULL) < 0);
	assert_int_equal(db_begin(d, NULL), 0);
	assert_int_equal(ask_text(d, 2, ""), 0);
	assert_int_equal(db_run_later(d, NULL, change, "it", (int64_t)2, "new"), 0);
	assert_string_equal(text_of(d, 2, ""), "old");
	assert_int_equal(db_commit(d, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(an_answer_is_that_of_the_moment_of_asking),
		TEST(integers_are_asked_for_too),
		TEST(texts_are_copied),
		TEST(what_is_forgotten_is_asked_again),
		TEST(the_end_of_a_transaction_forgets),
		TEST(thousands_are_answered_in_their_order),
		TEST(a_failure_is_known_when_the_pipeline_is_full),
		TEST(a_failure_fails_the_transaction_and_leaves_nothing),
		TEST(a_lost_connection_loses_the_answers),
	};

	return cmocka_run_group_tests_name("queries asked ahead", tests, NULL, NULL);
}
