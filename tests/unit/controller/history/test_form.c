/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_form - which form the beginning of a history file has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/history/form.h"
#include "tests/unit/rig/exact.h"

#define NAMES "jobid|jobidraw|cluster|partition|qos|account\n"

static void each_form_is_recognised_by_its_first_lines(void **state)
{
	static const struct {
		const char *text;
		enum history_form form;
	} of[] = {
		{ "", HISTORY_FORM_UNKNOWN },
		{ " \n\n", HISTORY_FORM_UNKNOWN },
		{ "no form at all\n", HISTORY_FORM_UNKNOWN },
		{ "no form at all", HISTORY_FORM_UNKNOWN },
		{ "\n; Version: 2\n", HISTORY_FORM_SWF },
		{ "1 0 10 100 4 -1 -1 4 3600 -1 1 5 2 -1 1 0 -1 -1\n", HISTORY_FORM_SWF },
		{ "11/14/2023 23:15:00;Q;1.srv;queue=q\n", HISTORY_FORM_PBS },
		{ NAMES, HISTORY_FORM_SACCT },
		{ "1|2|3|4|5|6|7|8|9|0|1|2|3|4|5|6|7|8|9|0|1|2|3|4|5|6\n", HISTORY_FORM_SACCT },
		{ "1|2|3|4|5|6|7|8|9|0\n", HISTORY_FORM_SACCT_NARROW },
		{ "1|2|3\n", HISTORY_FORM_UNKNOWN },
		{ "a|2|3|4|5|6|7\n", HISTORY_FORM_UNKNOWN },
		{ "JobID        JobName\n------------ ----------\n1     a\n",
		  HISTORY_FORM_SACCT_TABLE },
		{ "JobID        JobName\n1     a\n", HISTORY_FORM_UNKNOWN },
		{ "{\n \"jobs\": []}", HISTORY_FORM_JSON },
		{ "[]", HISTORY_FORM_JSON },
		{ "---\njobs:\n", HISTORY_FORM_YAML },
		{ "%YAML 1.1\n", HISTORY_FORM_YAML },
		{ "<!DOCTYPE html>", HISTORY_FORM_HTML },
		{ "\xff\xfe"
		  "1",
		  HISTORY_FORM_UTF16 },
		{ "\xfd"
		  "7zXZ",
		  HISTORY_FORM_PACKED },
		{ "BZh9", HISTORY_FORM_PACKED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		size_t n = strlen(of[i].text);
		_cleanup_free_ char *copy = exact_copy(of[i].text, n);

		if (history_form_of(copy, n) != of[i].form)
			fail_msg("%s: %d", of[i].text, history_form_of(copy, n));
		assert_int_equal(strncmp(history_form_words(of[i].form), "th", 2) == 0,
				 of[i].form != HISTORY_FORM_SACCT_NARROW);
	}
	assert_string_equal(history_form_words(_HISTORY_FORM_MAX),
			    history_form_words(HISTORY_FORM_UNKNOWN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_recognised_by_its_first_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
