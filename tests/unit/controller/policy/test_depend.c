/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_depend - which ends of a job meet a dependency, over all of them; and the sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "controller/policy/priority/depend.h"

static void exit_0_alone_is_success_and_any_end_is_an_end(void **state)
{
	(void)state;
	for (int kind = 0; kind < _END_MAX; kind++)
		for (int status = -1; status < 3; status++) {
			const struct job_end end = { .kind = (enum job_end_kind)kind,
						     .exit_status = status };
			bool is_well = kind == END_EXITED && status == 0;

			assert_int_equal(depend_judge(AFTER_OK, &end),
					 kind == END_NONE ? DEPEND_WAITS
					 : is_well	  ? DEPEND_MET
							  : DEPEND_FAILED);
			assert_int_equal(depend_judge(AFTER_ANY, &end),
					 kind == END_NONE ? DEPEND_WAITS : DEPEND_MET);
		}
}

static void the_sentence_names_the_job_and_its_end(void **state)
{
	const struct after a = { AFTER_OK, { 12, 7 } };
	struct job_end end = { .kind = END_EXITED, .exit_status = 3 };
	char buf[DEPEND_WORDS_MAX];

	(void)state;
	assert_string_equal(depend_words(a, &end, buf),
			    "it was to run once job 12[7] ended well (afterok), and that one "
			    "ended by itself with exit status 3");
	end = (struct job_end){ .kind = END_CANCELLED };
	strcpy(end.reason.text, "cancelled by alice");
	assert_non_null(
		strstr(depend_words(a, &end, buf), "was cancelled: cancelled by alice"));
	end = (struct job_end){ .kind = END_LIMIT, .reason.limit = LIMIT_VMEM };
	assert_non_null(strstr(depend_words(a, &end, buf), "was killed: vmem limit"));
	end = (struct job_end){ .kind = END_NONE };
	assert_string_equal(depend_words(a, &end, buf),
			    "waits for job 12[7] to end well (afterok)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_0_alone_is_success_and_any_end_is_an_end),
		cmocka_unit_test(the_sentence_names_the_job_and_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
