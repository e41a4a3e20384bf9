/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_summary - the figures of a replay against a plain reckoning over random ones: quantiles by nearest rank, jobs overtaken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/simulate/summary.h"

#define JOBS_MAX 220

struct world {
	struct sim_job jobs[JOBS_MAX];
	struct sim_times times[JOBS_MAX];
	uint32_t order[JOBS_MAX];
	struct sim_trace trace;
	struct sim_replay replay;
};

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Of n values: the smallest that at least `percent` of them do not exceed. */
static int64_t plain_quantile(const int64_t *v, size_t n, int percent)
{
	int64_t sorted[JOBS_MAX];

	for (size_t i = 0; i < n; i++)
		sorted[i] = v[i];
	qsort(sorted, n, sizeof(*sorted), compare_numbers);
	for (size_t i = 0; i < n; i++)
		if ((i + 1) * 100 >= n * (size_t)percent)
			return sorted[i];
	fail();
	return -1;
}

static void expect_quantiles(const struct sim_quantiles *q, const int64_t *v, size_t n)
{
	assert_int_equal(q->p50, plain_quantile(v, n, 50));
	assert_int_equal(q->p95, plain_quantile(v, n, 95));
	assert_int_equal(q->p99, plain_quantile(v, n, 99));
	assert_int_equal(q->max, plain_quantile(v, n, 100));
}

/* Jobs start in a random order; `tied` of them at the same moment. */
static void make_world(struct world *w, size_t n, size_t tied)
{
	*w = (struct world){ .trace = { .jobs = w->jobs, .n = n } };
	w->replay = (struct sim_replay){
		.trace = &w->trace, .cores = 10, .times = w->times, .order = w->order
	};
	for (size_t i = 0; i < n; i++)
		w->order[i] = (uint32_t)i;
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)rand() % i;
		uint32_t swapped = w->order[k];

		w->order[k] = w->order[i - 1];
		w->order[i - 1] = swapped;
	}
	for (size_t k = 0; k < n; k++) {
		uint32_t i = w->order[k];
		struct sim_times *t = &w->times[i];

		w->jobs[i] = (struct sim_job){
			.submit_s = i / 4, .run_s = 100, .estimate_s = 1000, .cores = 1
		};
		t->start_s = (int64_t)(n + k / tied);
		t->suspended_s = rand() % 3 ? 0 : rand() % 600;
		t->suspensions = t->suspended_s > 0;
		t->end_s = t->start_s + 100 + t->suspended_s;
	}
}

static void the_figures_are_those_of_a_plain_reckoning(void **state)
{
	static struct world w;

	(void)state;
	for (size_t n = 1; n <= JOBS_MAX; n += n < 30 ? 1 : 19) {
		int64_t waits[JOBS_MAX], xfactors[JOBS_MAX], overtaken[JOBS_MAX] = { 0 },
							     suspended = 0;
		struct sim_summary s;
		size_t over = 0;

		make_world(&w, n, 1 + n % 3);
		for (size_t i = 0; i < n; i++) {
			waits[i] = w.times[i].start_s - w.jobs[i].submit_s;
			xfactors[i] = 1000 + w.times[i].suspended_s;
			suspended += w.times[i].suspended_s;
			over += w.times[i].suspended_s > 250;
		}
		for (size_t k = 0; k < n; k++)
			for (size_t before = 0; before < k; before++)
				overtaken[w.order[k]] += w.order[before] > w.order[k];
		assert_int_equal(sim_summarise(&w.replay, &s), 0);
		assert_int_equal(s.jobs, n);
		assert_int_equal(s.suspended_s, suspended);
		assert_int_equal(s.xfactor_over, over);
		expect_quantiles(&s.wait_s, waits, n);
		expect_quantiles(&s.xfactor_milli, xfactors, n);
		expect_quantiles(&s.overtaken, overtaken, n);
	}
}

static void waits_are_counted_up_to_each_bound(void **state)
{
	static const int64_t bounds[] = { 0, 1, 5, 9 };
	static const int64_t waits[] = { 0, 0, 1, 2, 5, 6, 9, 10 };
	static struct world w;
	size_t counts[4];

	(void)state;
	make_world(&w, 8, 1);
	for (int i = 0; i < 8; i++)
		w.times[i].start_s = w.jobs[i].submit_s + waits[i];
	sim_count_waits(&w.replay, bounds, 4, counts);
	assert_int_equal(counts[0], 2);
	assert_int_equal(counts[1], 3);
	assert_int_equal(counts[2], 5);
	assert_int_equal(counts[3], 7);
}

static void expect_near(double got, double want)
{
	assert_true(fabs(got - want) < 1e-9);
}

static void means_and_use_are_those_of_a_plain_reckoning(void **state)
{
	static struct world w;

	(void)state;
	for (size_t n = 1; n < 60; n++) {
		double waits = 0, slowdowns = 0, used = 0;
		int64_t last = 0, suspensions = 0;
		struct sim_summary s;

		make_world(&w, n, 1 + n % 3);
		for (size_t i = 0; i < n; i++) {
			struct sim_job *j = &w.jobs[i];
			double slow;

			j->submit_s += 3;
			j->run_s = rand() % 2 ? SIM_BOUND_S + rand() % 3 - 1 : 2000;
			j->cores = 1 + rand() % 5;
			w.times[i].end_s = w.times[i].start_s + 3 + rand() % 500;
			if (rand() % 4 == 0) { /* at once, and shorter than the bound */
				w.times[i].start_s = j->submit_s;
				w.times[i].end_s = j->submit_s + 1;
			}
			slow = (double)(w.times[i].end_s - j->submit_s) /
			       (double)(j->run_s < SIM_BOUND_S ? SIM_BOUND_S : j->run_s);
			waits += (double)(w.times[i].start_s - j->submit_s);
			slowdowns += slow < 1 ? 1 : slow;
			used += (double)j->run_s * j->cores;
			suspensions += w.times[i].suspensions;
			last = w.times[i].end_s > last ? w.times[i].end_s : last;
		}
		assert_int_equal(sim_summarise(&w.replay, &s), 0);
		expect_near(s.wait_mean_s, waits / (double)n);
		expect_near(s.bounded_slowdown_mean, slowdowns / (double)n);
		assert_int_equal(s.makespan_s, last - 3);
		assert_int_equal(s.suspensions, suspensions);
		expect_near(s.utilisation, used / (10.0 * (double)(last - 3)));
	}
}

static void without_jobs_all_is_nothing(void **state)
{
	const int64_t bounds[] = { 0, 9 };
	size_t counts[2] = { 7, 7 };
	static struct world w;
	struct sim_summary s;

	(void)state;
	make_world(&w, 0, 1);
	assert_int_equal(sim_summarise(&w.replay, &s), 0);
	assert_int_equal(s.jobs, 0);
	assert_int_equal(s.wait_s.max, 0);
	assert_int_equal(s.makespan_s, 0);
	assert_true(s.utilisation == 0 && s.wait_mean_s == 0 && s.deviation_mean == 0);
	sim_count_waits(&w.replay, bounds, 2, counts);
	assert_int_equal(counts[0] + counts[1], 0);
}

/* Group 0 has 6 of the 8 core-seconds of 2 s and is owed 4, group 1 has 2; group 2 never waits. */
static void deviations_count_by_their_size(void **state)
{
	_cleanup_(sim_fairness_freep) struct sim_fairness *f = NULL;
	static struct world w;
	struct sim_summary s;

	(void)state;
	make_world(&w, 1, 1);
	assert_int_equal(sim_fairness_new(3, NULL, &f), 0);
	for (uint32_t g = 0; g < 2; g++) {
		sim_fairness_wait(f, g, 0, 1);
		sim_fairness_hold(f, g, 0, g ? 1 : 3);
	}
	sim_fairness_wait(f, 0, 2, 0);
	sim_fairness_wait(f, 1, 2, 0);
	w.replay.fair = f;
	assert_int_equal(sim_summarise(&w.replay, &s), 0);
	expect_near(s.deviation_max, 0.25);
	expect_near(s.deviation_mean, 0.5 / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_figures_are_those_of_a_plain_reckoning),
		cmocka_unit_test(waits_are_counted_up_to_each_bound),
		cmocka_unit_test(means_and_use_are_those_of_a_plain_reckoning),
		cmocka_unit_test(without_jobs_all_is_nothing),
		cmocka_unit_test(deviations_count_by_their_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
