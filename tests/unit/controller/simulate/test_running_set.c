/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_running_set - when how many cores are free, compared with a sum over all running jobs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/simulate/pool/running_set.h"

#define JOBS 700

/* Over every end: what all that end until then give back. */
static int when_plainly(const struct running_set_job *jobs, int64_t cores, int64_t *ret_at,
			int64_t *ret_freed)
{
	int r = -ENOENT;

	for (int i = 0; i < JOBS; i++) {
		int64_t freed = 0;

		for (int k = 0; k < JOBS && jobs[i].cores; k++)
			freed += jobs[k].end_s <= jobs[i].end_s ? jobs[k].cores : 0;
		if (freed < cores || (r == 0 && jobs[i].end_s >= *ret_at))
			continue;
		*ret_at = jobs[i].end_s;
		*ret_freed = freed;
		r = 0;
	}
	return r;
}

static void toggle_job(struct running_set *s, struct running_set_job *j, uint32_t job, int ends)
{
	if (j->cores) {
		assert_int_equal(running_set_remove(s, j), 0);
		assert_int_equal(running_set_remove(s, j), -ENOENT);
		j->cores = 0;
		return;
	}
	*j = (struct running_set_job){ rand() % ends, job, 1 + rand() % 9 };
	assert_int_equal(running_set_add(s, j), 0);
}

static void compare_with_plain(const struct running_set *s, const struct running_set_job *jobs)
{
	int64_t cores = 1 + rand() % 2000, at = -1, freed = -1, want_at = -1, want_freed = -1;
	int want = when_plainly(jobs, cores, &want_at, &want_freed);

	assert_int_equal(running_set_when(s, cores, &at, &freed), want);
	assert_int_equal(at, want_at);
	assert_int_equal(freed, want_freed);
}

static void the_time_of_free_cores_is_the_one_that_a_full_sum_finds(void **state)
{
	static const int spans[] = { 1, 3, 50, 100000 };

	(void)state;
	srand(7);
	for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
		_cleanup_(running_set_freep) struct running_set *s = NULL;
		struct running_set_job jobs[JOBS] = { 0 };

		assert_int_equal(running_set_new(&s), 0);
		for (int step = 0; step < 6000; step++) {
			uint32_t job = (uint32_t)rand() % JOBS;

			toggle_job(s, &jobs[job], job, spans[i]);
			if (step % 40 == 0)
				compare_with_plain(s, jobs);
		}
		for (uint32_t job = 0; job < JOBS; job++)
			if (jobs[job].cores)
				toggle_job(s, &jobs[job], job, spans[i]);
		compare_with_plain(s, jobs);
	}
}

static void a_job_that_never_ran_is_not_removed(void **state)
{
	_cleanup_(running_set_freep) struct running_set *s = NULL;
	const struct running_set_job j = { 10, 1, 4 }, other = { 10, 2, 4 };
	int64_t at, freed;

	(void)state;
	assert_int_equal(running_set_new(&s), 0);
	assert_int_equal(running_set_remove(s, &j), -ENOENT);
	assert_int_equal(running_set_add(s, &j), 0);
	assert_int_equal(running_set_remove(s, &other), -ENOENT);
	assert_int_equal(running_set_when(s, 4, &at, &freed), 0);
	assert_int_equal(running_set_when(s, 5, &at, &freed), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_free_cores_is_the_one_that_a_full_sum_finds),
		cmocka_unit_test(a_job_that_never_ran_is_not_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
