/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_schedule - passes over clusters: no core is allocated twice, a reservation is kept, and every job
 * starts. Allocations are counted again here, by the public calls alone. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "controller/scheduler/preempt/preempt.h"
#include "controller/scheduler/schedule.h"

#define GIB (INT64_C(1) << 30)
#define HOUR 3600

static struct schedule *new_schedule(enum schedule_rule rule)
{
	struct schedule_config c = { .rule = rule, .reserve_after_s = 24 * HOUR };
	struct schedule *s = NULL;

	c.run_priority[1] = 10;	 /* queue 1: express */
	c.run_priority[2] = -10; /* queue 2: bonus */
	assert_int_equal(schedule_new(&c, &s), 0);
	return s;
}

static void add_nodes(struct schedule *s, int n, int64_t cores)
{
	struct schedule_node node = { .cores = cores,
				      .mem_bytes = cores * 4 * GIB,
				      .jobfs_bytes = 100 * GIB,
				      .is_open = true };

	for (int i = 0; i < n; i++)
		assert_int_equal(schedule_add_node(s, &node), 0);
}

struct ask {
	int64_t cores, limit_s, submit_s;
	int32_t n, queue, group;
};

static int32_t add_job(struct schedule *s, struct ask a)
{
	static int64_t id;
	struct schedule_chunk chunk = { .cores = a.cores,
					.mem_bytes = GIB,
					.n = a.n ? a.n : 1 };
	struct schedule_job j = { .id = ++id,
				  .queue = a.queue,
				  .user = a.group,
				  .group = a.group,
				  .chunks = &chunk,
				  .n_chunks = 1,
				  .submit_s = a.submit_s,
				  .limit_s = a.limit_s };
	int32_t job;

	assert_int_equal(schedule_add(s, &j, &job), 0);
	return job;
}

static size_t run_pass(struct schedule *s, int64_t now_s)
{
	const struct schedule_action *actions;
	size_t n;

	assert_int_equal(schedule_pass(s, now_s, &actions, &n), 0);
	return n;
}

static void assert_state(struct schedule *s, int32_t job, enum schedule_state state)
{
	assert_int_equal(schedule_state(s, job), state);
}

/* ---- by priority ---- */

static void later_jobs_start_beside_a_reservation(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	int32_t runs, head, short_one, long_one, narrow;
	struct schedule_why why;

	(void)state;
	add_nodes(s, 1, 10);
	runs = add_job(s, (struct ask){ .cores = 6, .limit_s = 100 });
	head = add_job(s, (struct ask){ .cores = 8, .limit_s = 50, .submit_s = 1 });
	long_one = add_job(s, (struct ask){ .cores = 3, .limit_s = 101, .submit_s = 2 });
	short_one = add_job(s, (struct ask){ .cores = 2, .limit_s = 100, .submit_s = 3 });
	narrow = add_job(s, (struct ask){ .cores = 2, .limit_s = 1000, .submit_s = 4 });
	run_pass(s, 0);
	assert_state(s, runs, SCHEDULE_RUNNING);
	assert_state(s, head, SCHEDULE_QUEUED);
	assert_state(s, long_one, SCHEDULE_QUEUED);   /* 2 are left beside the head, not 3 */
	assert_state(s, short_one, SCHEDULE_RUNNING); /* over when the head starts */
	assert_state(s, narrow, SCHEDULE_RUNNING);
	schedule_why(s, head, &why);
	assert_int_equal(why.wait, SCHEDULE_FIRST);
	assert_int_equal(why.first_s, 100);
	schedule_why(s, runs, &why);
	assert_int_equal(why.position, -1); /* it does not wait */
	schedule_why(s, long_one, &why);
	assert_int_equal(why.wait, SCHEDULE_BEHIND);
	assert_int_equal(why.position, 1);
	assert_int_equal(why.first, head);
	schedule_remove(s, runs);
	schedule_remove(s, short_one);
	run_pass(s, 100);
	assert_state(s, head, SCHEDULE_RUNNING);
	assert_state(s, long_one, SCHEDULE_QUEUED);
}

struct starts {
	int64_t at_s[256]; /* by id; 0: none */
	int n, most;
};

static bool keep_start(void *ctx, int64_t id, int64_t at_s)
{
	struct starts *k = ctx;

	assert_int_equal(k->at_s[id], 0);
	k->at_s[id] = at_s;
	k->n++;
	return true;
}

static bool has_passes(void *ctx)
{
	struct starts *k = ctx;

	return k->most-- > 0;
}

/* Goes on for as long as there is no time. Returns how often. */
static int run_future(const struct schedule *s, struct starts *k,
		      const struct schedule_budget *b)
{
	_cleanup_(schedule_future_freep) struct schedule_future *f = NULL;
	const struct schedule_watcher w = { keep_start, k };
	int r, n = 0;

	assert_int_equal(schedule_future_new(s, 100, &f), 0);
	do
		r = schedule_future_run(f, 1000, &w, b);
	while (r > 0 && ++n < 100000);
	assert_int_equal(r, 0);
	return n;
}

/* Without time each call does one unit of work, and all calls together what one does. */
static void a_future_in_slices_is_the_same(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	_cleanup_(schedule_future_freep) struct schedule_future *f = NULL;
	struct starts all = { 0 }, slices = { 0 }, few = { .most = 3 };
	const struct schedule_budget none = { has_passes, &slices, 1 },
				     some = { has_passes, &few, 1 << 20 };
	const struct schedule_watcher w = { keep_start, &few };

	(void)state;
	add_nodes(s, 3, 8);
	for (int i = 0; i < 40; i++)
		add_job(s, (struct ask){ .cores = 1 + i * 7 % 8,
					 .limit_s = 10 + i * 13 % 50,
					 .submit_s = i });
	run_pass(s, 100);
	assert_int_equal(run_future(s, &all, NULL), 0);
	assert_true(run_future(s, &slices, &none) > 100);
	assert_memory_equal(all.at_s, slices.at_s, sizeof(all.at_s));
	assert_int_equal(all.n, slices.n);
	assert_int_equal(schedule_future_new(s, 100, &f), 0);
	assert_int_equal(schedule_future_run(f, 1000, &w, &some), 1);
	assert_true(few.n > 0 && few.n < 20);
}

static void a_position_is_known_while_the_queue_is_out_of_order(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	struct schedule_why why;
	int32_t jobs[5], more;

	(void)state;
	for (int i = 0; i < 5; i++)
		jobs[i] = add_job(s, (struct ask){ .cores = 1, .limit_s = 10, .submit_s = i });
	for (int i = 0; i < 5; i++) /* the last submitted first, from the next pass on */
		schedule_set_priority(s, jobs[i], i);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5; i++) {
			schedule_why(s, jobs[i], &why);
			assert_int_equal(why.position, round ? 4 - i : i);
			assert_int_equal(why.n, 5);
		}
		run_pass(s, 10);
	}
	schedule_edit_begin(s);
	more = add_job(s, (struct ask){ .cores = 1, .limit_s = 10, .submit_s = -1 });
	schedule_why(s, more, &why);
	assert_int_equal(why.position, 5); /* last in the list until the edit ends */
	schedule_why(s, jobs[0], &why);
	assert_int_equal(why.position, 4);
	assert_int_equal(schedule_edit_end(s), 0);
	schedule_why(s, more, &why);
	assert_int_equal(why.position, 4); /* of the same priority, submitted before */
	schedule_why(s, jobs[0], &why);
	assert_int_equal(why.position, 5);
}

static void without_backfill_no_job_passes_another(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_FIFO);
	int32_t head, small;

	(void)state;
	add_nodes(s, 1, 10);
	add_job(s, (struct ask){ .cores = 6, .limit_s = 100 });
	head = add_job(s, (struct ask){ .cores = 8, .limit_s = 50, .submit_s = 1 });
	small = add_job(s, (struct ask){ .cores = 1, .limit_s = 1, .submit_s = 2 });
	run_pass(s, 0);
	assert_state(s, head, SCHEDULE_QUEUED);
	assert_state(s, small, SCHEDULE_QUEUED);
}

static void a_job_that_never_fits_leaves_the_reservation_to_the_next(void **state)
{
	(void)state;
	for (int rule = SCHEDULE_PRIORITY; rule <= SCHEDULE_FIFO; rule++) {
		_cleanup_(schedule_freep) struct schedule *s =
			new_schedule((enum schedule_rule)rule);
		int32_t never, next, late;
		struct schedule_why why;

		add_nodes(s, 1, 10);
		add_job(s, (struct ask){ .cores = 6, .limit_s = 100 });
		never = add_job(s, (struct ask){ .cores = 11, .limit_s = 50, .submit_s = 1 });
		next = add_job(s, (struct ask){ .cores = 8, .limit_s = 50, .submit_s = 2 });
		late = add_job(s, (struct ask){ .cores = 4, .limit_s = 101, .submit_s = 3 });
		run_pass(s, 0);
		schedule_why(s, never, &why);
		assert_int_equal(why.wait, SCHEDULE_NEVER);
		assert_int_equal(why.first, next);
		assert_int_equal(why.first_s, 100);
		assert_state(s, late, SCHEDULE_QUEUED); /* it would delay that one */
	}
}

static void parts_of_one_job_are_on_several_nodes(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	struct starts k = { 0 };
	int32_t wide, next, n;

	(void)state;
	add_nodes(s, 3, 8);
	wide = add_job(s, (struct ask){ .cores = 5, .limit_s = 10, .n = 3 });
	next = add_job(s, (struct ask){ .cores = 8, .limit_s = 10, .n = 2, .submit_s = 1 });
	run_future(s, &k, NULL);
	assert_int_equal(k.at_s[schedule_job(s, next)->id], 110);
	assert_int_equal(run_pass(s, 0), 1);
	assert_int_equal(schedule_nodes(s, wide, &n)[2], 2);
	assert_int_equal(n, 3);
	assert_state(s, next, SCHEDULE_QUEUED);
}

static void before_maintenance_only_jobs_that_end_in_time_start(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	struct schedule_node node = {
		.cores = 4, .mem_bytes = 8 * GIB, .is_open = true, .closed_from_s = 1000
	};
	int32_t fits, does_not;

	(void)state;
	assert_int_equal(schedule_add_node(s, &node), 0);
	does_not = add_job(s, (struct ask){ .cores = 1, .limit_s = 901 });
	fits = add_job(s, (struct ask){ .cores = 1, .limit_s = 900, .submit_s = 1 });
	run_pass(s, 100);
	assert_state(s, does_not, SCHEDULE_QUEUED);
	assert_state(s, fits, SCHEDULE_RUNNING);
}

static void bad_input_is_refused(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	struct schedule_chunk c = { .cores = 1, .n = 1 };
	struct schedule_job j = { .chunks = &c, .n_chunks = 1, .limit_s = 1 };
	struct schedule_node bad = { .cores = -1 };
	int32_t job;

	(void)state;
	assert_int_equal(schedule_add_node(s, &bad), -EINVAL);
	c.n = 0;
	assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	c = (struct schedule_chunk){ .cores = INT64_MAX, .n = 2 };
	assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	c = (struct schedule_chunk){ .cores = 1, .n = 1, .model = 16 };
	assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	c.model = 0;
	j.queue = SCHEDULE_QUEUES_MAX;
	assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	j.queue = 0;
	j.limit_s = -1;
	assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	j.limit_s = 1;
	assert_int_equal(schedule_add(s, &j, &job), 0); /* no node: it waits */
	assert_int_equal(run_pass(s, 0), 0);
}

static void a_rule_that_is_none_is_refused(void **state)
{
	struct schedule_config c = { .rule = _SCHEDULE_RULE_MAX };
	struct schedule *s = NULL;

	(void)state;
	assert_int_equal(schedule_new(&c, &s), -EINVAL);
	c.rule = SCHEDULE_PREEMPT;
	c.reserve_after_s = -1;
	assert_int_equal(schedule_new(&c, &s), -EINVAL);
	assert_null(s);
	c.reserve_after_s = 0;
	assert_int_equal(schedule_new(&c, &s), 0);
	schedule_free(s);
	assert_null(schedule_free(NULL));
}

static void each_field_of_a_chunk_is_checked(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	struct schedule_chunk good = { .cores = 1, .n = 1 },
			      bad[] = { good, good, good, good, good, good, good };
	struct schedule_job j = { .n_chunks = 1, .limit_s = 0 };
	int32_t job;

	(void)state;
	bad[0].cores = -1;
	bad[1].mem_bytes = -1;
	bad[2].jobfs_bytes = -1;
	bad[3].gpus = -1;
	bad[4].model = -1;
	bad[5].model = SCHEDULE_MODELS_MAX + 1;
	bad[6].n = -1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		j.chunks = &bad[i];
		assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	}
	good.model = SCHEDULE_MODELS_MAX;
	j.chunks = &good;
	assert_int_equal(schedule_add(s, &j, &job), 0);
	j.n_chunks = 0;
	assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	j.n_chunks = 1;
	j.queue = -1;
	assert_int_equal(schedule_add(s, &j, &job), -EINVAL);
	j.queue = SCHEDULE_QUEUES_MAX - 1;
	assert_int_equal(schedule_add(s, &j, &job), 0);
	assert_int_equal(job, 1);
}

static void a_job_on_no_known_node_is_refused_and_leaves_nothing(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	struct schedule_chunk c = { .cores = 1, .n = 2 };
	struct schedule_job j = { .id = 7, .chunks = &c, .n_chunks = 1, .limit_s = 10 };
	int32_t nodes[2] = { 0, 1 }, job, next;
	struct schedule_allocation h = { SCHEDULE_RUNNING, nodes, 0 };

	(void)state;
	add_nodes(s, 2, 4);
	for (int32_t bad = -1; bad <= 2; bad += 3) {
		nodes[1] = bad;
		assert_int_equal(schedule_add_allocated(s, &j, &h, &job), -EINVAL);
	}
	nodes[1] = 1;
	h.state = SCHEDULE_QUEUED; /* it has no nodes */
	assert_int_equal(schedule_add_allocated(s, &j, &h, &job), -EINVAL);
	h.state = SCHEDULE_RUNNING;
	c.n = -1;
	assert_int_equal(schedule_add_allocated(s, &j, &h, &job), -EINVAL);
	c.n = 2;
	assert_int_equal(schedule_add_allocated(s, &j, &h, &job), 0);
	assert_int_equal(job, 0); /* the first number: none was lost */
	next = add_job(s, (struct ask){ .cores = 4, .limit_s = 10 });
	assert_int_equal(next, 1);
	run_pass(s, 0); /* one core of each node is in use */
	assert_state(s, next, SCHEDULE_QUEUED);
}

/* To ask whether it fits leaves no trace, be it of several parts or of whole nodes. */
static void a_question_changes_nothing(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PRIORITY);
	struct schedule_chunk c = { .cores = 2, .mem_bytes = GIB, .n = 2 };
	struct schedule_job j = { .id = 9,
				  .chunks = &c,
				  .n_chunks = 1,
				  .submit_s = 9,
				  .limit_s = 1000,
				  .is_exclusive = true };
	int32_t wide, head;
	struct schedule_why why;

	(void)state;
	add_nodes(s, 2, 8);
	add_job(s, (struct ask){ .cores = 8, .limit_s = 100 });
	head = add_job(s, (struct ask){ .cores = 8, .n = 2, .limit_s = 10, .submit_s = 1 });
	assert_int_equal(schedule_add(s, &j, &wide), 0);
	run_pass(s, 0);
	assert_state(s, head, SCHEDULE_QUEUED);
	for (int i = 0; i < 3; i++) {
		schedule_why(s, wide, &why);
		assert_int_equal(why.wait,
				 SCHEDULE_WOULD_DELAY); /* node 1 is free, and reserved */
		assert_int_equal(why.first, head);
		assert_int_equal(why.first_s, 100);
	}
	schedule_remove(s, head);
	assert_int_equal(run_pass(s, 1), 1);
	assert_state(s, wide, SCHEDULE_RUNNING);
}

/* ---- with suspension ---- */

static void an_express_job_takes_the_cores_of_a_normal_one(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PREEMPT);
	int32_t normal, express;

	(void)state;
	add_nodes(s, 1, 4);
	normal = add_job(s, (struct ask){ .cores = 4, .limit_s = 50 * HOUR });
	run_pass(s, 0);
	express = add_job(
		s, (struct ask){ .cores = 2, .limit_s = 60, .submit_s = 100, .queue = 1 });
	assert_int_equal(run_pass(s, 100), 2);
	assert_state(s, normal, SCHEDULE_SUSPENDED);
	assert_state(s, express, SCHEDULE_RUNNING);
	assert_int_equal(schedule_ran_s(s, normal, 130), 100);
	assert_int_equal(schedule_suspended_s(s, normal, 130), 30);
	schedule_remove(s, express);
	assert_int_equal(run_pass(s, 160), 1);
	assert_state(s, normal, SCHEDULE_RUNNING);
	assert_int_equal(schedule_ran_s(s, normal, 160), 100);
}

static void suspended_jobs_keep_their_memory(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PREEMPT);
	struct schedule_chunk all = { .cores = 4, .mem_bytes = 16 * GIB, .n = 1 };
	struct schedule_job j = { .id = 900, .chunks = &all, .n_chunks = 1, .limit_s = HOUR };
	int32_t normal, express;

	(void)state;
	add_nodes(s, 1, 4);
	assert_int_equal(schedule_add(s, &j, &normal), 0);
	run_pass(s, 0);
	express = add_job(s, (struct ask){ .cores = 1, .limit_s = 60, .queue = 1 });
	assert_int_equal(run_pass(s, 1), 0);
	assert_state(s, normal, SCHEDULE_RUNNING);
	assert_state(s, express, SCHEDULE_QUEUED);
}

static void a_large_job_suspends_small_ones_while_they_can_bear_it(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PREEMPT);
	int32_t small[16], large;
	int n = 0;

	(void)state;
	add_nodes(s, 2, 16);
	for (int i = 0; i < 16; i++)
		small[i] = add_job(
			s, (struct ask){ .cores = 2, .limit_s = 50 * HOUR, .group = i });
	run_pass(s, 0);
	large = add_job(s,
			(struct ask){ .cores = 8, .n = 2, .limit_s = 20 * HOUR, .group = 99 });
	run_pass(s, HOUR); /* 20 h are too much for 50 h */
	assert_state(s, large, SCHEDULE_QUEUED);
	schedule_remove(s, large);
	large = add_job(s,
			(struct ask){ .cores = 8, .n = 2, .limit_s = 2 * HOUR, .group = 99 });
	run_pass(s, HOUR);
	assert_state(s, large, SCHEDULE_RUNNING);
	for (int i = 0; i < 16; i++)
		n += schedule_state(s, small[i]) == SCHEDULE_SUSPENDED;
	assert_int_equal(n, 8); /* not one too many */
}

static void a_group_without_running_jobs_goes_first(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PREEMPT);
	int32_t many[4], one;

	(void)state;
	add_nodes(s, 1, 3);
	for (int i = 0; i < 4; i++)
		many[i] = add_job(
			s,
			(struct ask){ .cores = 1, .limit_s = HOUR, .submit_s = i, .group = 1 });
	one = add_job(s,
		      (struct ask){ .cores = 1, .limit_s = HOUR, .submit_s = 9, .group = 2 });
	run_pass(s, 10);
	assert_state(s, one, SCHEDULE_RUNNING);
	assert_state(s, many[1], SCHEDULE_RUNNING);
	assert_state(s, many[2], SCHEDULE_QUEUED);
}

static void a_start_is_withdrawn_for_a_larger_job(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PREEMPT);
	const struct schedule_action *actions;
	int32_t small, large;
	size_t n;

	(void)state;
	add_nodes(s, 1, 16);
	small = add_job(s, (struct ask){ .cores = 1, .limit_s = HOUR, .group = 1 });
	large = add_job(
		s, (struct ask){ .cores = 16, .limit_s = HOUR, .group = 2, .submit_s = 1 });
	assert_int_equal(schedule_pass(s, 10, &actions, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(actions[0].job, large);
	assert_state(s, small, SCHEDULE_QUEUED);
	assert_int_equal(schedule_job(s, small)->overdue_since_s, 10);
}

static void a_bonus_job_is_preempted_by_every_other(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(SCHEDULE_PREEMPT);
	int32_t bonus, normal;

	(void)state;
	add_nodes(s, 1, 4);
	bonus = add_job(s, (struct ask){ .cores = 4, .limit_s = HOUR, .queue = 2 });
	run_pass(s, 0);
	normal = add_job(s, (struct ask){ .cores = 1, .limit_s = 50 * HOUR });
	run_pass(s, 1);
	assert_state(s, bonus, SCHEDULE_SUSPENDED);
	assert_state(s, normal, SCHEDULE_RUNNING);
}

static void the_score_is_flat_for_usual_waits_and_steep_for_extreme_ones(void **state)
{
	struct preempt_job a = { .cores = 16, .limit_s = HOUR, .n_running = 1 };
	struct preempt_job b = { .cores = 8, .limit_s = 50 * HOUR, .n_running = 1 };
	struct preempt_score s = preempt_score(&a, &b);

	(void)state;
	assert_true(s.may_parallel);
	assert_true(fabs(s.xfactor - 1.02) < 1e-9);
	assert_true(s.size < 0.02 && s.size > 0.015); /* (1/4)^3 */
	assert_true(s.expansion > -0.001);
	assert_true(s.running == 0 && s.done == 0);
	b.ran_s = 25 * HOUR;
	assert_true(preempt_score(&a, &b).done > -0.01);
	b.ran_s = 48 * HOUR;
	assert_true(preempt_score(&a, &b).done < -1.4);
	assert_false(preempt_score(&a, &b).may_parallel);
	b.ran_s = 0;
	b.n_running = 1000;
	assert_true(preempt_score(&a, &b).running > 0.99);
	b.n_running = 3;
	assert_true(preempt_score(&a, &b).running < 0.01);
	b.suspended_s = 13 * HOUR; /* beyond 1.25, whatever else */
	b.n_running = 1000;
	assert_false(preempt_score(&a, &b).may_parallel);
	b.cores = 16;
	b.suspended_s = 0;
	assert_false(preempt_score(&a, &b).may_parallel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_jobs_start_beside_a_reservation),
		cmocka_unit_test(a_future_in_slices_is_the_same),
		cmocka_unit_test(a_position_is_known_while_the_queue_is_out_of_order),
		cmocka_unit_test(without_backfill_no_job_passes_another),
		cmocka_unit_test(a_job_that_never_fits_leaves_the_reservation_to_the_next),
		cmocka_unit_test(parts_of_one_job_are_on_several_nodes),
		cmocka_unit_test(before_maintenance_only_jobs_that_end_in_time_start),
		cmocka_unit_test(bad_input_is_refused),
		cmocka_unit_test(a_rule_that_is_none_is_refused),
		cmocka_unit_test(each_field_of_a_chunk_is_checked),
		cmocka_unit_test(a_job_on_no_known_node_is_refused_and_leaves_nothing),
		cmocka_unit_test(a_question_changes_nothing),
		cmocka_unit_test(an_express_job_takes_the_cores_of_a_normal_one),
		cmocka_unit_test(suspended_jobs_keep_their_memory),
		cmocka_unit_test(a_large_job_suspends_small_ones_while_they_can_bear_it),
		cmocka_unit_test(a_group_without_running_jobs_goes_first),
		cmocka_unit_test(a_start_is_withdrawn_for_a_larger_job),
		cmocka_unit_test(a_bonus_job_is_preempted_by_every_other),
		cmocka_unit_test(the_score_is_flat_for_usual_waits_and_steep_for_extreme_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
