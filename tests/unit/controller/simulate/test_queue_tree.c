/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_queue_tree - the search in the tree finds the same job as a search through all jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/simulate/pool/queue_tree.h"

struct job {
	int64_t cores, estimate_s; /* cores 0: none */
};

static uint32_t next_plainly(const struct job *jobs, uint32_t n, uint32_t from,
			     const struct queue_tree_limit *l)
{
	for (uint32_t i = from; i < n; i++)
		if (jobs[i].cores &&
		    (jobs[i].cores <= l->any_cores ||
		     (jobs[i].cores <= l->cores && jobs[i].estimate_s <= l->estimate_s)))
			return i;
	return QUEUE_TREE_NONE;
}

static void toggle_job(struct queue_tree *t, struct job *j, uint32_t place)
{
	if (j->cores) {
		queue_tree_remove(t, place);
		j->cores = 0;
		return;
	}
	*j = (struct job){ 1 + rand() % 20, 1 + rand() % 20 };
	queue_tree_add(t, place, j->cores, j->estimate_s);
}

static void the_next_job_is_the_one_that_a_full_search_finds(void **state)
{
	(void)state;
	srand(5);
	for (uint32_t n = 1; n <= 40; n++) {
		_cleanup_(queue_tree_freep) struct queue_tree *t = NULL;
		struct job jobs[40] = { 0 };

		assert_int_equal(queue_tree_new(n, &t), 0);
		for (int step = 0; step < 500; step++) {
			struct queue_tree_limit l = { rand() % 22, rand() % 22, rand() % 4 };
			uint32_t place = (uint32_t)rand() % n, from = (uint32_t)rand() % n;

			toggle_job(t, &jobs[place], place);
			assert_int_equal(queue_tree_next(t, from, &l),
					 next_plainly(jobs, n, from, &l));
			assert_int_equal(queue_tree_next(t, from, &QUEUE_TREE_ALL),
					 next_plainly(jobs, n, from, &QUEUE_TREE_ALL));
		}
	}
}

static void beyond_the_last_place_there_is_none(void **state)
{
	_cleanup_(queue_tree_freep) struct queue_tree *t = NULL;

	(void)state;
	assert_int_equal(queue_tree_new(3, &t), 0);
	queue_tree_add(t, 2, 1, 1);
	assert_int_equal(queue_tree_next(t, 2, &QUEUE_TREE_ALL), 2);
	assert_int_equal(queue_tree_next(t, 3, &QUEUE_TREE_ALL), QUEUE_TREE_NONE);
	assert_int_equal(queue_tree_next(t, 4, &QUEUE_TREE_ALL), QUEUE_TREE_NONE);
}

static void an_empty_queue_has_no_next(void **state)
{
	_cleanup_(queue_tree_freep) struct queue_tree *t = NULL;

	(void)state;
	assert_int_equal(queue_tree_new(0, &t), 0);
	assert_int_equal(queue_tree_next(t, 0, &QUEUE_TREE_ALL), QUEUE_TREE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_job_is_the_one_that_a_full_search_finds),
		cmocka_unit_test(beyond_the_last_place_there_is_none),
		cmocka_unit_test(an_empty_queue_has_no_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
