/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_replace_file - a file is replaced whole or not at all. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/replace_file.h"

static char dir[] = "/tmp/reeve-replace-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int replace_text(const char *name, const char *text, size_t size)
{
	struct err err = { "" };

	return replace_file(
		&(struct replace_file){
			.path = path_of(name), .text = text, .size = size, .is_synced = true },
		&err);
}

static void has_text(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "re");
	char buf[64] = "";

	assert_non_null(f);
	assert_true(fread(buf, 1, sizeof(buf) - 1, f) > 0);
	fclose(f);
	assert_string_equal(buf, text);
}

static size_t count_files(void)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void test_new_file_is_readable(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(replace_text("a", "one", 3), 0);
	has_text("a", "one");
	assert_int_equal(stat(path_of("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
}

static void test_replaced_file_keeps_its_mode(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(chmod(path_of("a"), 0640), 0);
	assert_int_equal(replace_text("a", "two", 3), 0);
	has_text("a", "two");
	assert_int_equal(stat(path_of("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

/* A full disk, as a limit of the file size shows it. */
static void test_failed_write_changes_nothing(void **state)
{
	static char large[65536];
	struct rlimit old, none;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	none = (struct rlimit){ 4096, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	memset(large, 'x', sizeof(large));
	assert_int_equal(replace_text("a", large, sizeof(large)), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	has_text("a", "two");
	assert_int_equal(count_files(), 1);
}

static void test_target_that_is_a_directory(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path_of("d"), 0700), 0);
	assert_true(replace_text("d", "x", 1) < 0);
	assert_int_equal(count_files(), 2);
	rmdir(path_of("d"));
}

static void test_refused_places(void **state)
{
	char *name = malloc(PATH_MAX);

	(void)state;
	assert_int_equal(replace_text("no/a", "x", 1), -ENOENT);
	memset(name, 'a', PATH_MAX - 1);
	name[PATH_MAX - 1] = '\0';
	assert_int_equal(
		replace_file(&(struct replace_file){ .path = name, .text = "x", .size = 1 },
			     &(struct err){ "" }),
		-ENAMETOOLONG);
	free(name);
}

static int open_dir(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path_of("a"));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_file_is_readable),
		cmocka_unit_test(test_replaced_file_keeps_its_mode),
		cmocka_unit_test(test_failed_write_changes_nothing),
		cmocka_unit_test(test_target_that_is_a_directory),
		cmocka_unit_test(test_refused_places),
	};

	return cmocka_run_group_tests(tests, open_dir, remove_dir);
}
