/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fairness - what each group got and was entitled to, over random events against a reckoning second by second. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/simulate/fairness.h"

#define GROUPS 4

struct plain {
	int64_t waiting[GROUPS], held[GROUPS];
	double used_s[GROUPS], got_s[GROUPS], entitled_s[GROUPS], total_s;
};

static void pass_second(struct plain *p, const int64_t *shares)
{
	int64_t held = 0, sum = 0;

	for (int g = 0; g < GROUPS; g++)
		if (p->waiting[g] > 0) {
			held += p->held[g];
			sum += shares[g];
		}
	for (int g = 0; g < GROUPS; g++) {
		p->used_s[g] += (double)p->held[g];
		if (p->waiting[g] <= 0)
			continue;
		p->got_s[g] += (double)p->held[g];
		if (sum > 0)
			p->entitled_s[g] += (double)held * (double)shares[g] / (double)sum;
	}
	p->total_s += (double)held;
}

static void expect_same(const struct sim_fairness *f, const struct plain *p,
			const int64_t *shares)
{
	for (uint32_t g = 0; g < GROUPS; g++) {
		struct sim_group got;

		sim_fairness_group(f, g, &got);
		assert_int_equal(got.shares, shares[g]);
		assert_true(fabs(got.used_s - p->used_s[g]) < 1e-6);
		assert_true(fabs(got.got_s - p->got_s[g]) < 1e-6);
		assert_true(fabs(got.entitled_s - p->entitled_s[g]) < 1e-6);
		assert_true(fabs(got.deviation -
				 (p->total_s > 0 ? (p->got_s[g] - p->entitled_s[g]) / p->total_s
						 : 0)) < 1e-9);
	}
}

static void it_is_that_of_each_second_reckoned_alone(void **state)
{
	static const int64_t given[3][GROUPS] = { { 1, 1, 1, 1 },
						  { 1, 2, 7, 4 },
						  { 3, 0, 0, 1 } };

	(void)state;
	srand(5);
	for (int round = 0; round < 60; round++) {
		_cleanup_(sim_fairness_freep) struct sim_fairness *f = NULL;
		const int64_t *shares = given[round % 3];
		struct plain p = { 0 };
		int64_t now_s = 100; /* time before the first event counts for nothing */

		assert_int_equal(sim_fairness_new(GROUPS, round % 3 ? shares : NULL, &f), 0);
		assert_int_equal(sim_fairness_groups(f), GROUPS);
		for (int event = 0; event < 100; event++) {
			int g = rand() % GROUPS;

			for (int s = rand() % 4; s > 0; s--, now_s++)
				pass_second(&p, shares);
			if (rand() % 2) {
				int jobs = p.waiting[g] && rand() % 2 ? -1 : 1;

				p.waiting[g] += jobs;
				sim_fairness_wait(f, (uint32_t)g, now_s, jobs);
			} else {
				int64_t cores = rand() % 2 ? -p.held[g] : rand() % 9;

				p.held[g] += cores;
				sim_fairness_hold(f, (uint32_t)g, now_s, cores);
			}
			if (event % 10 == 0) {
				/* Both as of the last event of any group. */
				expect_same(f, &p, shares);
			}
		}
	}
}

static void where_nobody_waits_nothing_is_owed(void **state)
{
	_cleanup_(sim_fairness_freep) struct sim_fairness *f = NULL;
	struct sim_group g;

	(void)state;
	assert_int_equal(sim_fairness_new(2, NULL, &f), 0);
	sim_fairness_hold(f, 0, 0, 8);
	sim_fairness_hold(f, 1, 10, 1);
	sim_fairness_group(f, 0, &g);
	assert_true(g.used_s == 80 && g.got_s == 0 && g.entitled_s == 0 && g.deviation == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_that_of_each_second_reckoned_alone),
		cmocka_unit_test(where_nobody_waits_nothing_is_owed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
