/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_schedule_laws - the laws of the scheduler over thousands of random clusters and jobs: after each pass
 * every allocation is counted again, and a pass in slices decides what a whole one does. REEVE_WORLDS=N: so many of each rule (default 60); REEVE_SEED=N: from
 * that seed on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "controller/scheduler/preempt/preempt.h"
#include "controller/scheduler/schedule.h"

#define N_JOBS 120
#define N_NODES_MAX 12
#define MODEL 1

struct life {
	struct schedule_chunk chunks[2];
	struct schedule_job ask;
	int64_t runs_s; /* at most its limit */
	int32_t number; /* -1: not here */
	bool has_ended;
	int64_t start_s, promised_s;
};

struct world {
	uint64_t random;
	struct schedule_config config;
	struct schedule *s;
	struct schedule_node nodes[N_NODES_MAX];
	int n_nodes;
	struct life jobs[N_JOBS];
	int n_ended;
	int64_t now_s;
	bool is_sliced;
	uint64_t decided; /* of all that was decided, in order */
};

static uint64_t next_random(struct world *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static int64_t pick_number(struct world *w, int64_t low, int64_t high)
{
	return low + (int64_t)(next_random(w) % (uint64_t)(high - low + 1));
}

static void make_nodes(struct world *w)
{
	w->n_nodes = (int)pick_number(w, 1, N_NODES_MAX);
	for (int i = 0; i < w->n_nodes; i++) {
		struct schedule_node *n = &w->nodes[i];

		*n = (struct schedule_node){ .cores = i ? pick_number(w, 1, 32) : 32,
					     .mem_bytes = i ? pick_number(w, 10, 400) : 400,
					     .jobfs_bytes = 100,
					     .features = i ? next_random(w) & 3 : 3,
					     .is_open = true };
		n->gpus[MODEL] = i ? (int16_t)pick_number(w, 0, 4) : 4;
		assert_int_equal(schedule_add_node(w->s, n), 0);
	}
}

/* Each fits on the first node at least. */
static void make_job(struct world *w, int i)
{
	struct life *l = &w->jobs[i];
	bool is_multi = pick_number(w, 0, 5) == 0;

	for (int c = 0; c < 2; c++) {
		l->chunks[c] =
			(struct schedule_chunk){ .cores = pick_number(w, 1, is_multi ? 8 : 32),
						 .mem_bytes = pick_number(w, 1, 90),
						 .jobfs_bytes = pick_number(w, 0, 20),
						 .n = is_multi ? (int)pick_number(w, 1, 2)
							       : 1 };
		if (pick_number(w, 0, 6) == 0)
			l->chunks[c].gpus = 1;
		l->chunks[c].model = pick_number(w, 0, 1) && l->chunks[c].gpus ? MODEL : 0;
	}
	l->ask = (struct schedule_job){ .id = i,
					.queue = (int)pick_number(w, 0, 2),
					.user = (int)pick_number(w, 0, 5),
					.group = (int)pick_number(w, 0, 3),
					.chunks = l->chunks,
					.n_chunks = is_multi ? 2 : 1,
					.features = (uint64_t)pick_number(w, 0, 3) &
						    (uint64_t)pick_number(w, 0, 3),
					.is_exclusive = pick_number(w, 0, 9) == 0,
					.priority = pick_number(w, 0, 3),
					.submit_s = pick_number(w, 0, 3000),
					.limit_s = pick_number(w, 1, 2000) };
	l->runs_s = pick_number(w, 0, 2) ? pick_number(w, 1, l->ask.limit_s) : l->ask.limit_s;
	l->number = -1;
	l->promised_s = -1;
}

/* ---- counting again ---- */

struct use {
	int64_t cores, mem, jobfs, gpus;
	int jobs, whole;
	int last; /* job counted here */
};

static void count_job(const struct world *w, const struct life *l, int i, struct use *use)
{
	bool is_running = schedule_state(w->s, l->number) == SCHEDULE_RUNNING;
	int32_t n, part = 0;
	const int32_t *nodes = schedule_nodes(w->s, l->number, &n);

	for (int c = 0; c < l->ask.n_chunks; c++) {
		for (int k = 0; k < l->chunks[c].n; k++, part++) {
			struct use *u = &use[nodes[part]];

			assert_true(nodes[part] >= 0 && nodes[part] < w->n_nodes);
			assert_int_equal(l->ask.features & ~w->nodes[nodes[part]].features, 0);
			u->cores += is_running ? l->chunks[c].cores : 0;
			u->mem += l->chunks[c].mem_bytes;
			u->jobfs += l->chunks[c].jobfs_bytes;
			u->gpus += l->chunks[c].gpus;
			if (u->last == i + 1)
				continue;
			u->last = i + 1;
			u->jobs++;
			u->whole += l->ask.is_exclusive;
		}
	}
	assert_int_equal(part, n);
}

static void check_laws(const struct world *w)
{
	struct use use[N_NODES_MAX] = { 0 };

	for (int i = 0; i < N_JOBS; i++) {
		const struct life *l = &w->jobs[i];

		if (l->number >= 0 && schedule_state(w->s, l->number) != SCHEDULE_QUEUED)
			count_job(w, l, i, use);
	}
	for (int i = 0; i < w->n_nodes; i++) {
		assert_true(use[i].cores <= w->nodes[i].cores);
		assert_true(use[i].mem <= w->nodes[i].mem_bytes);
		assert_true(use[i].jobfs <= w->nodes[i].jobfs_bytes);
		assert_true(use[i].gpus <= w->nodes[i].gpus[MODEL]);
		assert_true(!use[i].whole || use[i].jobs == 1);
	}
}

/* ---- living ---- */

static struct life *life_of(struct world *w, int32_t number)
{
	for (int i = 0; i < N_JOBS; i++)
		if (w->jobs[i].number == number)
			return &w->jobs[i];
	fail_msg("an action of a job that is not here");
	return NULL;
}

/* The first job gets its latest start; that must hold as long as no job of a
 * higher priority comes. */
static void note_promise(struct world *w)
{
	struct schedule_why why;

	for (int i = 0; i < N_JOBS; i++) {
		struct life *l = &w->jobs[i];

		if (l->number < 0 || schedule_state(w->s, l->number) != SCHEDULE_QUEUED)
			continue;
		schedule_why(w->s, l->number, &why);
		assert_int_not_equal(why.wait, SCHEDULE_NEVER);
		if (why.first == l->number && l->promised_s < 0 && l->ask.n_chunks == 1)
			l->promised_s = why.first_s;
		return;
	}
}

/* The same cluster, jobs and moment, in a schedule that has seen nothing of it. */
struct twin {
	struct schedule *s;
	int32_t number[N_JOBS];
};

static void make_twin(const struct world *w, struct twin *t)
{
	assert_int_equal(schedule_new(&w->config, &t->s), 0);
	for (int i = 0; i < w->n_nodes; i++)
		assert_int_equal(schedule_add_node(t->s, &w->nodes[i]), 0);
	for (int i = 0; i < N_JOBS; i++) {
		const struct life *l = &w->jobs[i];
		struct schedule_allocation h = { SCHEDULE_RUNNING, NULL, l->start_s };
		int32_t n;

		if (l->number < 0)
			continue;
		h.nodes = schedule_nodes(w->s, l->number, &n);
		if (n == 0)
			n = schedule_add(t->s, &l->ask, &t->number[i]);
		else
			n = schedule_add_allocated(t->s, &l->ask, &h, &t->number[i]);
		assert_int_equal(n, 0);
	}
}

/* What a schedule remembers makes it faster, never another one: after a pass of both the same
 * jobs are on the same nodes, and the others are promised the same. */
static void check_same(const struct world *w, struct twin *t)
{
	const struct schedule_action *a;
	size_t n_actions;

	assert_int_equal(schedule_pass(t->s, w->now_s, &a, &n_actions), 0);
	for (int i = 0; i < N_JOBS; i++) {
		const int32_t *p, *q;
		struct schedule_why x, y;
		int32_t n, m;

		if (w->jobs[i].number < 0)
			continue;
		p = schedule_nodes(w->s, w->jobs[i].number, &n);
		q = schedule_nodes(t->s, t->number[i], &m);
		assert_int_equal(n, m);
		if (n > 0) {
			assert_memory_equal(p, q, (size_t)n * sizeof(*p));
			continue;
		}
		schedule_why(w->s, w->jobs[i].number, &x);
		schedule_why(t->s, t->number[i], &y);
		assert_int_equal(x.wait, y.wait);
		assert_int_equal(x.position, y.position);
		assert_int_equal(x.first_s, y.first_s);
	}
	schedule_free(t->s);
}

static bool has_no_time(void *ctx)
{
	(void)ctx;
	return false;
}

/* In slices the pass stops after every comparison of a node at which it can. */
static void make_pass(struct world *w, const struct schedule_action **ret, size_t *ret_n)
{
	const struct schedule_budget none = { has_no_time, NULL, 1 };
	int r;

	if (!w->is_sliced) {
		assert_int_equal(schedule_pass(w->s, w->now_s, ret, ret_n), 0);
		return;
	}
	schedule_pass_begin(w->s, w->now_s);
	do
		r = schedule_pass_go_on(w->s, &none, ret, ret_n);
	while (r > 0);
	assert_int_equal(r, 0);
}

static void note_decided(struct world *w, int64_t what)
{
	w->decided = (w->decided ^ (uint64_t)what) * UINT64_C(0x100000001b3);
}

static void run_pass(struct world *w)
{
	const struct schedule_action *a;
	struct twin twin = { 0 };
	size_t n;

	if (w->config.rule != SCHEDULE_PREEMPT)
		make_twin(w, &twin);
	make_pass(w, &a, &n);
	if (twin.s)
		check_same(w, &twin);
	for (size_t i = 0; i < n; i++) {
		struct life *l = life_of(w, a[i].job);
		int32_t n_nodes;
		const int32_t *nodes = schedule_nodes(w->s, a[i].job, &n_nodes);

		note_decided(w, a[i].what);
		note_decided(w, l->ask.id);
		for (int32_t k = 0; k < n_nodes; k++)
			note_decided(w, nodes[k]);
		if (a[i].what == SCHEDULE_START) {
			assert_int_equal(l->start_s, -1);
			l->start_s = w->now_s;
			if (w->config.rule != SCHEDULE_PREEMPT && l->promised_s >= 0)
				assert_true(w->now_s <= l->promised_s);
		} else {
			assert_int_equal(w->config.rule, SCHEDULE_PREEMPT);
			assert_true(l->start_s >= 0);
		}
	}
	check_laws(w);
}

static int64_t next_moment(const struct world *w)
{
	int64_t next = INT64_MAX;

	for (int i = 0; i < N_JOBS; i++) {
		const struct life *l = &w->jobs[i];
		int64_t at = INT64_MAX;

		if (l->has_ended)
			continue;
		if (l->number < 0)
			at = l->ask.submit_s;
		else if (schedule_state(w->s, l->number) == SCHEDULE_RUNNING)
			at = w->now_s + l->runs_s - schedule_ran_s(w->s, l->number, w->now_s);
		if (at < next)
			next = at;
	}
	return next;
}

static void end_and_arrive(struct world *w)
{
	for (int i = 0; i < N_JOBS; i++) {
		struct life *l = &w->jobs[i];

		if (l->has_ended || l->number < 0 ||
		    schedule_state(w->s, l->number) != SCHEDULE_RUNNING ||
		    schedule_ran_s(w->s, l->number, w->now_s) < l->runs_s)
			continue;
		schedule_remove(w->s, l->number);
		l->has_ended = true;
		l->number = -1;
		w->n_ended++;
	}
	for (int i = 0; i < N_JOBS; i++) {
		struct life *l = &w->jobs[i];

		if (l->has_ended || l->number >= 0 || l->ask.submit_s > w->now_s)
			continue;
		l->start_s = -1;
		assert_int_equal(schedule_add(w->s, &l->ask, &l->number), 0);
	}
}

/* With all jobs there from the start and one priority no promise can be overtaken. */
static uint64_t run_world(uint64_t seed, enum schedule_rule rule, bool is_open, bool is_sliced)
{
	uint64_t decided;

	struct world *w = calloc(1, sizeof(*w));
	int moments = 0;

	w->random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	w->is_sliced = is_sliced;
	w->config = (struct schedule_config){ .rule = rule, .reserve_after_s = 4000 };
	w->config.run_priority[1] = 1;
	w->config.run_priority[2] = -1;
	assert_int_equal(schedule_new(&w->config, &w->s), 0);
	make_nodes(w);
	for (int i = 0; i < N_JOBS; i++) {
		make_job(w, i);
		if (!is_open) {
			w->jobs[i].ask.submit_s = 0;
			w->jobs[i].ask.priority = 0;
		}
	}
	while (w->n_ended < N_JOBS) {
		int64_t next = next_moment(w);

		if (next == INT64_MAX || moments++ > 100000)
			fail_msg("seed %llu: %d of %d ended, and nothing goes on",
				 (unsigned long long)seed, w->n_ended, N_JOBS);
		w->now_s = next;
		end_and_arrive(w);
		run_pass(w);
		if (!is_open)
			note_promise(w);
	}
	decided = w->decided;
	schedule_free(w->s);
	free(w);
	return decided;
}

static uint64_t read_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void run_worlds(enum schedule_rule rule)
{
	uint64_t first = read_number("REEVE_SEED", 1), n = read_number("REEVE_WORLDS", 60);

	for (uint64_t seed = first; seed < first + n; seed++) {
		uint64_t decided = run_world(seed, rule, true, false);

		assert_true(run_world(seed, rule, true, true) == decided);
		decided = run_world(seed, rule, false, false);
		assert_true(run_world(seed, rule, false, true) == decided);
	}
}

static void the_laws_hold_under_backfill_by_priority(void **state)
{
	(void)state;
	run_worlds(SCHEDULE_PRIORITY);
}

static void the_laws_hold_under_strict_order(void **state)
{
	(void)state;
	run_worlds(SCHEDULE_FIFO);
}

static void the_laws_hold_under_suspension(void **state)
{
	(void)state;
	run_worlds(SCHEDULE_PREEMPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_laws_hold_under_backfill_by_priority),
		cmocka_unit_test(the_laws_hold_under_strict_order),
		cmocka_unit_test(the_laws_hold_under_suspension),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
