/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_easy - over random worlds: no core is allocated twice, the first of the queue starts no later than when
 * all running jobs end at their estimates, fcfs keeps the order, and both start all they can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/simulate/pool/easy.h"
#include "controller/simulate/pool/fcfs.h"

#define JOBS 60
#define CORES 8
#define NEVER INT64_MAX

struct world {
	struct pool_job jobs[JOBS];
	int64_t submit_s[JOBS], run_s[JOBS], start_s[JOBS];
	struct easy *easy; /* NULL: fcfs */
	struct fcfs fcfs;
	uint32_t arrived;
	int64_t now_s, free;
};

static void make_world(struct world *w)
{
	int64_t at = 0;

	*w = (struct world){ .free = CORES, .now_s = -1 };
	for (int i = 0; i < JOBS; i++) {
		at += rand() % 4 ? 0 : rand() % 6;
		w->submit_s[i] = at;
		w->start_s[i] = NEVER;
		w->run_s[i] = 1 + rand() % 9;
		w->jobs[i].estimate_s = w->run_s[i] + (rand() % 2 ? 0 : rand() % 9);
		w->jobs[i].cores = rand() % 4 ? 1 + rand() % CORES : CORES;
	}
}

static int64_t end_of(const struct world *w, uint32_t i)
{
	return w->start_s[i] == NEVER ? NEVER : w->start_s[i] + w->run_s[i];
}

static int64_t next_instant(const struct world *w)
{
	int64_t at = w->arrived < JOBS ? w->submit_s[w->arrived] : NEVER;

	for (uint32_t i = 0; i < w->arrived; i++)
		if (end_of(w, i) > w->now_s && end_of(w, i) < at)
			at = end_of(w, i);
	return at;
}

static void end_and_arrive(struct world *w)
{
	for (uint32_t i = 0; i < w->arrived; i++) {
		if (end_of(w, i) != w->now_s)
			continue;
		w->free += w->jobs[i].cores;
		if (w->easy)
			easy_end(w->easy, i);
		else
			fcfs_end(&w->fcfs, i);
	}
	for (; w->arrived < JOBS && w->submit_s[w->arrived] == w->now_s; w->arrived++)
		if (w->easy)
			easy_arrive(w->easy);
		else
			fcfs_arrive(&w->fcfs);
}

static bool start_next(struct world *w, uint32_t *ret)
{
	int r = w->easy ? easy_next(w->easy, w->now_s, ret) : fcfs_next(&w->fcfs, ret);

	assert_true(r >= 0);
	if (r == 0)
		return false;
	assert_true(*ret < w->arrived);
	assert_int_equal(w->start_s[*ret], NEVER);
	w->start_s[*ret] = w->now_s;
	w->free -= w->jobs[*ret].cores;
	assert_true(w->free >= 0);
	return true;
}

static uint32_t first_waiting(const struct world *w)
{
	uint32_t i = 0;

	while (i < w->arrived && w->start_s[i] != NEVER)
		i++;
	return i;
}

/* When enough cores for a job are free at the latest: running jobs end at their estimates. */
static int64_t find_latest_start(const struct world *w, uint32_t job)
{
	int64_t best = NEVER;

	for (uint32_t i = 0; i < w->arrived; i++) {
		int64_t at, cores = w->free;

		if (w->start_s[i] == NEVER || end_of(w, i) <= w->now_s)
			continue;
		at = w->start_s[i] + w->jobs[i].estimate_s;
		for (uint32_t k = 0; k < w->arrived; k++)
			if (w->start_s[k] != NEVER && end_of(w, k) > w->now_s &&
			    w->start_s[k] + w->jobs[k].estimate_s <= at)
				cores += w->jobs[k].cores;
		if (cores >= w->jobs[job].cores && at < best)
			best = at;
	}
	return best;
}

/* No job that waits behind the first could start: it ends by the moment promised to the first, or has no more cores than are left then. */
static void expect_all_started(const struct world *w, uint32_t first, int64_t at)
{
	int64_t extra = w->free - w->jobs[first].cores;

	for (uint32_t k = 0; k < w->arrived; k++)
		if (w->start_s[k] != NEVER && end_of(w, k) > w->now_s &&
		    w->start_s[k] + w->jobs[k].estimate_s <= at)
			extra += w->jobs[k].cores;
	assert_true(extra >= 0);
	for (uint32_t k = first + 1; k < w->arrived; k++)
		if (w->start_s[k] == NEVER && w->jobs[k].cores <= w->free)
			assert_true(w->now_s + w->jobs[k].estimate_s > at &&
				    w->jobs[k].cores > extra);
}

static void the_first_starts_no_later_than_promised(void **state)
{
	(void)state;
	srand(3);
	for (int round = 0; round < 2000; round++) {
		_cleanup_(easy_freep) struct easy *e = NULL;
		int64_t promised[JOBS];
		struct world w;
		uint32_t job, first;

		make_world(&w);
		for (int i = 0; i < JOBS; i++)
			promised[i] = NEVER;
		assert_int_equal(easy_new(w.jobs, JOBS, CORES, &e), 0);
		w.easy = e;
		while ((w.now_s = next_instant(&w)) != NEVER) {
			int64_t at;

			end_and_arrive(&w);
			while (start_next(&w, &job))
				assert_true(w.now_s <= promised[job]);
			first = first_waiting(&w);
			if (first == w.arrived)
				continue;
			assert_true(w.jobs[first].cores > w.free);
			at = find_latest_start(&w, first);
			assert_true(at > w.now_s && at <= promised[first]);
			promised[first] = at;
			expect_all_started(&w, first, at);
		}
		assert_int_equal(first_waiting(&w), JOBS);
	}
}

static void no_job_passes_another_under_fcfs(void **state)
{
	(void)state;
	srand(4);
	for (int round = 0; round < 2000; round++) {
		struct world w;
		uint32_t job, want = 0, first;

		make_world(&w);
		w.fcfs = fcfs_init(w.jobs, CORES);
		while ((w.now_s = next_instant(&w)) != NEVER) {
			end_and_arrive(&w);
			while (start_next(&w, &job))
				assert_int_equal(job, want++);
			first = first_waiting(&w);
			assert_true(first == w.arrived || w.jobs[first].cores > w.free);
		}
		assert_int_equal(want, JOBS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_starts_no_later_than_promised),
		cmocka_unit_test(no_job_passes_another_under_fcfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
