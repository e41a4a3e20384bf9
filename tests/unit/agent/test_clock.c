/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Laws of the running clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "agent/enforce/clock.h"

#define S INT64_C(1000000000)

static void running_and_suspended_time_sum_to_the_elapsed_time(void **unused)
{
	(void)unused;
	/* Every order of up to six freezes and thaws at every small distance. */
	for (unsigned world = 0; world < 1U << 12; world++) {
		struct clock c;
		int64_t at = 100 * S, truth_ns = 0;
		int frozen = 0;

		clock_start(&c, at);
		for (int i = 0; i < 6; i++) {
			unsigned what = world >> (2 * i) & 3;
			int64_t step = (what & 1) ? 3 * S : 1;

			truth_ns += frozen ? step : 0;
			at += step;
			if (what & 2) {
				clock_freeze(&c, at);
				frozen = 1;
			} else {
				clock_thaw(&c, at);
				frozen = 0;
			}
			assert_int_equal(clock_suspended_ns(&c, at), truth_ns);
			assert_int_equal(clock_running_ns(&c, at) + clock_suspended_ns(&c, at),
					 at - 100 * S);
		}
	}
}

static void suspended_time_never_reaches_the_walltime(void **unused)
{
	struct clock c;

	(void)unused;
	clock_start(&c, 10 * S);
	assert_int_equal(clock_deadline_ns(&c, 60), 70 * S);
	clock_freeze(&c, 20 * S);
	assert_int_equal(clock_deadline_ns(&c, 60), CLOCK_NEVER);
	clock_thaw(&c, 1020 * S);
	assert_int_equal(clock_deadline_ns(&c, 60), 1070 * S);
	assert_int_equal(clock_running_ns(&c, 1070 * S), 60 * S);
	assert_int_equal(clock_deadline_ns(&c, 0), CLOCK_NEVER);
	assert_int_equal(clock_deadline_ns(&c, INT64_MAX), CLOCK_NEVER);
}

static void the_kernels_frozen_time_replaces_the_agents(void **unused)
{
	struct clock c;

	(void)unused;
	clock_start(&c, 10 * S);
	/* Frozen twice between two samples, the second time still. */
	clock_sync(&c, (struct clock_account){ true, 50 * S, 25 * S }, 60 * S);
	assert_int_equal(clock_suspended_ns(&c, 60 * S), 25 * S);
	assert_int_equal(clock_suspended_ns(&c, 61 * S), 26 * S);
	clock_sync(&c, (struct clock_account){ false, 0, 27 * S }, 70 * S);
	assert_int_equal(clock_suspended_ns(&c, 70 * S), 27 * S);
	assert_int_equal(clock_running_ns(&c, 70 * S), 33 * S);
	/* More than there was can not be. */
	clock_sync(&c, (struct clock_account){ false, 0, 1000 * S }, 70 * S);
	assert_int_equal(clock_running_ns(&c, 70 * S), 0);
}

static void no_time_changes_after_the_end(void **unused)
{
	struct clock c;

	(void)unused;
	clock_start(&c, 10 * S);
	clock_freeze(&c, 15 * S);
	clock_stop(&c, 20 * S);
	clock_thaw(&c, 100 * S);
	clock_stop(&c, 200 * S);
	assert_int_equal(clock_running_ns(&c, 1000 * S), 5 * S);
	assert_int_equal(clock_suspended_ns(&c, 1000 * S), 5 * S);
	assert_int_equal(clock_deadline_ns(&c, 60), CLOCK_NEVER);
}

static void late_and_early_times_never_go_below_zero(void **unused)
{
	struct clock c = { 0 };

	(void)unused;
	assert_int_equal(clock_running_ns(&c, 5 * S), 0);
	clock_start(&c, 10 * S);
	clock_freeze(&c, 5 * S);
	clock_thaw(&c, 7 * S);
	assert_int_equal(clock_running_ns(&c, 9 * S), 0);
	assert_int_equal(clock_running_ns(&c, 11 * S), 1 * S);
	clock_stop(&c, 3 * S);
	assert_int_equal(clock_running_ns(&c, 99 * S), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_and_suspended_time_sum_to_the_elapsed_time),
		cmocka_unit_test(suspended_time_never_reaches_the_walltime),
		cmocka_unit_test(the_kernels_frozen_time_replaces_the_agents),
		cmocka_unit_test(no_time_changes_after_the_end),
		cmocka_unit_test(late_and_early_times_never_go_below_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
