/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_pbs_id - ids of PBS as numbers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/model/pbs/id.h"

static int64_t parse_id(const char *text)
{
	struct err err;
	int64_t n = 0;
	int r = pbs_id_parse(text, &n, &err);

	return r < 0 ? r : n;
}

static void an_id_has_its_number_with_and_without_the_server(void **state)
{
	(void)state;
	assert_int_equal(parse_id("4711.gadi-pbs"), 4711);
	assert_int_equal(parse_id("4711"), 4711);
	/* Ids of a large site are above 2^26, where Slurm's end. */
	assert_int_equal(parse_id("137123456.gadi-pbs"), 137123456);
	assert_int_equal(parse_id("549755813887.s"), 549755813887);
}

static void a_task_of_an_array_has_a_number_that_no_job_has(void **state)
{
	char text[PBS_ID_SHORT_MAX];

	(void)state;
	assert_int_equal(parse_id("7[9].s"), (INT64_C(1) << 39) + (9 << 25) + 7);
	assert_true(parse_id("33554431[16383].s") <= PBS_NUMBER_MAX);
	assert_int_not_equal(parse_id("7[0].s"), parse_id("7.s"));
	assert_string_equal(pbs_id_format(parse_id("7[9].s"), text), "7[9]");
	assert_string_equal(pbs_id_format(parse_id("7[0]"), text), "7[0]");
	assert_string_equal(pbs_id_format(parse_id("33554431[16383]"), text),
			    "33554431[16383]");
	assert_string_equal(pbs_id_format(4711, text), "4711");
}

static void what_is_no_id_is_refused(void **state)
{
	static const char *const bad[] = { "",	   "x",	    "0",
					   "-1",   "7[",    "7[]",
					   "7[x]", "7[9",   "7[9]x",
					   "7x.s", " 7",    "7[-1].s",
					   ".s",   "7[].s", "99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse_id(bad[i]) != -EINVAL)
			fail_msg("'%s' is %lld", bad[i], (long long)parse_id(bad[i]));
}

static void an_id_beyond_the_numbers_is_refused_by_another_name(void **state)
{
	int64_t n = 77;
	struct err err;

	(void)state;
	assert_int_equal(parse_id("549755813888.s"), -ERANGE);
	assert_int_equal(parse_id("7[16384].s"), -ERANGE);
	assert_int_equal(parse_id("33554432[1].s"), -ERANGE);
	assert_int_equal(pbs_id_parse("549755813888.s", &n, &err), -ERANGE);
	assert_string_equal(err.text,
			    "job '549755813888.s' has no number in Reeve: its ids end at "
			    "549755813887");
	assert_int_equal(pbs_id_parse("7[16384]", &n, &err), -ERANGE);
	assert_string_equal(err.text,
			    "array task '7[16384]' has no number in Reeve: indices end at "
			    "16383, and ids of job arrays at 33554431");
	assert_int_equal(n, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_has_its_number_with_and_without_the_server),
		cmocka_unit_test(a_task_of_an_array_has_a_number_that_no_job_has),
		cmocka_unit_test(what_is_no_id_is_refused),
		cmocka_unit_test(an_id_beyond_the_numbers_is_refused_by_another_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
