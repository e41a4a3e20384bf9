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
	struct ended_job *list = NULL;
	struct slurm_question q;
	int64_t ngpus;

	(void)state;
	remember_job(&list, 7, 1, 0);
	remember_job(&list, 8, 1, 1);
	remember_job(&list, 7, 2, 2);
	assert_true(ended_find(list, 7, 3, &q, &ngpus));
	assert_int_equal(q.restarts, 2);
	assert_int_equal(q.vmem_bytes, 107);
	assert_string_equal(q.user, "user7");
	assert_int_equal(ngpus, 2);
	ended_forget(&list, 7);
	assert_false(ended_find(list, 7, 3, &q, &ngpus));
	assert_true(ended_find(list, 8, 3, &q, &ngpus));
	ended_free(&list);
	assert_null(list);
}

static void what_is_too_old_is_not_found(void **state)
{
	struct ended_job *list = NULL;
	struct slurm_question q;
	int64_t ngpus, end = ENDED_KEPT_S * S_NS;

	(void)state;
	remember_job(&list, 1, 1, 0);
	assert_true(ended_find(list, 1, end, &q, &ngpus));
	assert_false(ended_find(list, 1, end + 1, &q, &ngpus));
	remember_job(&list, 2, 1, end + 1); /* and its memory is given back */
	assert_null(list->next);
	ended_free(&list);
}

static void the_oldest_of_too_many_is_forgotten(void **state)
{
	struct ended_job *list = NULL;
	struct slurm_question q;
	int64_t ngpus;

	(void)state;
	for (uint32_t i = 1; i <= ENDED_MAX + 1; i++)
		remember_job(&list, i, 1, i);
	assert_false(ended_find(list, 1, ENDED_MAX + 1, &q, &ngpus));
	assert_true(ended_find(list, 2, ENDED_MAX + 1, &q, &ngpus));
	assert_true(ended_find(list, ENDED_MAX + 1, ENDED_MAX + 1, &q, &ngpus));
	ended_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_attempt_is_found_with_its_limits),
		cmocka_unit_test(what_is_too_old_is_not_found),
		cmocka_unit_test(the_oldest_of_too_many_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
