/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_private - files of a daemon that others could read are closed to them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/private.h"

static char dir[] = "/tmp/reeve-private-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[4][128];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void make_file(const char *name, mode_t mode)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static unsigned mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(path_of(name), &st), 0);
	return st.st_mode & 07777;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/reeve-private-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void a_database_is_closed_with_its_log_and_copies(void **state)
{
	static const char *const names[] = { "l.db", "l.db-wal", "l.db-shm", "l.db.damaged-1",
					     "l.db.damaged-1-wal" };
	struct err err = { "" };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		make_file(names[i], 0644);
	make_file("l.dbx", 0644);
	make_file("other", 0664);
	assert_int_equal(private_mend_database(path_of("l.db"), &err), 5);
	assert_non_null(strstr(err.text, "could be read by others (mode 644)"));
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(mode_of(names[i]), 0600);
	assert_int_equal(mode_of("l.dbx"), 0644);
	assert_int_equal(mode_of("other"), 0664);
	assert_int_equal(private_mend_database(path_of("l.db"), &err), 0);
}

static void a_link_to_the_database_closes_what_it_leads_to(void **state)
{
	struct err err;

	(void)state;
	make_file("real", 0644);
	make_file("real-wal", 0640);
	assert_int_equal(symlink(path_of("real"), path_of("link")), 0);
	assert_int_equal(private_mend_database(path_of("link"), &err), 2);
	assert_int_equal(mode_of("real"), 0600);
	assert_int_equal(mode_of("real-wal"), 0600);
}

static void a_planted_link_opens_and_closes_nothing_elsewhere(void **state)
{
	struct err err;

	(void)state;
	make_file("target", 0644);
	assert_int_equal(mkdir(path_of("sub"), 0755), 0);
	assert_int_equal(symlink(path_of("target"), path_of("sub/l.db-wal")), 0);
	assert_int_equal(private_mend(&(struct private_files){ path_of("sub"), NULL }, &err),
			 0);
	assert_int_equal(mode_of("target"), 0644);
}

static void directories_keep_their_modes(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(mkdir(path_of("jobfs"), 0711), 0);
	assert_int_equal(chmod(path_of("jobfs"), 0711), 0);
	make_file("a", 0666);
	assert_int_equal(private_mend(&(struct private_files){ dir, NULL }, &err), 1);
	assert_int_equal(mode_of("jobfs"), 0711);
	assert_int_equal(mode_of("a"), 0600);
}

static void a_missing_database_is_no_error(void **state)
{
	struct err err = { "" };

	(void)state;
	assert_int_equal(private_mend_database(path_of("none/l.db"), &err), 0);
	assert_int_equal(private_mend(&(struct private_files){ path_of("none"), NULL }, &err),
			 -ENOENT);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_database_is_closed_with_its_log_and_copies),
		TEST(a_link_to_the_database_closes_what_it_leads_to),
		TEST(a_planted_link_opens_and_closes_nothing_elsewhere),
		TEST(directories_keep_their_modes),
		TEST(a_missing_database_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
