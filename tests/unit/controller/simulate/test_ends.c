/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ends - the heap of ends gives them back by time, then by job, whatever the order in which they came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/simulate/ends.h"

#define ENDS 700 /* more than the heap's first room */

static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Takes the first of the plain list away. */
static struct sim_end take_first(struct sim_end *list, size_t *n)
{
	struct sim_end first;
	size_t at = 0;

	for (size_t i = 1; i < *n; i++)
		if (list[i].at_s < list[at].at_s ||
		    (list[i].at_s == list[at].at_s && list[i].job < list[at].job))
			at = i;
	first = list[at];
	list[at] = list[--*n];
	return first;
}

static void ends_come_back_by_time_then_by_job(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	for (int world = 0; world < 40; world++) {
		struct sim_ends e = { 0 };
		struct sim_end list[ENDS];
		size_t n = 0;

		for (uint32_t job = 0; job < ENDS || n > 0;) {
			bool is_push = job < ENDS && (n == 0 || next_random(&random) % 5 > 1);
			struct sim_end x, y;

			if (is_push) {
				/* Few times, so that many are equal; jobs in no order. */
				x = (struct sim_end){ (int64_t)(next_random(&random) % 50),
						      job++ * 7919 % 1000 };
				assert_int_equal(sim_ends_push(&e, x.at_s, x.job), 0);
				list[n++] = x;
				continue;
			}
			x = take_first(list, &n);
			y = sim_ends_pop(&e);
			assert_int_equal(x.at_s, y.at_s);
			assert_int_equal(x.job, y.job);
		}
		assert_int_equal(e.n, 0);
		sim_ends_done(&e);
		assert_null(e.heap);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_come_back_by_time_then_by_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
