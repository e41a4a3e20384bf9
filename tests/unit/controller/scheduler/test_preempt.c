/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_preempt - edges of the rule that suspends jobs: who gets the reservation, what resumes, and why a job waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/preempt/preempt_impl.h"

/* ---- who gets the reservation ---- */

struct rig {
	struct schedule *s;
	int64_t id;
};

static void open_rig(struct rig *r, int64_t reserve_after_s, int n_nodes)
{
	struct schedule_config c = { .rule = SCHEDULE_PREEMPT,
				     .reserve_after_s = reserve_after_s };
	struct schedule_node n = { .cores = 4, .mem_bytes = 100, .is_open = true };

	c.run_priority[1] = 10; /* queue 1: express */
	*r = (struct rig){ 0 };
	assert_int_equal(schedule_new(&c, &r->s), 0);
	for (int i = 0; i < n_nodes; i++)
		assert_int_equal(schedule_add_node(r->s, &n), 0);
}

static int32_t add_job(struct rig *r, int64_t cores, int64_t limit_s, int64_t submit_s)
{
	struct schedule_chunk c = { .cores = cores, .mem_bytes = 1, .n = 1 };
	struct schedule_job j = { .id = ++r->id,
				  .chunks = &c,
				  .n_chunks = 1,
				  .submit_s = submit_s,
				  .limit_s = limit_s };
	int32_t job;

	assert_int_equal(schedule_add(r->s, &j, &job), 0);
	return job;
}

/* A job of four cores that has run and was suspended for so long, on a node; at time 1,000. */
static int32_t add_suspended(struct rig *r, int32_t node, int64_t suspended_s)
{
	struct schedule_chunk c = { .cores = 4, .mem_bytes = 1, .n = 1 };
	struct schedule_job j = {
		.id = ++r->id, .chunks = &c, .n_chunks = 1, .limit_s = 1000, .ran_s = 100
	};
	struct schedule_allocation h = { SCHEDULE_SUSPENDED, &node, 1000 - suspended_s };
	int32_t job;

	assert_int_equal(schedule_add_allocated(r->s, &j, &h, &job), 0);
	return job;
}

/* A job that runs on a node since 900, until 900 + limit_s; never preempted. */
static int32_t add_running(struct rig *r, int32_t node, int64_t limit_s)
{
	struct schedule_chunk c = { .cores = 4, .mem_bytes = 1, .n = 1 };
	struct schedule_job j = { .id = ++r->id,
				  .chunks = &c,
				  .n_chunks = 1,
				  .limit_s = limit_s,
				  .is_protected = true };
	struct schedule_allocation h = { SCHEDULE_RUNNING, &node, 900 };
	int32_t job;

	assert_int_equal(schedule_add_allocated(r->s, &j, &h, &job), 0);
	return job;
}

static size_t run_pass(struct rig *r, int64_t now_s)
{
	const struct schedule_action *actions;
	size_t n;

	assert_int_equal(schedule_pass(r->s, now_s, &actions, &n), 0);
	return n;
}

static void only_a_suspended_job_beyond_its_pressing_point_gets_the_reservation(void **state)
{
	struct rig r;
	int32_t first, second;

	(void)state;
	open_rig(&r, 0, 2);
	add_running(&r, 0, 500);
	add_running(&r, 1, 600);
	first = add_suspended(&r, 0, 150); /* 1.15: not beyond it */
	run_pass(&r, 1000);
	assert_int_equal(r.s->reservation.job, -1);
	run_pass(&r, 1001);
	assert_int_equal(r.s->reservation.job, first);
	assert_int_equal(r.s->reservation.at_s, 1400);
	second = add_suspended(&r, 1, 151);
	run_pass(&r, 1001); /* the largest XFactor */
	assert_int_equal(r.s->reservation.job, second);
	assert_int_equal(r.s->reservation.at_s, 1500);
	schedule_set_blocked(r.s, second, true);
	run_pass(&r, 1001);
	assert_int_equal(r.s->reservation.job, first);
	schedule_free(r.s);
}

static void of_equally_pressing_jobs_the_first_keeps_the_reservation(void **state)
{
	struct rig r;
	int32_t first;

	(void)state;
	open_rig(&r, 0, 2);
	add_running(&r, 0, 500);
	add_running(&r, 1, 600);
	first = add_suspended(&r, 1, 300);
	add_suspended(&r, 0, 300);
	run_pass(&r, 1000);
	assert_int_equal(r.s->reservation.job, first);
	schedule_free(r.s);
}

static void a_reservation_behind_a_job_beyond_its_limit_is_for_the_next_second(void **state)
{
	struct rig r;
	int32_t pressing;

	(void)state;
	open_rig(&r, 0, 1);
	add_running(&r, 0, 50); /* until 950 */
	pressing = add_suspended(&r, 0, 300);
	run_pass(&r, 1000);
	assert_int_equal(r.s->reservation.job, pressing);
	assert_int_equal(r.s->reservation.at_s, 1001);
	schedule_free(r.s);
}

static void all_that_end_at_one_moment_make_room_together(void **state)
{
	struct rig r;
	int32_t first, second, pressing;

	(void)state;
	open_rig(&r, 0, 1);
	first = add_running(&r, 0, 500);
	second = add_running(&r, 0, 500); /* both have the node: more than it has */
	add_running(&r, 0, 600);
	pressing = add_suspended(&r, 0, 300);
	run_pass(&r, 1000);
	assert_int_equal(r.s->reservation.job, pressing);
	assert_int_equal(r.s->reservation.at_s, 1500);
	schedule_remove(r.s, first);
	schedule_remove(r.s, second);
	run_pass(&r, 1000);
	assert_int_equal(r.s->reservation.at_s, 1500);
	schedule_free(r.s);
}

static void of_equal_jobs_the_first_number_resumes(void **state)
{
	struct rig r;
	int32_t gone, second, first;

	(void)state;
	open_rig(&r, 0, 1);
	gone = add_suspended(&r, 0, 10);
	second = add_suspended(&r, 0, 10);
	schedule_remove(r.s, gone);
	first = add_suspended(&r, 0, 10); /* the number that was free, and last in the list */
	assert_true(first < second);
	assert_int_equal(run_pass(&r, 1000), 1);
	assert_int_equal(schedule_state(r.s, first), SCHEDULE_RUNNING);
	assert_int_equal(schedule_state(r.s, second), SCHEDULE_SUSPENDED);
	schedule_free(r.s);
	open_rig(&r, 0, 1); /* and where it is first in the list */
	first = add_suspended(&r, 0, 10);
	second = add_suspended(&r, 0, 10);
	assert_int_equal(run_pass(&r, 1000), 1);
	assert_int_equal(schedule_state(r.s, first), SCHEDULE_RUNNING);
	assert_int_equal(schedule_state(r.s, second), SCHEDULE_SUSPENDED);
	schedule_free(r.s);
}

static void the_first_that_waits_for_too_long_gets_the_reservation(void **state)
{
	struct rig r;
	int32_t first, second;

	(void)state;
	open_rig(&r, 300, 1);
	add_running(&r, 0, 500);
	first = add_job(&r, 4, 10, 700);
	second = add_job(&r, 4, 10, 701);
	run_pass(&r, 1000); /* 300 s, and not longer */
	assert_int_equal(r.s->reservation.job, -1);
	run_pass(&r, 1001);
	assert_int_equal(r.s->reservation.job, first);
	schedule_set_blocked(r.s, first, true);
	run_pass(&r, 1001);
	assert_int_equal(r.s->reservation.job, -1); /* the second waits for 300 s */
	run_pass(&r, 1002);
	assert_int_equal(r.s->reservation.job, second);
	schedule_free(r.s);
}

static void without_a_time_to_reserve_after_no_queued_job_gets_it(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r, 0, 1);
	add_running(&r, 0, 500);
	add_job(&r, 4, 10, 1);
	run_pass(&r, 1000);
	assert_int_equal(r.s->reservation.job, -1);
	schedule_free(r.s);
}

static void a_start_leaves_the_reserved_node_in_time(void **state)
{
	struct rig r;
	int32_t held, late, in_time;

	(void)state;
	open_rig(&r, 0, 1);
	held = add_suspended(&r, 0, 500);
	/* One core is taken until 1,400: the other three serve who is gone by then. */
	{
		struct schedule_chunk c = { .cores = 1, .mem_bytes = 1, .n = 1 };
		struct schedule_job j = { .id = 99,
					  .chunks = &c,
					  .n_chunks = 1,
					  .limit_s = 500,
					  .is_protected = true };
		int32_t node = 0, job;
		struct schedule_allocation h = { SCHEDULE_RUNNING, &node, 900 };

		assert_int_equal(schedule_add_allocated(r.s, &j, &h, &job), 0);
	}
	late = add_job(&r, 1, 401, 0);
	in_time = add_job(&r, 1, 400, 1);
	assert_int_equal(run_pass(&r, 1000), 1);
	assert_int_equal(r.s->reservation.job, held);
	assert_int_equal(schedule_state(r.s, late), SCHEDULE_QUEUED);
	assert_int_equal(schedule_state(r.s, in_time), SCHEDULE_RUNNING);
	schedule_free(r.s);
}

/* The index of free cores tells no more than so many apart. */
static void a_job_of_more_cores_than_the_index_has_starts(void **state)
{
	struct schedule_node n = { .cores = NODE_BUCKETS + 10,
				   .mem_bytes = 100,
				   .is_open = true };
	struct rig r;
	int32_t fits, wide;

	(void)state;
	open_rig(&r, 0, 0);
	assert_int_equal(schedule_add_node(r.s, &n), 0);
	wide = add_job(&r, NODE_BUCKETS + 11, 10, 0);
	fits = add_job(&r, NODE_BUCKETS + 10, 10, 1);
	assert_int_equal(run_pass(&r, 10), 1);
	assert_int_equal(schedule_state(r.s, wide), SCHEDULE_QUEUED);
	assert_int_equal(schedule_state(r.s, fits), SCHEDULE_RUNNING);
	schedule_free(r.s);
}

static void suspended_jobs_of_each_queue_resume(void **state)
{
	struct rig r;
	int32_t jobs[3];

	(void)state;
	open_rig(&r, 0, 3);
	for (int32_t i = 0; i < 3; i++) {
		struct schedule_chunk c = { .cores = 4, .mem_bytes = 1, .n = 1 };
		struct schedule_job j = { .id = ++r.id,
					  .queue = i * (SCHEDULE_QUEUES_MAX - 1) / 2,
					  .chunks = &c,
					  .n_chunks = 1,
					  .limit_s = 1000 };
		struct schedule_allocation h = { SCHEDULE_SUSPENDED, &i, 0 };

		assert_int_equal(schedule_add_allocated(r.s, &j, &h, &jobs[i]), 0);
	}
	assert_int_equal(run_pass(&r, 10), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(schedule_state(r.s, jobs[i]), SCHEDULE_RUNNING);
	schedule_free(r.s);
}

static void expect_why(struct rig *r, int32_t job, enum schedule_wait wait, int32_t position)
{
	struct schedule_why why;

	schedule_why(r->s, job, &why);
	assert_int_equal(why.wait, wait);
	assert_int_equal(why.position, position);
}

/* Positions are those of the shuffled queue: who has less above him is first. */
static void a_position_is_that_of_its_own_queue(void **state)
{
	struct schedule_why why;
	struct rig r;
	int32_t late, blocked, never, others[2];

	(void)state;
	open_rig(&r, 0, 1);
	add_running(&r, 0, 5000);
	others[0] = add_job(&r, 3, 10, 1);
	others[1] = add_job(&r, 3, 10, 2);
	blocked = add_job(&r, 1, 10, 3);
	never = add_job(&r, 5, 10, 4);
	schedule_set_blocked(r.s, blocked, true);
	{
		struct schedule_chunk c = { .cores = 3, .mem_bytes = 1, .n = 1 };
		struct schedule_job j = { .id = 77,
					  .queue = 1,
					  .user = 1,
					  .group = 1,
					  .chunks = &c,
					  .n_chunks = 1,
					  .limit_s = 10,
					  .submit_s = 5 };
		int32_t other_queue;

		assert_int_equal(schedule_add(r.s, &j, &other_queue), 0);
		run_pass(&r, 1000);
		schedule_why(r.s, other_queue, &why);
		assert_int_equal(why.position, 0);
		assert_int_equal(why.n, 1);
		assert_int_equal(why.wait, SCHEDULE_FIRST);
	}
	expect_why(&r, others[0], SCHEDULE_FIRST, 0);
	expect_why(&r, others[1], SCHEDULE_BEHIND, 1);
	expect_why(&r, blocked, SCHEDULE_BLOCKED, 2);
	expect_why(&r, never, SCHEDULE_NEVER, 3);
	schedule_why(r.s, others[1], &why);
	assert_int_equal(why.n, 4);
	late = add_job(&r, 1, 10, 5);
	expect_why(&r, late, SCHEDULE_NOT_CONSIDERED, -1); /* no pass has seen it */
	schedule_remove(r.s, others[0]);
	expect_why(&r, others[1], SCHEDULE_FIRST, 0);
	schedule_free(r.s);
}

static void a_priority_that_only_the_first_queue_has_counts(void **state)
{
	struct schedule_config c = { .rule = SCHEDULE_PREEMPT, .run_priority[0] = 5 };
	struct schedule_node n = { .cores = 4, .mem_bytes = 100, .is_open = true };
	struct rig r = { 0 };
	int32_t job;

	(void)state;
	assert_int_equal(schedule_new(&c, &r.s), 0);
	assert_int_equal(schedule_add_node(r.s, &n), 0);
	job = add_job(&r, 4, 10, 1);
	assert_int_equal(run_pass(&r, 10), 1);
	assert_int_equal(schedule_state(r.s, job), SCHEDULE_RUNNING);
	schedule_free(r.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			only_a_suspended_job_beyond_its_pressing_point_gets_the_reservation),
		cmocka_unit_test(of_equally_pressing_jobs_the_first_keeps_the_reservation),
		cmocka_unit_test(
			a_reservation_behind_a_job_beyond_its_limit_is_for_the_next_second),
		cmocka_unit_test(all_that_end_at_one_moment_make_room_together),
		cmocka_unit_test(of_equal_jobs_the_first_number_resumes),
		cmocka_unit_test(the_first_that_waits_for_too_long_gets_the_reservation),
		cmocka_unit_test(without_a_time_to_reserve_after_no_queued_job_gets_it),
		cmocka_unit_test(suspended_jobs_of_each_queue_resume),
		cmocka_unit_test(a_priority_that_only_the_first_queue_has_counts),
		cmocka_unit_test(a_position_is_that_of_its_own_queue),
		cmocka_unit_test(a_job_of_more_cores_than_the_index_has_starts),
		cmocka_unit_test(a_start_leaves_the_reserved_node_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
