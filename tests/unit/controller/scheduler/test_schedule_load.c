/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_schedule_load - a cluster under load for long: what suspension costs suspended jobs, and how long any
 * job waits. Arrivals are such that the requested cores are a stated part of all cores; sizes are powers of
 * two, times are spread over four decades, walltimes are 1 to 4 times the run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/preempt/preempt.h"
#include "controller/scheduler/schedule.h"

#define N_JOBS 4000
#define NODES 16
#define CORES 16
#define GROUPS 8

struct life {
	struct schedule_chunk chunk;
	struct schedule_job ask;
	int64_t runs_s, start_s, suspended_s;
	int32_t number;
	bool has_ended;
};

struct load {
	uint64_t random;
	struct schedule *s;
	struct life *jobs;
	int n_ended, n_come;
	int64_t now_s;
};

static double draw_uniform(struct load *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return ((double)(w->random >> 11) + 0.5) / 0x1p53;
}

static void make_jobs(struct load *w, double load)
{
	double work = 0, at = 0;

	for (int i = 0; i < N_JOBS; i++) {
		struct life *l = &w->jobs[i];
		int64_t cores = INT64_C(1) << (int)(draw_uniform(w) * 6); /* 1 to 32 */

		l->chunk = (struct schedule_chunk){ .cores = cores < CORES ? cores : CORES,
						    .n = cores <= CORES ? 1 : 2,
						    .mem_bytes = 1 };
		l->runs_s = (int64_t)exp(draw_uniform(w) * log(1e4)) * 6 + 1;
		l->ask = (struct schedule_job){
			.id = i,
			.user = i % 40,
			.group = i % GROUPS,
			.chunks = &l->chunk,
			.n_chunks = 1,
			.limit_s = (int64_t)((double)l->runs_s * (1 + 3 * draw_uniform(w)))
		};
		work += (double)(l->runs_s * cores);
	}
	for (int i = 0; i < N_JOBS; i++) {
		w->jobs[i].ask.submit_s = (int64_t)at;
		w->jobs[i].number = -1;
		at -= log(draw_uniform(w)) * work / (N_JOBS * load * NODES * CORES);
	}
}

static void end_job(struct load *w, struct life *l)
{
	l->suspended_s = schedule_suspended_s(w->s, l->number, w->now_s);
	schedule_remove(w->s, l->number);
	l->number = -1;
	l->has_ended = true;
	w->n_ended++;
}

/* Those that are here: the jobs before n_come. */
static int64_t next_moment(const struct load *w, int first)
{
	int64_t next = w->n_come < N_JOBS ? w->jobs[w->n_come].ask.submit_s : INT64_MAX;

	for (int i = first; i < w->n_come; i++) {
		const struct life *l = &w->jobs[i];
		int64_t at;

		if (l->has_ended || schedule_state(w->s, l->number) != SCHEDULE_RUNNING)
			continue;
		at = w->now_s + l->runs_s - schedule_ran_s(w->s, l->number, w->now_s);
		next = at < next ? at : next;
	}
	return next;
}

static void run_pass(struct load *w)
{
	const struct schedule_action *a;
	size_t n;

	assert_int_equal(schedule_pass(w->s, w->now_s, &a, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (a[i].what == SCHEDULE_START)
			w->jobs[schedule_job(w->s, a[i].job)->id].start_s = w->now_s;
}

static void run_load(struct load *w)
{
	int first = 0;

	while (w->n_ended < N_JOBS) {
		w->now_s = next_moment(w, first);
		assert_true(w->now_s < INT64_MAX);
		for (int i = first; i < w->n_come; i++) {
			struct life *l = &w->jobs[i];

			if (!l->has_ended &&
			    schedule_state(w->s, l->number) == SCHEDULE_RUNNING &&
			    schedule_ran_s(w->s, l->number, w->now_s) >= l->runs_s)
				end_job(w, l);
		}
		while (w->n_come < N_JOBS && w->jobs[w->n_come].ask.submit_s <= w->now_s) {
			struct life *l = &w->jobs[w->n_come++];

			assert_int_equal(schedule_add(w->s, &l->ask, &l->number), 0);
		}
		while (first < w->n_come && w->jobs[first].has_ended)
			first++;
		run_pass(w);
	}
}

static void open_load(struct load *w, enum schedule_rule rule, double load)
{
	struct schedule_config c = { .rule = rule, .reserve_after_s = 86400 };
	struct schedule_node n = { .cores = CORES, .mem_bytes = 1000, .is_open = true };

	*w = (struct load){ .random = 88172645463325252 };
	w->jobs = calloc(N_JOBS, sizeof(*w->jobs));
	assert_non_null(w->jobs);
	assert_int_equal(schedule_new(&c, &w->s), 0);
	for (int i = 0; i < NODES; i++)
		assert_int_equal(schedule_add_node(w->s, &n), 0);
	make_jobs(w, load);
	run_load(w);
}

static void close_load(struct load *w)
{
	schedule_free(w->s);
	free(w->jobs);
}

static double mean_wait_s(const struct load *w)
{
	double sum = 0;

	for (int i = 0; i < N_JOBS; i++)
		sum += (double)(w->jobs[i].start_s - w->jobs[i].ask.submit_s);
	return sum / N_JOBS;
}

static void few_walltimes_are_stretched_beyond_a_quarter(void **state)
{
	struct load w;
	int n = 0, n_suspended = 0;

	(void)state;
	open_load(&w, SCHEDULE_PREEMPT, 0.9);
	for (int i = 0; i < N_JOBS; i++) {
		struct preempt_job side = { .limit_s = w.jobs[i].ask.limit_s,
					    .suspended_s = w.jobs[i].suspended_s };

		n += preempt_xfactor(&side) > 1.25;
		n_suspended += w.jobs[i].suspended_s > 0;
	}
	printf("# load 0.9: %d of %d suspended at some time, XFactor over 1.25: %d; mean wait "
	       "%.0f s\n",
	       n_suspended, N_JOBS, n, mean_wait_s(&w));
	assert_true(n_suspended > 0);
	assert_true(n < N_JOBS / 20);
	close_load(&w);
}

/* A stated bound: no job waits for longer than reserve_after_s and the longest walltime for each of
 * those late before it; here, that is generous. */
static void no_job_waits_forever(void **state)
{
	struct load w;
	int64_t longest = 0, most = 0;

	(void)state;
	open_load(&w, SCHEDULE_PREEMPT, 0.95);
	for (int i = 0; i < N_JOBS; i++) {
		int64_t waited = w.jobs[i].start_s - w.jobs[i].ask.submit_s;

		most = waited > most ? waited : most;
		longest = w.jobs[i].ask.limit_s > longest ? w.jobs[i].ask.limit_s : longest;
	}
	printf("# load 0.95: the longest wait is %.1f h, the longest walltime %.1f h\n",
	       (double)most / 3600, (double)longest / 3600);
	assert_true(most < 86400 + 2 * longest);
	close_load(&w);
}

static void suspension_and_backfill_shorten_the_wait(void **state)
{
	struct load fifo, backfill, preempt;

	(void)state;
	open_load(&fifo, SCHEDULE_FIFO, 0.7);
	open_load(&backfill, SCHEDULE_PRIORITY, 0.7);
	open_load(&preempt, SCHEDULE_PREEMPT, 0.7);
	printf("# load 0.7, mean wait: fifo %.0f s, backfill %.0f s, suspend %.0f s\n",
	       mean_wait_s(&fifo), mean_wait_s(&backfill), mean_wait_s(&preempt));
	assert_true(mean_wait_s(&backfill) < mean_wait_s(&fifo));
	assert_true(mean_wait_s(&preempt) < mean_wait_s(&fifo));
	close_load(&fifo);
	close_load(&backfill);
	close_load(&preempt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_walltimes_are_stretched_beyond_a_quarter),
		cmocka_unit_test(no_job_waits_forever),
		cmocka_unit_test(suspension_and_backfill_shorten_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
