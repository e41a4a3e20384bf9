/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_unbegun - the mark of a job that no agent has taken lies beside the agent's socket, outlives every program, and
 * follows no link.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/wire/slurm.h"
#include "slurm/unbegun.h"

static char dir[] = "/tmp/test_unbegun.XXXXXX", sock[64];

/* The letter in the mark of `job`; 0: there is none. */
static char read_letter(uint32_t job)
{
	char path[128], letter = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/" SLURM_UNBEGUN_DIR "/%u", dir, job);
	f = fopen(path, "re");
	if (!f)
		return 0;
	assert_int_equal(fread(&letter, 1, 1, f), 1);
	fclose(f);
	return letter;
}

static void a_mark_says_why_until_it_is_removed(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(unbegun_mark(sock, 12, SLURM_UNANSWERED, &err), 0);
	assert_int_equal(unbegun_mark(sock, 4294967295, SLURM_BEGIN_REFUSED, &err), 0);
	assert_int_equal(read_letter(12), SLURM_UNANSWERED);
	assert_int_equal(read_letter(4294967295), SLURM_BEGIN_REFUSED);
	assert_int_equal(unbegun_mark(sock, 12, SLURM_BEGIN_REFUSED, &err),
			 0); /* after a requeue */
	assert_int_equal(read_letter(12), SLURM_BEGIN_REFUSED);
	unbegun_clear(sock, 12);
	unbegun_clear(sock, 12);
	assert_int_equal(read_letter(12), 0);
	unbegun_clear(sock, 4294967295);
}

static void others_read_no_marks(void **state)
{
	char path[128];
	struct stat st;
	struct err err;

	(void)state;
	assert_int_equal(unbegun_mark(sock, 1, SLURM_UNANSWERED, &err), 0);
	snprintf(path, sizeof(path), "%s/" SLURM_UNBEGUN_DIR, dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	unbegun_clear(sock, 1);
}

static void a_mark_follows_no_link(void **state)
{
	char path[128];
	struct err err;

	(void)state;
	assert_int_equal(unbegun_mark(sock, 1, SLURM_UNANSWERED, &err), 0);
	snprintf(path, sizeof(path), "%s/" SLURM_UNBEGUN_DIR "/7", dir);
	assert_int_equal(symlink("/tmp/test_unbegun.victim", path), 0);
	assert_int_equal(unbegun_mark(sock, 7, SLURM_UNANSWERED, &err), -ELOOP);
	assert_int_equal(access("/tmp/test_unbegun.victim", F_OK), -1);
	unbegun_clear(sock, 7);
	unbegun_clear(sock, 1);
}

static void without_a_run_directory_there_was_never_an_agent(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(
		unbegun_mark("/tmp/no/such/directory/slurm.sock", 1, SLURM_UNANSWERED, &err),
		-ENOENT);
}

static int make_directory(void **state)
{
	(void)state;
	snprintf(sock, sizeof(sock), "%s/slurm.sock", mkdtemp(dir));
	return 0;
}

static int remove_directory(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/" SLURM_UNBEGUN_DIR, dir);
	rmdir(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_says_why_until_it_is_removed),
		cmocka_unit_test(others_read_no_marks),
		cmocka_unit_test(a_mark_follows_no_link),
		cmocka_unit_test(without_a_run_directory_there_was_never_an_agent),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
