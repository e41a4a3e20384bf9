/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_downgrade - a ledger that goes back to the release before has that release's tables, and its rows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/downgrade.h"
#include "controller/ledger/lead.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"

static int64_t read_number(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	int64_t n;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static int append_table(void *ctx, int n, char **values, char **names)
{
	char **text = ctx, *longer = NULL;

	(void)n, (void)names;
	assert_true(asprintf(&longer, "%s%s: %s\n", *text, values[0],
			     values[1] ? values[1] : "") > 0);
	free(*text);
	*text = longer;
	return 0;
}

/* Every table and index, as it was made. */
static char *read_tables(const char *path)
{
	char *text = strdup("");
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT name, sql FROM sqlite_schema ORDER BY name",
				      append_table, &text, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	return text;
}

/* A ledger as the release before makes it. */
static char *tables_before(struct rig *r)
{
	const char *first[STORE_SCHEMA_BEFORE + 1] = { NULL };
	char path[300], *text;
	struct db *db;

	memcpy(first, store_migrations, STORE_SCHEMA_BEFORE * sizeof(first[0]));
	snprintf(path, sizeof(path), "%s/before.db", r->dir);
	assert_int_equal(db_open(path, first, &db, NULL), 0);
	db_close(db);
	text = read_tables(path);
	unlink(path);
	return text;
}

static void unlink_lead(const struct rig *r)
{
	char path[300];

	snprintf(path, sizeof(path), "%s.lead", r->path);
	unlink(path);
}

static void a_ledger_gets_the_tables_of_the_release_before(void **state)
{
	struct rig *r = *state;
	struct store_downgraded d = { 0 };
	struct err err = { "" };
	char *before, *after;
	int64_t job;

	if (!rig_is_sqlite())
		skip();
	job = rig_job(r, NOON);
	r->store = store_close(r->store);
	if (store_downgrade(r->path, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(d.to, STORE_SCHEMA_BEFORE);
	assert_true(d.from > d.to);
	assert_int_equal(read_number(r->path, "PRAGMA user_version"), STORE_SCHEMA_BEFORE);
	before = tables_before(r);
	after = read_tables(r->path);
	assert_string_equal(after, before);
	free(before);
	free(after);
	assert_int_equal(read_number(r->path, "SELECT job FROM jobs"), job);
	unlink_lead(r);
	/* And forward again. */
	rig_reopen(r);
	assert_string_equal(rig_load_job(r, job).node, "n1");
}

static void what_is_not_there_or_in_use_is_not_touched(void **state)
{
	struct rig *r = *state;
	struct store_downgraded d;
	struct store_lead *lead = NULL;
	struct err err = { "" };
	char path[300];

	if (!rig_is_sqlite())
		skip();
	snprintf(path, sizeof(path), "%s/none.db", r->dir);
	assert_int_equal(store_downgrade(path, &d, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(store_lead_take(r->path, "a controller", &lead, &err), 0);
	assert_int_equal(store_downgrade(r->path, &d, &err), -EBUSY);
	assert_non_null(strstr(err.text, "stop it first"));
	store_lead_close(lead);
	unlink_lead(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_ledger_gets_the_tables_of_the_release_before,
						rig_open, rig_close),
		cmocka_unit_test_setup_teardown(what_is_not_there_or_in_use_is_not_touched,
						rig_open, rig_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
