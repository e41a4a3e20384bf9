/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_reservation - what a reservation leaves on its nodes, at each edge; and when the one last found is used again: as long as nothing
 * has changed that could make another, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/schedule_impl.h"

#define NODES_MAX 4
#define NONE (-1)

struct rig {
	struct schedule *s;
	int64_t id;
};

/* Nodes of so many cores, 100 bytes of memory, 100 of disk and two GPUs of model 1. */
static void open_rig(struct rig *r, const int64_t cores[NODES_MAX])
{
	struct schedule_config c = { .rule = SCHEDULE_PRIORITY };

	*r = (struct rig){ 0 };
	assert_int_equal(schedule_new(&c, &r->s), 0);
	for (int i = 0; i < NODES_MAX && cores[i]; i++) {
		struct schedule_node n = { .cores = cores[i],
					   .mem_bytes = 100,
					   .jobfs_bytes = 100,
					   .gpus[1] = 2,
					   .is_open = true };

		assert_int_equal(schedule_add_node(r->s, &n), 0);
	}
}

static int32_t add_allocated(struct rig *r, enum schedule_state state, struct schedule_chunk c,
			     int32_t node, int64_t limit_s)
{
	struct schedule_job j = {
		.id = ++r->id, .chunks = &c, .n_chunks = 1, .limit_s = limit_s
	};
	struct schedule_allocation h = { state, &node, 0 };
	int32_t job;

	c.n = 1;
	assert_int_equal(schedule_add_allocated(r->s, &j, &h, &job), 0);
	return job;
}

/* Runs on a node from 0 on. */
static int32_t add_running(struct rig *r, int64_t cores, int32_t node, int64_t limit_s)
{
	return add_allocated(r, SCHEDULE_RUNNING, (struct schedule_chunk){ .cores = cores },
			     node, limit_s);
}

static int32_t add_queued(struct rig *r, struct schedule_chunk c, int64_t limit_s)
{
	struct schedule_job j = { .id = ++r->id,
				  .chunks = &c,
				  .n_chunks = 1,
				  .limit_s = limit_s,
				  .submit_s = r->id };
	int32_t job;

	if (!c.n)
		c.n = 1;
	assert_int_equal(schedule_add(r->s, &j, &job), 0);
	return job;
}

static void run_pass(struct rig *r, int64_t now_s)
{
	const struct schedule_action *actions;
	size_t n;

	assert_int_equal(schedule_pass(r->s, now_s, &actions, &n), 0);
}

static void expect_reserved(const struct rig *r, int32_t job, int64_t at_s, int32_t cached)
{
	assert_int_equal(r->s->reservation.job, job);
	assert_int_equal(r->s->reservation.at_s, at_s);
	assert_int_equal(r->s->reservation.cached_job, cached);
}

/* ---- what it leaves ---- */

static const struct schedule_chunk head = {
	.cores = 6, .mem_bytes = 60, .jobfs_bytes = 70, .gpus = 1, .model = 1
};

static bool allows_part(const struct rig *r, int32_t node, struct schedule_chunk c)
{
	const struct job any = { 0 };

	c.n = 1;
	return reservation_allows(r->s, &r->s->reservation, node, &c, &any);
}

/* Node 0 is reserved; 2 cores, 40 bytes, 30 of disk and one GPU are left there. */
static void open_reserved(struct rig *r)
{
	open_rig(r, (const int64_t[NODES_MAX]){ 8, 5 });
	add_running(r, 8, 0, 100);
	add_running(r, 5, 1, 1000);
	expect_reserved(r, NONE, SCHEDULE_FOREVER, NONE);
	add_queued(r, head, 10);
	run_pass(r, 0);
	assert_int_equal(r->s->reservation.at_s, 100);
	assert_int_equal(r->s->reservation.spare_of[0], 0);
	assert_int_equal(r->s->reservation.spare_of[1], -1);
}

static void a_reservation_leaves_what_its_job_does_not_take(void **state)
{
	struct rig r;

	(void)state;
	open_reserved(&r);
	assert_true(allows_part(&r, 0,
				(struct schedule_chunk){ .cores = 2,
							 .mem_bytes = 40,
							 .jobfs_bytes = 30,
							 .gpus = 1,
							 .model = 1 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .cores = 3 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .mem_bytes = 41 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .jobfs_bytes = 31 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .gpus = 2, .model = 1 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .gpus = 1, .model = 2 }));
	/* A node that is not reserved is left as a whole. */
	assert_true(allows_part(&r, 1,
				(struct schedule_chunk){ .cores = 99,
							 .mem_bytes = 999,
							 .jobfs_bytes = 999,
							 .gpus = 9,
							 .model = 2 }));
	schedule_free(r.s);
}

static void what_is_used_of_the_spare_is_gone_until_it_is_returned(void **state)
{
	const struct schedule_chunk part = {
		.cores = 1, .mem_bytes = 15, .jobfs_bytes = 10, .gpus = 1, .model = 1, .n = 1
	};
	struct rig r;

	(void)state;
	open_reserved(&r);
	reservation_use_spare(r.s, 0, &part, 1);
	reservation_use_spare(r.s, 1, &part, 1); /* not reserved: nothing to count */
	assert_true(allows_part(
		&r, 0,
		(struct schedule_chunk){ .cores = 1, .mem_bytes = 25, .jobfs_bytes = 20 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .cores = 2 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .mem_bytes = 26 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .jobfs_bytes = 21 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .gpus = 1, .model = 1 }));
	assert_false(reservation_is_full(r.s, 0));
	reservation_use_spare(r.s, 0, &(struct schedule_chunk){ .cores = 1, .n = 1 }, 1);
	assert_true(reservation_is_full(r.s, 0)); /* no core is left */
	reservation_use_spare(r.s, 0, &(struct schedule_chunk){ .cores = 1, .n = 1 }, -1);
	reservation_use_spare(r.s, 0, &part, -1);
	assert_false(reservation_is_full(r.s, 0));
	assert_true(allows_part(&r, 0,
				(struct schedule_chunk){ .cores = 2,
							 .mem_bytes = 40,
							 .jobfs_bytes = 30,
							 .gpus = 1,
							 .model = 1 }));
	schedule_free(r.s);
}

static void an_exclusive_job_shares_no_reserved_node(void **state)
{
	const struct job exclusive = { .pub.is_exclusive = true };
	const struct schedule_chunk none = { .n = 1 };
	struct rig r;

	(void)state;
	open_reserved(&r);
	assert_false(reservation_allows(r.s, &r.s->reservation, 0, &none, &exclusive));
	assert_true(reservation_allows(r.s, &r.s->reservation, 1, &none, &exclusive));
	schedule_free(r.s);
}

static void an_exclusive_reservation_leaves_nothing(void **state)
{
	struct schedule_chunk c = { .cores = 1, .n = 1 };
	struct schedule_job j = {
		.id = 9, .chunks = &c, .n_chunks = 1, .limit_s = 10, .is_exclusive = true
	};
	struct rig r;
	int32_t job;

	(void)state;
	open_rig(&r, (const int64_t[NODES_MAX]){ 8 });
	add_running(&r, 1, 0, 100);
	assert_int_equal(schedule_add(r.s, &j, &job), 0);
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ 0 }));
	assert_true(reservation_is_full(r.s, 0));
	schedule_free(r.s);
}

/* The job has 3 cores, 30 bytes, 30 of disk and a GPU of node 0, of which it keeps all but the cores. What ends at 50 and at 100 has
 * the other cores; what is left then is what ends, without the job's own cores. */
static void beside_a_suspended_job_is_what_ends_before_it_resumes(void **state)
{
	const struct schedule_chunk own = {
		.cores = 3, .mem_bytes = 30, .jobfs_bytes = 30, .gpus = 1, .model = 1
	};
	struct rig r;
	int32_t job;

	(void)state;
	open_rig(&r, (const int64_t[NODES_MAX]){ 8, 8 });
	job = add_allocated(&r, SCHEDULE_SUSPENDED, own, 0, 1000);
	add_allocated(
		&r, SCHEDULE_RUNNING,
		(struct schedule_chunk){
			.cores = 2, .mem_bytes = 20, .jobfs_bytes = 5, .gpus = 1, .model = 1 },
		0, 50);
	add_allocated(&r, SCHEDULE_RUNNING,
		      (struct schedule_chunk){ .cores = 5, .mem_bytes = 10, .jobfs_bytes = 15 },
		      0, 100);
	add_running(&r, 8, 1, 70);
	add_running(&r, 1, 0, 500);
	assert_int_equal(reservation_make(r.s, job, 0), 0);
	expect_reserved(&r, job, 100, NONE); /* at 50 there are only 2 cores */
	assert_true(allows_part(&r, 0,
				(struct schedule_chunk){ .cores = 4,
							 .mem_bytes = 70,
							 .jobfs_bytes = 70,
							 .gpus = 1,
							 .model = 1 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .cores = 5 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .mem_bytes = 71 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .jobfs_bytes = 71 }));
	assert_false(allows_part(&r, 0, (struct schedule_chunk){ .gpus = 2, .model = 1 }));
	assert_true(allows_part(&r, 1, (struct schedule_chunk){ .cores = 99 }));
	assert_false(reservation_is_full(r.s, 0));
	schedule_free(r.s);
}

static void a_suspended_job_whose_cores_are_never_free_has_no_reservation(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	open_rig(&r, (const int64_t[NODES_MAX]){ 8, 8 });
	job = add_allocated(&r, SCHEDULE_SUSPENDED, (struct schedule_chunk){ .cores = 9 }, 0,
			    1000);
	add_running(&r, 4, 0, 100);
	add_running(&r, 8, 1, 200);
	assert_int_equal(reservation_make(r.s, job, 0), 0);
	expect_reserved(&r, NONE, SCHEDULE_FOREVER, NONE);
	assert_true(allows_part(&r, 0, (struct schedule_chunk){ .cores = 99 }));
	schedule_free(r.s);
}

/* Nodes of more cores than the index of free cores tells apart are compared one by one. */
static void the_tightest_of_large_nodes_is_reserved(void **state)
{
	static const struct {
		int64_t more[3];
		int32_t tightest;
	} rows[] = { { { 10, 50, 30 }, 0 },
		     { { 50, 10, 30 }, 1 },
		     { { 50, 30, 10 }, 2 },
		     { { 10, 10, 10 }, 0 },
		     { { 4, 30, 30 }, 1 } };

	(void)state;
	for (int i = 0; i < 5; i++) {
		int64_t cores[NODES_MAX] = { 0 };
		struct rig r;
		int32_t job;

		for (int k = 0; k < 3; k++)
			cores[k] = NODE_BUCKETS + rows[i].more[k];
		open_rig(&r, cores);
		for (int k = 0; k < 3; k++)
			add_running(&r, cores[k], k, 100);
		job = add_queued(&r, (struct schedule_chunk){ .cores = NODE_BUCKETS + 5 }, 10);
		run_pass(&r, 0);
		expect_reserved(&r, job, 100, job);
		for (int k = 0; k < 3; k++)
			assert_int_equal(r.s->reservation.spare_of[k] >= 0,
					 k == rows[i].tightest);
		assert_true(allows_part(&r, rows[i].tightest,
					(struct schedule_chunk){
						.cores = rows[i].more[rows[i].tightest] - 5 }));
		assert_false(
			allows_part(&r, rows[i].tightest,
				    (struct schedule_chunk){
					    .cores = rows[i].more[rows[i].tightest] - 4 }));
		schedule_free(r.s);
	}
}

/* ---- the one last found ---- */

/* Node 0 has 8 cores until 100, and a job waits for all of them. */
static int32_t open_waiting(struct rig *r, const int64_t cores[NODES_MAX])
{
	open_rig(r, cores);
	add_running(r, 8, 0, 100);
	return add_queued(r, (struct schedule_chunk){ .cores = 8 }, 10);
}

static void what_was_found_is_used_until_its_moment(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8 });
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	r.s->reservation.cached_at_s = 90; /* to tell it from one that is found again */
	run_pass(&r, 89);
	expect_reserved(&r, job, 90, job);
	run_pass(&r, 90);
	expect_reserved(&r, job, 100, job);
	schedule_free(r.s);
}

static void the_smallest_job_is_kept_too(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	open_rig(&r, (const int64_t[NODES_MAX]){ 8 });
	add_running(&r, 8, 0, 100);
	job = add_queued(&r, (struct schedule_chunk){ .cores = 1 }, 10);
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	schedule_free(r.s);
}

/* Any start could take what a job without cores waits for; and any node be the tightest. */
static void for_a_job_without_cores_it_is_not_kept(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	open_rig(&r, (const int64_t[NODES_MAX]){ 8 });
	add_allocated(&r, SCHEDULE_RUNNING,
		      (struct schedule_chunk){ .cores = 1, .mem_bytes = 100 }, 0, 100);
	job = add_queued(&r, (struct schedule_chunk){ .mem_bytes = 1 }, 10);
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, NONE);
	schedule_free(r.s);
}

static void behind_a_job_beyond_its_limit_it_is_not_kept(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8 });
	run_pass(&r, 99);
	expect_reserved(&r, job, 100, job);
	run_pass(&r, 100);
	expect_reserved(&r, job, 101, NONE);
	run_pass(&r, 150);
	expect_reserved(&r, job, 151, NONE);
	schedule_free(r.s);
}

static void under_maintenance_it_is_not_kept(void **state)
{
	struct schedule_node n = { .cores = 1, .is_open = true, .closed_from_s = 1000 };
	struct rig r;
	int32_t job;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8 });
	assert_int_equal(schedule_add_node(r.s, &n), 0);
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, NONE);
	schedule_free(r.s);
}

static void after_an_edit_it_is_not_kept(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8 });
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	schedule_edit_begin(r.s);
	assert_int_equal(schedule_edit_end(r.s), 0);
	assert_int_equal(r.s->reservation.cached_job, NONE);
	schedule_free(r.s);
}

/* Node 1 has 2 cores free; a job of 2 cores starts there that outlasts the reservation. */
static void a_start_that_leaves_room_for_the_job_on_its_node_drops_it(void **state)
{
	static const struct {
		int64_t cores, limit_s;
		bool is_kept;
	} rows[] = { { 9, 101, true }, { 10, 101, false }, { 10, 100, true } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		int32_t job, small;
		struct rig r;

		job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8, rows[i].cores });
		add_running(&r, rows[i].cores - 2, 1, 1000);
		small = add_queued(&r, (struct schedule_chunk){ .cores = 2 }, rows[i].limit_s);
		run_pass(&r, 0);
		assert_int_equal(schedule_state(r.s, small), SCHEDULE_RUNNING);
		expect_reserved(&r, job, 100, rows[i].is_kept ? job : NONE);
		schedule_free(r.s);
	}
}

static void a_start_on_the_reserved_node_drops_it(void **state)
{
	struct rig r;
	int32_t job, small;

	(void)state;
	open_rig(&r, (const int64_t[NODES_MAX]){ 8 });
	add_running(&r, 5, 0, 100);
	job = add_queued(&r, (struct schedule_chunk){ .cores = 7 }, 10);
	small = add_queued(&r, (struct schedule_chunk){ .cores = 1 }, 101);
	run_pass(&r, 0);
	assert_int_equal(schedule_state(r.s, small), SCHEDULE_RUNNING);
	expect_reserved(&r, job, 100, NONE);
	schedule_free(r.s);
}

/* Two parts lack room; nodes 2 and 3 have two jobs each, of which one ends early. */
static void ends_that_make_up_for_what_was_missing_drop_it(void **state)
{
	int32_t job, early[2];
	struct rig r;

	(void)state;
	open_rig(&r, (const int64_t[NODES_MAX]){ 8, 8, 8, 8 });
	for (int32_t node = 0; node < 2; node++) {
		add_running(&r, 8, node, 100);
		early[node] = add_running(&r, 4, node + 2, 50);
		add_running(&r, 4, node + 2, 1000);
	}
	job = add_queued(&r, (struct schedule_chunk){ .cores = 8, .n = 2 }, 10);
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	schedule_remove(r.s, early[0]);
	assert_int_equal(r.s->reservation.cached_job, job); /* room for one at most */
	schedule_remove(r.s, early[1]);
	assert_int_equal(r.s->reservation.cached_job, NONE);
	schedule_free(r.s);
}

static void an_end_on_a_node_too_small_changes_nothing(void **state)
{
	struct rig r;
	int32_t job, other;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8, 7 });
	other = add_running(&r, 7, 1, 100);
	run_pass(&r, 0);
	schedule_remove(r.s, other);
	assert_int_equal(r.s->reservation.cached_job, job);
	schedule_free(r.s);
}

static void an_end_of_a_job_that_was_to_outlast_it_drops_it(void **state)
{
	struct rig r;
	int32_t job, other;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8, 7 });
	other = add_running(&r, 7, 1, 101);
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	schedule_remove(r.s, other);
	assert_int_equal(r.s->reservation.cached_job, NONE);
	schedule_free(r.s);
}

static void an_end_of_a_suspended_job_drops_it(void **state)
{
	struct rig r;
	int32_t job, other;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8, 7 });
	other = add_allocated(&r, SCHEDULE_SUSPENDED,
			      (struct schedule_chunk){ .cores = 1, .mem_bytes = 1 }, 1, 50);
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	schedule_remove(r.s, other);
	assert_int_equal(r.s->reservation.cached_job, NONE);
	schedule_free(r.s);
}

static void the_job_itself_takes_its_reservation_along(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8 });
	run_pass(&r, 0);
	expect_reserved(&r, job, 100, job);
	schedule_remove(r.s, job);
	expect_reserved(&r, NONE, SCHEDULE_FOREVER, NONE);
	schedule_free(r.s);
}

static void what_is_not_in_force_binds_nobody(void **state)
{
	struct rig r;
	int32_t job;

	(void)state;
	job = open_waiting(&r, (const int64_t[NODES_MAX]){ 8 });
	run_pass(&r, 0);
	reservation_cancel(r.s);
	expect_reserved(&r, NONE, SCHEDULE_FOREVER, job);
	reservation_clear(r.s);
	expect_reserved(&r, NONE, SCHEDULE_FOREVER, NONE);
	assert_true(allows_part(&r, 0, (struct schedule_chunk){ .cores = 99 }));
	assert_false(reservation_is_full(r.s, 0));
	schedule_free(r.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reservation_leaves_what_its_job_does_not_take),
		cmocka_unit_test(what_is_used_of_the_spare_is_gone_until_it_is_returned),
		cmocka_unit_test(an_exclusive_job_shares_no_reserved_node),
		cmocka_unit_test(an_exclusive_reservation_leaves_nothing),
		cmocka_unit_test(beside_a_suspended_job_is_what_ends_before_it_resumes),
		cmocka_unit_test(a_suspended_job_whose_cores_are_never_free_has_no_reservation),
		cmocka_unit_test(the_tightest_of_large_nodes_is_reserved),
		cmocka_unit_test(what_was_found_is_used_until_its_moment),
		cmocka_unit_test(the_smallest_job_is_kept_too),
		cmocka_unit_test(for_a_job_without_cores_it_is_not_kept),
		cmocka_unit_test(behind_a_job_beyond_its_limit_it_is_not_kept),
		cmocka_unit_test(under_maintenance_it_is_not_kept),
		cmocka_unit_test(after_an_edit_it_is_not_kept),
		cmocka_unit_test(a_start_that_leaves_room_for_the_job_on_its_node_drops_it),
		cmocka_unit_test(a_start_on_the_reserved_node_drops_it),
		cmocka_unit_test(ends_that_make_up_for_what_was_missing_drop_it),
		cmocka_unit_test(an_end_on_a_node_too_small_changes_nothing),
		cmocka_unit_test(an_end_of_a_job_that_was_to_outlast_it_drops_it),
		cmocka_unit_test(an_end_of_a_suspended_job_drops_it),
		cmocka_unit_test(the_job_itself_takes_its_reservation_along),
		cmocka_unit_test(what_is_not_in_force_binds_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
