/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_array - what an array is, what a job waits for, and how both are named. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/after.h"

static void arrays_read_and_print_back(void **state)
{
	static const struct {
		const char *text, *shown;
		int64_t n, last, at_once;
	} good[] = {
		{ "0-999", "0-999", 1000, 999, 0 },
		{ "5", "5-5", 1, 5, 0 },
		{ "0-9:3", "0-9:3", 4, 9, 0 },
		{ "1-9:3", "1-7:3", 3, 7, 0 },
		{ "0-999%20", "0-999%20", 1000, 999, 20 },
		{ "10-20:5%1", "10-20:5%1", 3, 20, 1 },
		{ "999999999", "999999999-999999999", 1, 999999999, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct array a, again;
		char buf[ARRAY_TEXT_MAX];

		assert_int_equal(array_parse(good[i].text, &a, NULL), 0);
		assert_int_equal(a.n, good[i].n);
		assert_int_equal(a.last, good[i].last);
		assert_int_equal(a.at_once, good[i].at_once);
		assert_string_equal(array_format(&a, buf), good[i].shown);
		assert_int_equal(array_parse(buf, &again, NULL), 0);
		assert_memory_equal(&a, &again, sizeof(a));
	}
}

/* Over small worlds: every index that is stepped to has one ordinal, and back; no other has. */
static void each_index_has_one_ordinal_and_back(void **state)
{
	char text[ARRAY_TEXT_MAX];
	struct array a;

	(void)state;
	for (int first = 0; first < 4; first++)
		for (int last = first; last < 9; last++)
			for (int step = 1; step < 5; step++) {
				snprintf(text, sizeof(text), "%d-%d:%d", first, last, step);
				assert_int_equal(array_parse(text, &a, NULL), 0);
				for (int k = 0, i = first; i <= last; i += step, k++)
					assert_int_equal(array_ordinal(&a, array_index(&a, k)),
							 k);
				for (int i = -2; i < 12; i++)
					assert_true(array_ordinal(&a, i) < 0 ||
						    array_index(&a, array_ordinal(&a, i)) == i);
			}
}

static void each_fault_of_an_array_has_its_own_message(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{ "", "FIRST-LAST" },
		{ "x", "FIRST-LAST" },
		{ "1-", "FIRST-LAST" },
		{ "-5", "FIRST-LAST" },
		{ "1-5:", "FIRST-LAST" },
		{ "1-5%", "FIRST-LAST" },
		{ "1-5 ", "FIRST-LAST" },
		{ "1,2", "FIRST-LAST" },
		{ "5-1", "before it begins" },
		{ "1-5:0", "step of 0" },
		{ "1-5%0", "at once of 0" },
		{ "0-1000000000", "0 to 999999999" },
		{ "0-99999999999999999999", "0 to 999999999" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct array a = { .n = 7 };
		struct err err = { "" };

		assert_int_equal(array_parse(bad[i].text, &a, &err), -EINVAL);
		assert_int_equal(a.n, 7);
		if (!strstr(err.text, bad[i].word))
			fail_msg("'%s': %s", bad[i].text, err.text);
	}
}

static void jobs_have_one_name(void **state)
{
	static const char *const bad[] = { "",
					   "0",
					   "-1",
					   "1x",
					   "1[",
					   "1[2",
					   "1[x]",
					   "[2]",
					   "1[2]x",
					   "1[-1]",
					   "1.2",
					   "1[1000000000]",
					   "9999999999999999999" };
	struct job_id id;
	char buf[JOB_ID_TEXT_MAX];

	(void)state;
	assert_int_equal(job_id_parse("123[7]", &id, NULL), 0);
	assert_string_equal(job_id_format(id, buf), "123[7]");
	assert_string_equal(job_id_format_path(id, buf), "123.7");
	assert_int_equal(job_id_parse("123[]", &id, NULL), 0);
	assert_string_equal(job_id_format_path(id, buf), "123");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (job_id_parse(bad[i], &id, NULL) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
}

static void dependencies_read_as_in_pbs(void **state)
{
	struct after_list l = { 0 };

	(void)state;
	assert_int_equal(after_parse("afterok:1:2[7],afterany:3[]:1,afterok:1", &l, NULL), 0);
	assert_int_equal(after_parse_jobs("4,5[0]", AFTER_ANY, &l, NULL), 0);
	assert_int_equal(l.n, 6); /* the second afterok:1 says nothing new */
	assert_int_equal(l.at[1].kind, AFTER_OK);
	assert_int_equal(l.at[1].id.job, 2);
	assert_int_equal(l.at[1].id.index, 7);
	assert_int_equal(l.at[3].kind, AFTER_ANY);
	assert_int_equal(l.at[3].id.job, 1);
	assert_int_equal(l.at[5].id.index, 0);
	after_list_done(&l);
}

static void bad_dependencies_are_named(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{ "", "KIND:JOB" },
		{ "1", "kinds are afterok and afterany" },
		{ "afternotok:1", "'afternotok'" },
		{ "afterok", "job number is missing" },
		{ "afterok:", "job number is missing" },
		{ "afterok:1:", "job number is missing" },
		{ "afterok:1,", "KIND:JOB" },
		{ "afterok:x", "'x' is not a job number" },
		{ "afterok:1.server", "'1.server'" },
		{ "afterok::1", "job number is missing" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct after_list l = { 0 };
		struct err err = { "" };

		assert_int_equal(after_parse(bad[i].text, &l, &err), -EINVAL);
		if (!strstr(err.text, bad[i].word))
			fail_msg("'%s': %s", bad[i].text, err.text);
		after_list_done(&l);
	}
}

static void a_job_waits_for_a_bounded_number(void **state)
{
	struct after_list l = { 0 };
	struct err err = { "" };

	(void)state;
	for (int i = 1; i <= AFTER_MAX; i++)
		assert_int_equal(
			after_list_add(&l, (struct after){ AFTER_OK, { i, -1 } }, NULL), 0);
	assert_int_equal(after_list_add(&l, (struct after){ AFTER_OK, { 999, -1 } }, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "at most 256"));
	after_list_done(&l);
}

static void a_list_that_is_done_is_empty(void **state)
{
	struct after_list l = { 0 };

	(void)state;
	assert_int_equal(after_parse("afterok:1:2", &l, NULL), 0);
	after_list_done(&l);
	assert_null(l.at);
	assert_int_equal(l.n, 0);
}

static void a_task_has_its_own_output(void **state)
{
	static const struct {
		const char *path, *name, *want;
		char letter;
	} rows[] = {
		{ NULL, "sim", "sim.o12.999999999", 'o' },
		{ NULL, "sim", "sim.e12.999999999", 'e' },
		{ "out", "sim", "out", 'o' },
		{ "^array_index^", "sim", "999999999", 'o' },
		{ "/a/^array_index^/b.^array_index^", "sim", "/a/999999999/b.999999999", 'o' },
		{ "^array_index^^array_index^^array_index^x", "sim",
		  "999999999999999999999999999x", 'o' },
		{ "^array_index", "sim", "^array_index", 'o' },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_free_ char *got =
			array_format_output(rows[i].path, rows[i].name, rows[i].letter,
					    (struct job_id){ 12, 999999999 });

		assert_non_null(got);
		assert_string_equal(got, rows[i].want);
	}
}

static void a_task_has_its_numbers_in_its_environment(void **state)
{
	static const char *const want[ARRAY_ENV] = {
		[ARRAY_ENV_JOB] = "REEVE_ARRAY_JOB=12",
		[ARRAY_ENV_INDEX] = "REEVE_ARRAY_INDEX=7",
		[ARRAY_ENV_PBS_ID] = "PBS_ARRAY_ID=12",
		[ARRAY_ENV_PBS_INDEX] = "PBS_ARRAY_INDEX=7",
	};
	char buf[ARRAY_ENV_MAX];

	(void)state;
	for (int i = 0; i < ARRAY_ENV; i++)
		assert_string_equal(array_format_env((struct job_id){ 12, 7 }, i, buf),
				    want[i]);
}

static void kinds_of_waiting_have_names(void **state)
{
	enum after_kind k = AFTER_ANY;

	(void)state;
	assert_string_equal(after_kind_name(AFTER_OK), "afterok");
	assert_string_equal(after_kind_name(AFTER_ANY), "afterany");
	assert_string_equal(after_kind_name(_AFTER_KIND_MAX), "?");
	assert_string_equal(after_kind_name((enum after_kind)(int64_t)-1), "?");
	assert_int_equal(after_kind_parse("afterok", &k), 0);
	assert_int_equal(k, AFTER_OK);
	assert_int_equal(after_kind_parse("after", &k), -EINVAL);
	assert_int_equal(k, AFTER_OK);
}

/* One dependency is the kind, the job and the index; a word has at most 79 bytes. */
static void a_dependency_is_new_where_any_of_its_parts_is(void **state)
{
	static const struct after of[] = { { AFTER_OK, { 1, 2 } },
					   { AFTER_ANY, { 1, 2 } },
					   { AFTER_OK, { 3, 2 } },
					   { AFTER_OK, { 1, 4 } } };
	struct after_list l = { 0 };
	struct err err = { "" };
	char text[100] = "afterok:";

	(void)state;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_LEN(of); i++)
			assert_int_equal(after_list_add(&l, of[i], NULL), 0);
	assert_int_equal(l.n, ARRAY_LEN(of));
	memset(text + 8, '0', 80);
	text[8 + 80] = '\0';
	assert_int_equal(after_parse(text, &l, &err), -EINVAL);
	assert_string_equal(err.text, "afterok: a job number is missing");
	text[8 + 79] = '\0';
	text[8 + 78] = '7';
	assert_int_equal(after_parse(text, &l, &err), 0);
	assert_int_equal(l.at[l.n - 1].id.job, 7);
	after_list_done(&l);
}

static void numbers_of_jobs_and_indices_are_bounded(void **state)
{
	static const struct array none = { .step = 1 };
	struct array a;
	struct job_id id;

	(void)state;
	assert_int_equal(job_id_parse("999999999999999999", &id, NULL), 0);
	assert_true(id.job == 999999999999999999 && id.index == JOB_ID_NO_INDEX);
	assert_int_equal(job_id_parse("1000000000000000000", &id, NULL), -EINVAL);
	assert_int_equal(job_id_parse("1[999999999]", &id, NULL), 0);
	assert_int_equal(id.index, 999999999);
	assert_int_equal(job_id_parse("1[0]", &id, NULL), 0);
	assert_int_equal(id.index, 0);
	assert_int_equal(array_ordinal(&none, 0), -1);
	assert_int_equal(array_parse("0-0:999999999%999999999", &a, NULL), 0);
	assert_true(a.n == 1 && a.at_once == 999999999);
	assert_int_equal(array_parse("3-12:4", &a, NULL), 0);
	assert_int_equal(array_ordinal(&a, 2), -1);
	assert_int_equal(array_ordinal(&a, 3), 0);
	assert_int_equal(array_ordinal(&a, 11), 2);
	assert_int_equal(array_ordinal(&a, 12), -1);
	assert_int_equal(array_ordinal(&a, 15), -1);
	assert_int_equal(array_parse("0-9:1", &a, NULL), 0);
	assert_int_equal(a.n, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_read_and_print_back),
		cmocka_unit_test(each_index_has_one_ordinal_and_back),
		cmocka_unit_test(each_fault_of_an_array_has_its_own_message),
		cmocka_unit_test(jobs_have_one_name),
		cmocka_unit_test(dependencies_read_as_in_pbs),
		cmocka_unit_test(bad_dependencies_are_named),
		cmocka_unit_test(a_job_waits_for_a_bounded_number),
		cmocka_unit_test(a_list_that_is_done_is_empty),
		cmocka_unit_test(a_task_has_its_own_output),
		cmocka_unit_test(a_task_has_its_numbers_in_its_environment),
		cmocka_unit_test(kinds_of_waiting_have_names),
		cmocka_unit_test(a_dependency_is_new_where_any_of_its_parts_is),
		cmocka_unit_test(numbers_of_jobs_and_indices_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
