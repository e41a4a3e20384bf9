/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_shapes - which later requests are hopeless after one that did not fit: those that ask for as much in everything; and how many are
 * remembered. Jobs that need not be tried are not: their limits are not asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/schedule_impl.h"

static struct schedule *new_schedule(void)
{
	struct schedule_config c = { .rule = SCHEDULE_PRIORITY };
	struct schedule *s = NULL;

	assert_int_equal(schedule_new(&c, &s), 0);
	return s;
}

/* Of one chunk, all amounts 5. */
static const struct schedule_chunk five = {
	.cores = 5, .mem_bytes = 5, .jobfs_bytes = 5, .gpus = 5, .model = 1, .n = 5
};

static bool is_hopeless(const struct schedule *s, struct schedule_chunk c)
{
	const struct job j = { .pub = { .chunks = &c, .n_chunks = 1, .features = 6 } };

	return shape_is_hopeless(s, &j, 100);
}

static void what_asks_for_as_much_is_hopeless(void **state)
{
	const struct job failed = { .pub = { .chunks = &five, .n_chunks = 1, .features = 6 } };
	struct schedule *s = new_schedule();
	struct schedule_chunk c = five;
	struct job j = failed;

	(void)state;
	assert_false(is_hopeless(s, five));
	shape_add_failed(s, &failed, 100);
	assert_true(is_hopeless(s, five));
	for (int more = -1; more <= 1; more += 2) {
		c = five, c.cores += more;
		assert_int_equal(is_hopeless(s, c), more > 0);
		c = five, c.mem_bytes += more;
		assert_int_equal(is_hopeless(s, c), more > 0);
		c = five, c.jobfs_bytes += more;
		assert_int_equal(is_hopeless(s, c), more > 0);
		c = five, c.gpus += more;
		assert_int_equal(is_hopeless(s, c), more > 0);
		c = five, c.n += more;
		assert_int_equal(is_hopeless(s, c), more > 0);
		c = five, c.model += more;
		assert_false(is_hopeless(s, c));
		assert_int_equal(shape_is_hopeless(s, &failed, 100 + more), more > 0);
	}
	j.pub.features = 7; /* more features: fewer nodes */
	assert_true(shape_is_hopeless(s, &j, 100));
	j.pub.features = 4;
	assert_false(shape_is_hopeless(s, &j, 100));
	j = failed;
	j.pub.is_exclusive = true;
	assert_false(shape_is_hopeless(s, &j, 100));
	j = failed;
	j.pub.is_scattered = true;
	assert_false(shape_is_hopeless(s, &j, 100));
	schedule_free(s);
}

static void one_hopeless_chunk_is_enough(void **state)
{
	const struct schedule_chunk chunks[] = { { .cores = 1, .n = 1 },
						 { .cores = 9, .n = 1 } };
	const struct job failed = { .pub = { .chunks = &chunks[1], .n_chunks = 1 } };
	const struct job both = { .pub = { .chunks = chunks, .n_chunks = 2 } };
	const struct job small = { .pub = { .chunks = chunks, .n_chunks = 1 } };
	struct schedule *s = new_schedule();

	(void)state;
	s->lacking = 1; /* the first kind had room: nothing is known of it */
	shape_add_failed(s, &both, 5);
	assert_true(shape_is_hopeless(s, &failed, 5));
	assert_false(shape_is_hopeless(s, &small, 5));
	shapes_forget(s);
	s->lacking = -1; /* each has room, and not both: nothing is known of either */
	shape_add_failed(s, &both, 5);
	assert_int_equal(s->shapes.n, 0);
	assert_false(shape_is_hopeless(s, &both, 5));
	s->config.tries_max = 1; /* but this is not tried again, where tries are bounded */
	shape_add_failed(s, &both, 5);
	assert_true(shape_is_hopeless(s, &both, 5));
	assert_false(shape_is_hopeless(s, &failed, 5));
	assert_false(shape_is_hopeless(s, &small, 5));
	shapes_forget(s);
	s->lacking = 0;
	shape_add_failed(s, &failed, 5);
	assert_int_equal(s->shapes.n, 1);
	assert_true(shape_is_hopeless(s, &both, 5));
	assert_false(shape_is_hopeless(s, &small, 5));
	schedule_free(s);
}

/* A smaller request that fails makes larger ones needless to remember; of others so many are kept, then the oldest goes. */
static void so_many_are_remembered(void **state)
{
	struct schedule *s = new_schedule();
	struct schedule_chunk c[2 * SHAPES_MAX];
	struct job j[2 * SHAPES_MAX];

	(void)state;
	for (int i = 0; i < 2 * SHAPES_MAX; i++) { /* none asks for as much as another */
		c[i] = (struct schedule_chunk){ .cores = 10 + i, .mem_bytes = 100 - i, .n = 1 };
		j[i] = (struct job){ .pub = { .chunks = &c[i], .n_chunks = 1 } };
		shape_add_failed(s, &j[i], 1);
		assert_int_equal(s->shapes.n, i < SHAPES_MAX ? i + 1 : SHAPES_MAX);
		for (int k = 0; k <= i; k++)
			assert_int_equal(shape_is_hopeless(s, &j[k], 1), k > i - SHAPES_MAX);
	}
	c[0] = (struct schedule_chunk){ .cores = 22, .mem_bytes = 1, .n = 1 };
	shape_add_failed(s, &j[0], 1); /* 22 to 25 cores are as much */
	assert_int_equal(s->shapes.n, SHAPES_MAX - 3);
	for (int k = SHAPES_MAX; k < 2 * SHAPES_MAX; k++)
		assert_true(shape_is_hopeless(s, &j[k], 1));
	c[1] = (struct schedule_chunk){ .n = 1 };
	shape_add_failed(s, &j[1], 1); /* everything is as much */
	assert_int_equal(s->shapes.n, 1);
	schedule_free(s);
}

/* ---- which jobs a pass tries ---- */

struct asked {
	struct schedule *s;
	int of[32]; /* by id: how often its limits were asked */
};

static bool may_start(void *ctx, int64_t id)
{
	((struct asked *)ctx)->of[id]++;
	return true;
}

static int32_t add_job(struct asked *a, int64_t id, struct schedule_chunk c, int64_t limit_s)
{
	struct schedule_job j = {
		.id = id, .chunks = &c, .n_chunks = 1, .limit_s = limit_s, .submit_s = id
	};
	int32_t job;

	c.n = 1;
	assert_int_equal(schedule_add(a->s, &j, &job), 0);
	return job;
}

static void expect_asked(const struct asked *a, int64_t id, int times)
{
	if (a->of[id] != times)
		fail_msg("job %d was asked %d times", (int)id, a->of[id]);
}

static void open_asked(struct asked *a, int64_t cores)
{
	struct schedule_config c = { .rule = SCHEDULE_PRIORITY,
				     .may_start = may_start,
				     .ctx = a };
	struct schedule_node n = { .cores = cores, .mem_bytes = 9, .is_open = true };

	*a = (struct asked){ 0 };
	assert_int_equal(schedule_new(&c, &a->s), 0);
	assert_int_equal(schedule_add_node(a->s, &n), 0);
}

/* 3 cores are left beside the first job; the second waits for all. Who asks for more than 3 is not tried, nor who asks for as much as one that
 * did not fit. */
static void who_cannot_fit_is_not_tried(void **state)
{
	static const int64_t sizes[] = { 16, NODE_BUCKETS + 16 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct schedule_action *actions;
		struct asked a;
		int32_t last;
		size_t n;

		open_asked(&a, sizes[i]);
		add_job(&a, 1, (struct schedule_chunk){ .cores = sizes[i] - 3 }, 100);
		add_job(&a, 2, (struct schedule_chunk){ .cores = sizes[i] }, 100);
		add_job(&a, 3, (struct schedule_chunk){ .cores = 4 }, 1);
		add_job(&a, 4, (struct schedule_chunk){ .cores = 3 }, 101); /* would delay it */
		add_job(&a, 5, (struct schedule_chunk){ .cores = 3 }, 102);
		add_job(&a, 6, (struct schedule_chunk){ .cores = 3, .mem_bytes = 10 }, 101);
		add_job(&a, 7, (struct schedule_chunk){ .cores = 2 }, 101); /* would as well */
		last = add_job(&a, 8, (struct schedule_chunk){ .cores = 3 }, 100);
		assert_int_equal(schedule_pass(a.s, 0, &actions, &n), 0);
		assert_int_equal(schedule_state(a.s, last), SCHEDULE_RUNNING);
		expect_asked(&a, 1, 1);
		expect_asked(&a, 2, 2); /* to start, and for the reservation */
		expect_asked(&a, 3, 0);
		expect_asked(&a, 4, 1);
		expect_asked(&a, 5, 0);
		expect_asked(&a, 6, 0);
		expect_asked(&a, 7, 1);
		expect_asked(&a, 8, 1);
		schedule_free(a.s);
	}
}

/* Eight jobs that never fit are tried for the reservation. After them a job that is larger than what is free is not tried. */
static void eight_are_tried_for_the_reservation(void **state)
{
	const struct schedule_action *actions;
	struct asked a;
	size_t n;

	(void)state;
	open_asked(&a, 16);
	add_job(&a, 20, (struct schedule_chunk){ .cores = 6 }, 100);
	for (int i = 1; i <= 12; i++)
		add_job(&a, 20 - i, (struct schedule_chunk){ .cores = 40 - i }, 100);
	for (int i = 1; i <= 12; i++)
		schedule_set_priority(a.s, i, -i); /* the larger first */
	assert_int_equal(schedule_pass(a.s, 0, &actions, &n), 0);
	assert_int_equal(n, 1);
	for (int i = 1; i <= 12; i++)
		expect_asked(&a, 20 - i, i <= 8 ? 2 : 0);
	schedule_free(a.s);
}

/* More cores are free than the index tells apart: a job of as many is tried, one of more is not. */
static void so_many_as_are_free_are_tried(void **state)
{
	const struct schedule_action *actions;
	struct asked a;
	int32_t fits;
	size_t n;

	(void)state;
	open_asked(&a, 4 * NODE_BUCKETS);
	add_job(&a, 1, (struct schedule_chunk){ .cores = 2 * NODE_BUCKETS }, 100);
	add_job(&a, 2, (struct schedule_chunk){ .cores = 4 * NODE_BUCKETS }, 100);
	add_job(&a, 3, (struct schedule_chunk){ .cores = 2 * NODE_BUCKETS + 1 }, 100);
	fits = add_job(&a, 4, (struct schedule_chunk){ .cores = 2 * NODE_BUCKETS }, 100);
	assert_int_equal(schedule_pass(a.s, 0, &actions, &n), 0);
	assert_int_equal(schedule_state(a.s, fits), SCHEDULE_RUNNING);
	expect_asked(&a, 3, 0);
	schedule_free(a.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_asks_for_as_much_is_hopeless),
		cmocka_unit_test(one_hopeless_chunk_is_enough),
		cmocka_unit_test(so_many_are_remembered),
		cmocka_unit_test(who_cannot_fit_is_not_tried),
		cmocka_unit_test(eight_are_tried_for_the_reservation),
		cmocka_unit_test(so_many_as_are_free_are_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
