/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_pace - how long slurmctld is left alone after a question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/time_units.h"
#include "slurm/follow/read/pace.h"

static const struct pace_limit five_ms = { 5, 900 };

static void rest_keeps_the_share(void **state)
{
	struct pace p = { 0 };
	int64_t rest_ns;

	(void)state;
	assert_int_equal(pace_rest_ns(&p, 100000, &five_ms), 0);
	pace_note(&p, 400 * MS_NS, 100000);
	rest_ns = pace_rest_ns(&p, 100000, &five_ms);
	assert_in_range(rest_ns, 79 * S_NS, 80 * S_NS);
}

static void few_jobs_need_no_rest_worth_the_name(void **state)
{
	struct pace p = { 0 };

	(void)state;
	pace_note(&p, 2 * MS_NS, 10);
	assert_in_range(pace_rest_ns(&p, 10, &five_ms), 0, S_NS);
}

static void one_slow_answer_changes_nothing(void **state)
{
	struct pace p = { 0 };
	int64_t was;

	(void)state;
	pace_note(&p, 20 * MS_NS, 10000);
	was = pace_rest_ns(&p, 10000, &five_ms);
	pace_note(&p, 3000 * MS_NS, 10000);
	assert_int_equal(pace_rest_ns(&p, 10000, &five_ms), was);
}

static void a_cost_that_stays_counts(void **state)
{
	struct pace p = { 0 };

	(void)state;
	pace_note(&p, 20 * MS_NS, 10000);
	for (int i = 0; i < PACE_KEPT; i++)
		pace_note(&p, 200 * MS_NS, 10000);
	assert_in_range(pace_rest_ns(&p, 10000, &five_ms), 39 * S_NS, 40 * S_NS);
}

static void more_jobs_cost_more_before_they_are_measured(void **state)
{
	struct pace p = { 0 };

	(void)state;
	pace_note(&p, 20 * MS_NS, 10000);
	assert_in_range(pace_cost_ns(&p, 100000), 180 * MS_NS, 200 * MS_NS);
}

static void rest_has_a_ceiling(void **state)
{
	struct pace p = { 0 };

	(void)state;
	pace_note(&p, 60 * S_NS, 100000);
	assert_int_equal(pace_rest_ns(&p, 100000, &five_ms), 900 * S_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rest_keeps_the_share),
		cmocka_unit_test(few_jobs_need_no_rest_worth_the_name),
		cmocka_unit_test(one_slow_answer_changes_nothing),
		cmocka_unit_test(a_cost_that_stays_counts),
		cmocka_unit_test(more_jobs_cost_more_before_they_are_measured),
		cmocka_unit_test(rest_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
