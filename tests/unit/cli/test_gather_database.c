/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `reeve admin doctor` finds out about a database file of another user (cli/admin/doctor/gather/database.h). Needs root. */
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "cli/admin/doctor/gather/database.h"

#define USER 61234 /* of no one else: all that runs as this user is stopped */
#define LIMIT_S 1
#define PATIENCE_S 30

static char dir[64];
static struct judge_database found;

static int run_sql(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int make_database(void **unused)
{
	sqlite3 *db;

	(void)unused;
	found = (struct judge_database){ .check = "ledger" };
	snprintf(dir, sizeof(dir), "/tmp/reeve-gather.XXXXXX");
	if (getuid() || !mkdtemp(dir)) {
		fprintf(stderr, "needs root\n");
		return -1;
	}
	snprintf(found.place, sizeof(found.place), "%s/ledger.db", dir);
	if (sqlite3_open(found.place, &db) || run_sql(db, "PRAGMA user_version = 7") ||
	    run_sql(db, "CREATE TABLE t (x)") || sqlite3_close(db))
		return -1;
	return chown(found.place, USER, USER) || chown(dir, USER, USER) ? -1 : 0;
}

static int unmake_database(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void a_file_of_another_user_is_read_as_that_user(void **unused)
{
	(void)unused;
	gather_database(LIMIT_S, &found);
	assert_string_equal(found.why, "");
	assert_true(found.is_there);
	assert_int_equal(found.version, 7);
}

/* Holds the database's lock, so that the look at it takes a while. */
static pid_t start_locker(void)
{
	sqlite3 *db;
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (sqlite3_open(found.place, &db) || run_sql(db, "BEGIN EXCLUSIVE") ||
		    write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static pid_t start_stopper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (setuid(USER) < 0)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			kill(-1, SIGSTOP);
	}
	return pid;
}

static void a_user_who_stops_the_look_does_not_keep_it(void **unused)
{
	pid_t locker = start_locker(), stopper = start_stopper();

	(void)unused;
	alarm(PATIENCE_S);
	gather_database(LIMIT_S, &found);
	alarm(0);
	assert_string_equal(found.why, "its check ended without a result");
	kill(locker, SIGKILL);
	kill(stopper, SIGKILL);
	waitpid(locker, NULL, 0);
	waitpid(stopper, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_of_another_user_is_read_as_that_user,
						make_database, unmake_database),
		cmocka_unit_test_setup_teardown(a_user_who_stops_the_look_does_not_keep_it,
						make_database, unmake_database),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
