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

/* The sentence of each end reads on: "and that one was cancelled", "and that one ended by ...". */
static void each_end_has_its_words(void **state)
{
	static const struct {
		enum job_end_kind kind;
		const char *words;
	} of[] = {
		{ END_SIGNALED, "and that one ended by signal 9 (KILL)" },
		{ END_LIMIT, "and that one was killed: none limit" },
		{ END_CANCELLED, "and that one was cancelled" },
		{ END_FAILED, "and that one could not be started" },
		{ END_NODE_LOST, "and that one was lost with its node" },
		{ END_DEPENDENCY,
		  "and that one never started, as what it waited for had failed" },
	};
	const struct after ok = { AFTER_OK, { 5, JOB_ID_NO_INDEX } };
	const struct after any = { AFTER_ANY, { 5, JOB_ID_NO_INDEX } };
	char buf[DEPEND_WORDS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct job_end end = { .kind = of[i].kind, .signal = 9 };

		if (!strstr(depend_words(ok, &end, buf), of[i].words))
			fail_msg("%s", buf);
		assert_string_equal(depend_words(any, &end, buf),
				    "waits for job 5 to end (afterany)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_0_alone_is_success_and_any_end_is_an_end),
		cmocka_unit_test(the_sentence_names_the_job_and_its_end),
		cmocka_unit_test(each_end_has_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
