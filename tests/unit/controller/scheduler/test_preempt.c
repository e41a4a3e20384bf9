/* test_preempt - edges of the rule that suspends jobs: each curve of the score at its bounds, what counts as time lost, who gets the
 * reservation, and the sums by owner. */
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
