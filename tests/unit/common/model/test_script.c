/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_script - the option lines of a job script: how words are cut, what each line says wrong, and where. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/request.h"
#include "tests/unit/rig/exact.h"

static int parse_script(struct request *r, const char *text, size_t size,
			char ignored[static 256], struct err *err)
{
	_cleanup_free_ char *copy = exact_copy(text, size);

	request_init(r);
	return request_parse_script(r, copy, size, "x.sh", ignored, err);
}

static void expect_name(const char *line, const char *name)
{
	_cleanup_(request_done) struct request r;
	struct err err = { "" };
	char ignored[256];

	if (parse_script(&r, line, strlen(line), ignored, &err) < 0)
		fail_msg("%s: %s", line, err.text);
	if (strcmp(r.name, name) != 0)
		fail_msg("%s: '%s'", line, r.name);
	assert_string_equal(r.script, line);
}

static void a_value_stands_behind_its_option_in_each_way(void **state)
{
	(void)state;
	expect_name("#PBS -N a", "a");
	expect_name("#PBS -Na", "a");
	expect_name("#PBS  -N \t a \n", "a");
	expect_name("#REEVE --name a", "a");
	expect_name("#REEVE --name=a", "a");
	expect_name("#REEVE --name=a --name b", "b");
	expect_name("#PBS -N 'a'", "a");
	expect_name("#PBS -N \"a\"b'c'", "abc");
	expect_name("#PBS -N 'a", "a"); /* an open quote ends with the line */
	expect_name("#PBS -N a # -N b", "a");
	expect_name("#PBS # -N b", "");
}

static void expect_error(const char *text, size_t size, const char *says)
{
	_cleanup_(request_done) struct request r;
	struct err err = { "" };
	char ignored[256];

	assert_int_equal(parse_script(&r, text, size, ignored, &err), -EINVAL);
	if (!strstr(err.text, says))
		fail_msg("says: %s", err.text);
	assert_null(r.script);
}

#define EXPECT_ERROR(text, says) expect_error(text, sizeof(text) - 1, says)

static void a_fault_has_the_number_of_its_line(void **state)
{
	(void)state;
	EXPECT_ERROR("#PBS -N", "x.sh, line 1: -N needs a value");
	EXPECT_ERROR("\n\n#PBS -x 1\n", "x.sh, line 3: unknown directive '-x'");
	EXPECT_ERROR("#!/bin/sh\n#PBS --name\n", "x.sh, line 2: --name needs a value");
	EXPECT_ERROR("#PBS word", "unknown directive 'word'");
	EXPECT_ERROR("#PBS -", "unknown directive '-'");
	EXPECT_ERROR("#PBS --nam=x", "unknown directive '--nam'");
	EXPECT_ERROR("a\nb\0\n", "x.sh, line 2: there is a NUL byte");
	EXPECT_ERROR("\0", "x.sh, line 1: there is a NUL byte");
	EXPECT_ERROR("a\nb\nc\r\n", "x.sh, line 3: the line ends in CR LF");
	EXPECT_ERROR("", "x.sh: the job script is empty");
}

static void a_carriage_return_alone_is_a_byte_like_others(void **state)
{
	_cleanup_(request_done) struct request r, last;
	struct err err;
	char ignored[256];

	(void)state;
	assert_int_equal(parse_script(&r, "true \r x\n", 9, ignored, &err), 0);
	assert_int_equal(parse_script(&last, "true\r", 5, ignored, &err), 0);
}

static void a_line_and_a_script_are_bounded(void **state)
{
	static char text[REQUEST_SCRIPT_MAX + 2];
	_cleanup_(request_done) struct request r, all;
	struct err err = { "" };
	char ignored[256];

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "#PBS -N a", 9);
	assert_int_equal(parse_script(&r, text, 4095, ignored, &err), 0);
	assert_string_equal(r.name, "a");
	expect_error(text, 4096, "x.sh, line 1: the directive is longer than 4095 bytes");
	text[9] = '\n';
	assert_int_equal(parse_script(&all, text, REQUEST_SCRIPT_MAX, ignored, &err), 0);
	expect_error(text, REQUEST_SCRIPT_MAX + 1, "larger than 1 MiB");
}

static void what_pbs_has_and_reeve_has_not_is_told_once(void **state)
{
	static const char text[] =
		"#PBS -V -S /bin/sh -p 5 -V\n#PBS -W umask=022 -W depend=afterok:3\n"
		"#PBS -W group_list=x\n";
	_cleanup_(request_done) struct request r;
	struct err err = { "" };
	char ignored[256];

	(void)state;
	assert_int_equal(parse_script(&r, text, sizeof(text) - 1, ignored, &err), 0);
	assert_string_equal(ignored, "-V, -S, -p, -W");
	assert_int_equal(r.after.n, 1);
	assert_int_equal(r.after.at[0].id.job, 3);
}

static void options_end_at_the_first_command(void **state)
{
	expect_name("#!/bin/sh\n\n# a comment\n \t\n#PBS -N a\n\ntrue\n#PBS -N b\n", "a");
	expect_name("#x\n#PBS -N a\n#PBS -N b", "b");
	expect_name("  true\n#PBS -N b\n", "");
	(void)state;
}

static void the_last_script_read_is_that_of_the_request(void **state)
{
	_cleanup_(request_done) struct request r;
	struct err err;
	char ignored[256];

	(void)state;
	request_init(&r);
	assert_int_equal(request_parse_script(&r, "a\n", 2, "x.sh", ignored, &err), 0);
	assert_int_equal(request_parse_script(&r, "bc\n", 2, "x.sh", ignored, &err), 0);
	assert_string_equal(r.script, "bc");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_stands_behind_its_option_in_each_way),
		cmocka_unit_test(a_fault_has_the_number_of_its_line),
		cmocka_unit_test(a_carriage_return_alone_is_a_byte_like_others),
		cmocka_unit_test(a_line_and_a_script_are_bounded),
		cmocka_unit_test(what_pbs_has_and_reeve_has_not_is_told_once),
		cmocka_unit_test(options_end_at_the_first_command),
		cmocka_unit_test(the_last_script_read_is_that_of_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
