/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ended - what is remembered of Slurm's jobs that have ended: the last attempt of each, for a while, and so many. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "agent/slurm/ended.h"
#include "agent/slurm/ended_file.h"
#include "common/time_units.h"

static void remember_job(struct ended_job **list, uint32_t job, uint32_t restarts,
			 int64_t now_ns)
{
	struct slurm_question q = { .job = job, .restarts = restarts, .vmem_bytes = 100 + job };

	snprintf(q.user, sizeof(q.user), "user%u", job);
	ended_remember(list, &q, 2, now_ns);
}

static void the_last_attempt_is_found_with_its_limits(void **state)
{
	struct ended_job *list = NULL, *e;

	(void)state;
	remember_job(&list, 7, 1, 0);
	remember_job(&list, 8, 1, 1);
	remember_job(&list, 7, 2, 2);
	e = ended_find(list, 7, 3);
	assert_non_null(e);
	assert_int_equal(e->begin.restarts, 2);
	assert_int_equal(e->begin.vmem_bytes, 107);
	assert_string_equal(e->begin.user, "user7");
	assert_int_equal(e->ngpus, 2);
	ended_forget(&list, 7);
	assert_null(ended_find(list, 7, 3));
	assert_non_null(ended_find(list, 8, 3));
	ended_free(&list);
	assert_null(list);
}

static void what_is_too_old_is_not_found(void **state)
{
	struct ended_job *list = NULL;
	int64_t end = ENDED_KEPT_S * S_NS;

	(void)state;
	remember_job(&list, 1, 1, 0);
	assert_non_null(ended_find(list, 1, end));
	assert_null(ended_find(list, 1, end + 1));
	remember_job(&list, 2, 1, end + 1); /* and its memory is given back */
	assert_null(list->next);
	ended_free(&list);
}

static void the_oldest_of_too_many_is_forgotten(void **state)
{
	struct ended_job *list = NULL;

	(void)state;
	for (uint32_t i = 1; i <= ENDED_MAX + 1; i++)
		remember_job(&list, i, 1, i);
	assert_null(ended_find(list, 1, ENDED_MAX + 1));
	assert_non_null(ended_find(list, 2, ENDED_MAX + 1));
	assert_non_null(ended_find(list, ENDED_MAX + 1, ENDED_MAX + 1));
	ended_free(&list);
}

static void restarts_are_read_of_the_line_of_the_job(void **state)
{
	uint32_t restarts = 99;

	(void)state;
	assert_true(ended_read_restarts("36                  0                   \n", 36,
					&restarts));
	assert_int_equal(restarts, 0);
	assert_true(ended_read_restarts("36                  12                  \n", 36,
					&restarts));
	assert_int_equal(restarts, 12);
	assert_false(ended_read_restarts("35                  1                   \n", 36,
					 &restarts));
	assert_false(ended_read_restarts("36_1                1                   \n", 36,
					 &restarts));
	assert_false(ended_read_restarts("36                  65536               \n", 36,
					 &restarts));
	assert_false(ended_read_restarts("36                  -1                  \n", 36,
					 &restarts));
	assert_false(ended_read_restarts("36                  N/A                 \n", 36,
					 &restarts));
	assert_false(ended_read_restarts("36 99999999999999999999999999 0\n", 36, &restarts));
	assert_false(ended_read_restarts("\n", 36, &restarts));
	assert_int_equal(restarts, 12);
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void a_file_has_what_is_not_too_old(void **state)
{
	char path[] = "/tmp/reeve-test-ended.XXXXXX";
	struct ended_job *list = NULL, *again = NULL, *e;
	int64_t late = ENDED_KEPT_S * S_NS + 1;
	struct stat st;

	(void)state;
	assert_return_code(close(mkstemp(path)), errno);
	assert_int_equal(ended_file_read(path, &again, 0, NULL), -EBADMSG);
	remember_job(&list, 7, 1, 0);
	remember_job(&list, 8, 3, 5);
	remember_job(&list, 9, 1, 5);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ended_file_write(path, list, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(ended_file_read(path, &again, 4, NULL), -EBADMSG); /* of the future */
	assert_null(again);
	assert_int_equal(ended_file_read(path, &again, late, NULL), 0);
	assert_null(ended_find(again, 7, late));
	assert_non_null(ended_find(again, 9, late));
	e = ended_find(again, 8, late);
	assert_non_null(e);
	assert_int_equal(e->begin.restarts, 3);
	assert_int_equal(e->begin.vmem_bytes, 108);
	assert_string_equal(e->begin.user, "user8");
	assert_int_equal(e->ngpus, 2);
	assert_int_equal(e->known_ns, 0);
	ended_free(&again);
	ended_free(&list);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ended_file_read(path, &again, late, NULL), -ENOENT);
}

static void a_damaged_file_has_nothing(void **state)
{
	char path[] = "/tmp/reeve-test-ended.XXXXXX", bytes[8192];
	struct ended_job *list = NULL, *again = NULL;
	size_t size;
	FILE *f;

	(void)state;
	assert_return_code(close(mkstemp(path)), errno);
	remember_job(&list, 7, 1, 1);
	remember_job(&list, 8, 1, 2);
	assert_int_equal(ended_file_write(path, list, NULL), 0);
	f = fopen(path, "re");
	assert_non_null(f);
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	for (size_t cut = 1; cut <= size; cut++) {
		bool is_whole = (size - cut - 16) % ((size - 16) / 2) == 0 && size - cut >= 16;

		write_bytes(path, bytes, size - cut);
		assert_int_equal(ended_file_read(path, &again, 9, NULL),
				 is_whole ? 0 : -EBADMSG);
		ended_free(&again);
	}
	bytes[8]++; /* another version */
	write_bytes(path, bytes, size);
	assert_int_equal(ended_file_read(path, &again, 9, NULL), -EBADMSG);
	assert_null(again);
	assert_int_equal(unlink(path), 0);
	ended_free(&list);
}

static void as_many_as_are_remembered_are_in_the_file(void **state)
{
	char path[] = "/tmp/reeve-test-ended.XXXXXX";
	struct ended_job *list = NULL, *again = NULL;

	(void)state;
	assert_return_code(close(mkstemp(path)), errno);
	for (uint32_t i = 1; i <= ENDED_MAX; i++)
		remember_job(&list, i, 1, i);
	assert_int_equal(ended_file_write(path, list, NULL), 0);
	assert_int_equal(ended_file_read(path, &again, ENDED_MAX, NULL), 0);
	for (uint32_t i = 1; i <= ENDED_MAX; i++)
		assert_non_null(ended_find(again, i, ENDED_MAX));
	assert_int_equal(unlink(path), 0);
	ended_free(&again);
	ended_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_attempt_is_found_with_its_limits),
		cmocka_unit_test(what_is_too_old_is_not_found),
		cmocka_unit_test(the_oldest_of_too_many_is_forgotten),
		cmocka_unit_test(a_file_has_what_is_not_too_old),
		cmocka_unit_test(a_damaged_file_has_nothing),
		cmocka_unit_test(as_many_as_are_remembered_are_in_the_file),
		cmocka_unit_test(restarts_are_read_of_the_line_of_the_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
