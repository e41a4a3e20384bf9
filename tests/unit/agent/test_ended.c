/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ended - what is remembered of Slurm's jobs that have ended: the last attempt of each, for a while, and so many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "agent/slurm/ended.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_attempt_is_found_with_its_limits),
		cmocka_unit_test(what_is_too_old_is_not_found),
		cmocka_unit_test(the_oldest_of_too_many_is_forgotten),
		cmocka_unit_test(restarts_are_read_of_the_line_of_the_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
