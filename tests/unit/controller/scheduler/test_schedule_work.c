/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_schedule_work - jobs that are made to cost much: of eight kinds of chunks, each of which fits soon, and all together never. What a
 * pass over them does is counted in comparisons of nodes, and stays below a bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/schedule.h"

#define KINDS 8
#define CORES 64
#define MEM 1024
#define PARTS_ON_A_NODE 4

struct size {
	int nodes, jobs;
	bool is_crossed; /* half of the kinds ask for cores, half for memory: no single kind is the least */
};

/* Each kind takes a fifth of the nodes for itself; of two kinds, one node has room for one. */
static void make_chunks(const struct size *z, int job, struct schedule_chunk ret[KINDS])
{
	for (int k = 0; k < KINDS; k++) {
		bool is_mem = z->is_crossed && k >= KINDS / 2;

		ret[k] = (struct schedule_chunk){
			.cores = is_mem ? 1 : CORES / 2 + 1 + (job + k) % 8,
			.mem_bytes = is_mem ? MEM / 2 + 1 + (7 * job + k) % 64 : 1,
			.jobfs_bytes = (job * 131 + k) % 100,
			.n = z->nodes * (z->is_crossed ? 3 : 2) / 10
		};
	}
}

/* Each node has four jobs, which end at times of their own. */
static void fill_nodes(struct schedule *s, const struct size *z)
{
	const struct schedule_node node = {
		.cores = CORES, .mem_bytes = MEM, .jobfs_bytes = 1000, .is_open = true
	};
	int32_t job;

	for (int i = 0; i < z->nodes; i++)
		assert_int_equal(schedule_add_node(s, &node), 0);
	for (int i = 0; i < z->nodes * PARTS_ON_A_NODE; i++) {
		const struct schedule_chunk c = { .cores = CORES / PARTS_ON_A_NODE - 4,
						  .mem_bytes = MEM / PARTS_ON_A_NODE - 8,
						  .n = 1 };
		const struct schedule_job j = {
			.id = 1000000 + i, .chunks = &c, .n_chunks = 1, .limit_s = 100 + i
		};
		int32_t at = (int32_t)((int64_t)i * 7919 % z->nodes);
		const struct schedule_allocation h = { SCHEDULE_RUNNING, &at, 0 };

		assert_int_equal(schedule_add_allocated(s, &j, &h, &job), 0);
	}
}

static struct schedule *make_hostile(const struct size *z, int32_t tries_max)
{
	const struct schedule_config c = { .rule = SCHEDULE_PRIORITY, .tries_max = tries_max };
	struct schedule *s = NULL;
	int32_t job;

	assert_int_equal(schedule_new(&c, &s), 0);
	schedule_edit_begin(s);
	fill_nodes(s, z);
	for (int i = 0; i < z->jobs; i++) {
		struct schedule_chunk chunks[KINDS];
		const struct schedule_job j = { .id = i,
						.chunks = chunks,
						.n_chunks = KINDS,
						.limit_s = 3600 + i,
						.submit_s = i };

		make_chunks(z, i, chunks);
		assert_int_equal(schedule_add(s, &j, &job), 0);
	}
	assert_int_equal(schedule_edit_end(s), 0);
	return s;
}

static uint64_t count_work(const struct size *z)
{
	_cleanup_(schedule_freep) struct schedule *s = make_hostile(z, 8);
	const struct schedule_action *actions;
	uint64_t before = schedule_work(s), work;
	size_t n;

	assert_int_equal(schedule_pass(s, 1, &actions, &n), 0);
	assert_int_equal(n, 0);
	work = schedule_work(s) - before;
	printf("# %d nodes, %d running, %d jobs of %d kinds%s: %llu comparisons\n", z->nodes,
	       z->nodes * PARTS_ON_A_NODE, z->jobs, KINDS, z->is_crossed ? ", crossed" : "",
	       (unsigned long long)work);
	return work;
}

/* Eight jobs get a search for a reservation; each compares all nodes for each kind in 8 + log2(moments) tries at most, and counts room
 * when a job ends. */
static uint64_t bound_of(const struct size *z)
{
	uint64_t nodes = (uint64_t)z->nodes, moments = nodes * PARTS_ON_A_NODE;
	uint64_t tries = 10, search;

	for (uint64_t m = moments; m > 1; m /= 2)
		tries++;
	search = tries * KINDS * nodes + moments * 2 * (KINDS + 1) + (KINDS + 1) * nodes;
	return 8 * search + (uint64_t)z->jobs * 3 * KINDS * nodes;
}

static void kinds_that_never_fit_together_cost_a_bounded_search(void **state)
{
	static const struct size sizes[] = {
		{ 500, 8, false }, { 500, 8, true }, { 2000, 8, false }, { 2000, 8, true }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_true(count_work(&sizes[i]) < bound_of(&sizes[i]));
}

static void hundreds_of_such_jobs_cost_a_bounded_pass(void **state)
{
	static const struct size sizes[] = { { 5000, 500, false }, { 5000, 500, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_true(count_work(&sizes[i]) < bound_of(&sizes[i]));
}

/* ---- slices ---- */

struct slice {
	struct schedule *s;
	uint64_t from, longest;
};

static bool end_slice(void *ctx)
{
	struct slice *c = ctx;
	uint64_t work = schedule_work(c->s) - c->from;

	if (work > c->longest)
		c->longest = work;
	return false;
}

/* Asked after a thousand units, the pass stops before another job, moment or two are looked at. */
static void a_slice_does_no_more_than_one_placement_beyond_its_time(void **state)
{
	const struct size z = { 500, 40, true };
	_cleanup_(schedule_freep) struct schedule *s = make_hostile(&z, 8);
	struct slice c = { .s = s };
	const struct schedule_budget b = { end_slice, &c, 1000 };
	const struct schedule_action *actions;
	int slices = 0;
	size_t n;
	int r;

	(void)state;
	schedule_pass_begin(s, 1);
	do {
		c.from = schedule_work(s);
		r = schedule_pass_go_on(s, &b, &actions, &n);
		slices++;
	} while (r > 0);
	assert_int_equal(r, 0);
	printf("# %d slices, the longest of %llu comparisons\n", slices,
	       (unsigned long long)c.longest);
	assert_true(slices > 10);
	assert_true(c.longest < 1000 + 2 * KINDS * (uint64_t)z.nodes + 100 * KINDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_that_never_fit_together_cost_a_bounded_search),
		cmocka_unit_test(hundreds_of_such_jobs_cost_a_bounded_pass),
		cmocka_unit_test(a_slice_does_no_more_than_one_placement_beyond_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
