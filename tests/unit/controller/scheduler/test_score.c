/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_score - edges of the score by which jobs suspend others: each curve at its bounds, what counts as time lost, and the sums by
 * owner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/preempt/preempt_impl.h"

#define EPSILON 1e-12

static void assert_near(double x, double y)
{
	assert_true(x - y < EPSILON && y - x < EPSILON);
}

/* ---- the score ---- */

static const struct preempt_job usual = { .cores = 4, .limit_s = 100 };

static void time_suspended_overdue_and_projected_each_expand_a_job(void **state)
{
	struct preempt_job b = usual, a = { .cores = 8, .limit_s = 60, .ran_s = 20 };

	(void)state;
	assert_near(preempt_xfactor(&b), 1);
	b.suspended_s = 7;
	assert_near(preempt_xfactor(&b), 1.07);
	b.overdue_s = 5;
	assert_near(preempt_xfactor(&b), 1.12);
	assert_near(preempt_score(&a, &b).xfactor, 1.52); /* what a may still run: 40 */
	a.overdue_s = a.suspended_s = 1000;
	assert_near(preempt_score(&a, &b).xfactor, 1.52);
}

static void without_a_limit_a_second_is_the_measure(void **state)
{
	struct preempt_job b = { .cores = 1, .suspended_s = 3 };

	(void)state;
	assert_near(preempt_xfactor(&b), 4);
	b.limit_s = 1;
	assert_near(preempt_xfactor(&b), 4);
	b.limit_s = 2;
	assert_near(preempt_xfactor(&b), 2.5);
}

static void size_is_the_cube_of_a_quarter_of_the_binary_logarithm(void **state)
{
	static const struct {
		int64_t a, b;
		double size;
	} rows[] = { { 16, 4, 0.125 }, { 4, 16, -0.125 }, { 5, 5, 0 },
		     { 16, 1, 1 },     { 64, 1, 1 },	  { 1, 64, -1 },
		     { 0, 1, 0 },      { 1, 0, 0 },	  { 2, 0, 1.0 / 64 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct preempt_job a = { .cores = rows[i].a, .limit_s = 10, .ran_s = 10 };
		struct preempt_job b = { .cores = rows[i].b, .limit_s = 10 };

		assert_near(preempt_score(&a, &b).size, rows[i].size);
		assert_near(preempt_score(&a, &b).sum, rows[i].size);
	}
}

static void running_compares_the_jobs_of_both_owners(void **state)
{
	static const struct {
		int64_t a, b;
		double running;
	} rows[] = { { 0, 7, 0.125 }, { 7, 0, -0.125 }, { 3, 31, 0.125 }, { 9, 9, 0 },
		     { 0, 63, 1 },    { 0, 255, 1 },	{ 255, 0, -1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct preempt_job a = usual, b = usual;

		a.ran_s = a.limit_s;
		a.n_running = rows[i].a;
		b.n_running = rows[i].b;
		assert_near(preempt_score(&a, &b).running, rows[i].running);
		assert_near(preempt_score(&a, &b).sum, rows[i].running);
	}
}

static void expansion_and_done_only_ever_take_from_the_score(void **state)
{
	struct preempt_job a = { .cores = 4, .limit_s = 12500 };
	struct preempt_job b = { .cores = 4, .limit_s = 100000 };

	(void)state;
	assert_near(preempt_score(&a, &b).expansion, -0.125); /* half of 1.25 */
	assert_near(preempt_score(&a, &b).sum, -0.125);
	a.limit_s = 50000;
	assert_near(preempt_score(&a, &b).expansion, -8); /* twice, at most */
	a.limit_s = 5000000;
	assert_near(preempt_score(&a, &b).expansion, -8);
	a.limit_s = 0;
	a.ran_s = 1000; /* beyond its limit: nothing is won */
	assert_near(preempt_score(&a, &b).expansion, 0);
	a.ran_s = 0;
	b.ran_s = 50000;
	assert_near(preempt_score(&a, &b).done, -2.0 / 256);
	assert_near(preempt_score(&a, &b).sum, -2.0 / 256);
	b.ran_s = 100000;
	assert_near(preempt_score(&a, &b).done, -2);
	b.ran_s = 900000;
	assert_near(preempt_score(&a, &b).done, -2);
}

static void a_parallel_run_needs_more_than_nothing_and_at_most_a_quarter(void **state)
{
	struct preempt_job a = { .cores = 16, .limit_s = 125 };
	struct preempt_job b = { .cores = 4, .limit_s = 1000 };

	(void)state;
	assert_near(preempt_score(&a, &b).sum, 0); /* 0.125 of size, -0.125 of expansion */
	assert_false(preempt_score(&a, &b).may_parallel);
	a.limit_s = 124;
	assert_true(preempt_score(&a, &b).may_parallel);
	b.cores = 1;
	b.n_running = 7;
	a.limit_s = 250;
	assert_near(preempt_score(&a, &b).sum, 0.125);
	assert_true(preempt_score(&a, &b).may_parallel);
	a.limit_s = 251;
	assert_true(preempt_score(&a, &b).sum > 0.1);
	assert_false(preempt_score(&a, &b).may_parallel);
	a.limit_s = 1;
	b.cores = a.cores; /* it is not smaller */
	assert_true(preempt_score(&a, &b).sum > 0.1);
	assert_false(preempt_score(&a, &b).may_parallel);
}

/* ---- what a job has lost so far ---- */

static void the_time_of_its_present_state_counts_too(void **state)
{
	struct job j = { .pub = { .limit_s = 1000, .ran_s = 50, .suspended_s = 30 },
			 .cores = 6,
			 .since_s = 200 };
	struct preempt_job m;

	(void)state;
	j.state = SCHEDULE_RUNNING;
	m = preempt_job_of(&j, 220);
	assert_int_equal(m.ran_s, 70);
	assert_int_equal(m.suspended_s, 30);
	assert_int_equal(m.overdue_s, 0);
	assert_int_equal(m.cores, 6);
	assert_int_equal(m.limit_s, 1000);
	assert_int_equal(m.n_running, 0);
	j.state = SCHEDULE_SUSPENDED;
	m = preempt_job_of(&j, 220);
	assert_int_equal(m.ran_s, 50);
	assert_int_equal(m.suspended_s, 50);
	j.state = SCHEDULE_QUEUED;
	m = preempt_job_of(&j, 220);
	assert_int_equal(m.ran_s, 50);
	assert_int_equal(m.suspended_s, 30);
}

static void a_job_is_overdue_from_its_withdrawn_start_to_its_first_run(void **state)
{
	struct job j = { .pub = { .limit_s = 1000, .overdue_since_s = 100 } };

	(void)state;
	j.state = SCHEDULE_QUEUED;
	assert_int_equal(preempt_job_of(&j, 130).overdue_s, 30);
	assert_int_equal(preempt_job_of(&j, 90).overdue_s, 0);
	j.state = SCHEDULE_RUNNING; /* since 140, as it did not run before */
	j.since_s = 140;
	assert_int_equal(preempt_job_of(&j, 150).overdue_s, 40);
	assert_int_equal(preempt_job_of(&j, 500).overdue_s, 40);
	j.state = SCHEDULE_SUSPENDED; /* ran from 140 to 200 */
	j.pub.ran_s = 60;
	j.since_s = 200;
	assert_int_equal(preempt_job_of(&j, 290).overdue_s, 40);
	j.state = SCHEDULE_RUNNING; /* suspended from 200 to 290 */
	j.pub.suspended_s = 90;
	j.since_s = 290;
	assert_int_equal(preempt_job_of(&j, 333).overdue_s, 40);
	j.pub.overdue_since_s = 0;
	assert_int_equal(preempt_job_of(&j, 333).overdue_s, 0);
}

/* ---- sums by owner ---- */

static void a_tally_keeps_each_sum_apart_while_it_grows(void **state)
{
	struct tally t = { 0 };

	(void)state;
	for (int round = 0; round < 3; round++) {
		tally_clear(&t);
		assert_int_equal(t.n, 0);
		for (int u = 0; u < 300; u++) {
			assert_int_equal(tally_reserve(&t, 3), 0);
			assert_true(t.size >= 2 * (t.n + 3));
			assert_int_equal(tally_add(&t, TALLY_USER(u), u + 1), u + 1);
			assert_int_equal(tally_add(&t, TALLY_GROUP(u), 5), 5);
			assert_int_equal(tally_add(&t, TALLY_BOTH(u, 7), -u), -u);
		}
		assert_int_equal(t.n, 900);
		for (int u = 0; u < 300; u++) {
			assert_int_equal(tally_add(&t, TALLY_USER(u), 0), u + 1);
			assert_int_equal(tally_add(&t, TALLY_GROUP(u), 2), 7);
			assert_int_equal(tally_add(&t, TALLY_BOTH(u, 7), 1), 1 - u);
		}
		assert_int_equal(t.n, 900);
		assert_int_equal(t.size, 2048);
	}
	free(t.slots);
}

/* A table that compares each key with all others takes minutes. */
static void a_tally_takes_many_owners(void **state)
{
	enum { MANY = 50000 };
	struct tally t = { 0 };

	(void)state;
	tally_clear(&t);
	assert_int_equal(tally_reserve(&t, (size_t)3 * MANY), 0);
	for (int round = 1; round <= 2; round++)
		for (int u = 0; u < MANY; u++) {
			assert_int_equal(tally_add(&t, TALLY_USER(u), 1), round);
			assert_int_equal(tally_add(&t, TALLY_GROUP(u), 2), 2 * round);
			assert_int_equal(tally_add(&t, TALLY_BOTH(u, u), 3), 3 * round);
		}
	assert_int_equal(t.n, 3 * MANY);
	free(t.slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_suspended_overdue_and_projected_each_expand_a_job),
		cmocka_unit_test(without_a_limit_a_second_is_the_measure),
		cmocka_unit_test(size_is_the_cube_of_a_quarter_of_the_binary_logarithm),
		cmocka_unit_test(running_compares_the_jobs_of_both_owners),
		cmocka_unit_test(expansion_and_done_only_ever_take_from_the_score),
		cmocka_unit_test(a_parallel_run_needs_more_than_nothing_and_at_most_a_quarter),
		cmocka_unit_test(the_time_of_its_present_state_counts_too),
		cmocka_unit_test(a_job_is_overdue_from_its_withdrawn_start_to_its_first_run),
		cmocka_unit_test(a_tally_keeps_each_sum_apart_while_it_grows),
		cmocka_unit_test(a_tally_takes_many_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
