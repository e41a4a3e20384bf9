/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_schedule_memory - a schedule where memory ends, at each allocation of its life: the error is returned, and nothing is lost or freed
 * twice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/schedule.h"
#include "tests/unit/rig/faults/fail_alloc.h"

#define NODES 3

static int add_nodes(struct schedule *s)
{
	struct schedule_node n = {
		.cores = 8, .mem_bytes = 100, .jobfs_bytes = 100, .gpus[1] = 2, .is_open = true
	};
	int r = 0;

	for (int i = 0; i < NODES && r == 0; i++)
		r = schedule_add_node(s, &n);
	return r;
}

/* Of one chunk on each of `n` nodes, and of two kinds where there are several. */
static int add_job(struct schedule *s, int32_t n, int32_t queue, int64_t submit_s, int32_t *ret)
{
	struct schedule_chunk c[2] = {
		{ .cores = 8, .mem_bytes = 10, .n = n },
		{ .cores = 0, .mem_bytes = 1, .gpus = 1, .model = 1, .n = 1 }
	};
	struct schedule_job j = { .id = 100 + submit_s,
				  .queue = queue,
				  .user = (int32_t)submit_s,
				  .chunks = c,
				  .n_chunks = n > 1 ? 2 : 1,
				  .submit_s = submit_s,
				  .limit_s = 100 };

	return schedule_add(s, &j, ret);
}

static int add_running(struct schedule *s, enum schedule_state state, int64_t id, int32_t *ret)
{
	struct schedule_chunk c = { .cores = 4, .mem_bytes = 5, .n = 2 };
	struct schedule_job j = { .id = id, .chunks = &c, .n_chunks = 1, .limit_s = 1000 };
	int32_t nodes[2] = { 0, 1 };
	struct schedule_allocation h = { state, nodes, 0 };

	return schedule_add_allocated(s, &j, &h, ret);
}

static bool on_start(void *ctx, int64_t id, int64_t at_s)
{
	int *n = ctx;

	(void)id;
	(void)at_s;
	++*n;
	return true;
}

static int run_future(const struct schedule *s)
{
	_cleanup_(schedule_future_freep) struct schedule_future *f = NULL;
	int n_starts = 0;
	int r = schedule_future_new(s, 10, &f);

	return r < 0 ? r
		     : schedule_future_run(
			       f, 20, &(struct schedule_watcher){ on_start, &n_starts }, NULL);
}

static int run_passes(struct schedule *s)
{
	const struct schedule_action *actions;
	size_t n;
	int r = schedule_pass(s, 10, &actions, &n);

	if (r == 0)
		r = schedule_pass(s, 900, &actions, &n);
	return r == 0 ? run_future(s) : r;
}

static int edit_jobs(struct schedule *s, int32_t gone)
{
	int32_t job;
	int r = 0;

	schedule_edit_begin(s);
	schedule_remove(s, gone);
	for (int i = 0; i < 3 && r == 0; i++)
		r = add_job(s, 1, 1, 20 - i, &job);
	schedule_set_times(s, 0, &(struct schedule_times){ .now_s = 10, .ran_s = 5 });
	return r == 0 ? schedule_edit_end(s) : r;
}

static int live_once(void *ctx)
{
	struct schedule_config c = { .rule = *(const enum schedule_rule *)ctx,
				     .reserve_after_s = 5 };
	_cleanup_(schedule_freep) struct schedule *s = NULL;
	int32_t job, wide = 0, last = 0;
	int r;

	c.run_priority[1] = 10;
	r = schedule_new(&c, &s);
	if (r == 0)
		r = add_nodes(s);
	if (r == 0)
		r = add_running(s, SCHEDULE_RUNNING, 1, &job);
	if (r == 0)
		r = add_running(s, SCHEDULE_SUSPENDED, 2, &job);
	if (r == 0)
		r = add_job(s, 2, 0, 1, &wide);
	for (int i = 0; i < 3 && r == 0; i++)
		r = add_job(s, 1, i % 2, 2 + i, &last);
	if (r == 0)
		r = edit_jobs(s, last);
	return r == 0 ? run_passes(s) : r;
}

static void each_allocation_may_fail_under_each_rule(void **state)
{
	(void)state;
	for (int rule = 0; rule < _SCHEDULE_RULE_MAX; rule++) {
		enum schedule_rule of = (enum schedule_rule)rule;

		assert_true(fail_alloc_each(live_once, &of) > 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_may_fail_under_each_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
