/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_room - over random clusters: the count of cores beside the nodes never refuses a job that the
 * nodes themselves take, and the reservation of a suspended job is that of a plain reckoning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/preempt/preempt_impl.h"

#define WORLDS 3000
#define NODES 8
#define JOBS 40

struct world {
	uint64_t random;
	struct schedule *s;
	int32_t running[2 * JOBS];
	int n_running;
};

static int64_t pick_number(struct world *w, int64_t low, int64_t high)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return low + (int64_t)(w->random % (uint64_t)(high - low + 1));
}

static void open_world(struct world *w, uint64_t seed)
{
	static const struct schedule_config config = { .rule = SCHEDULE_PREEMPT };

	*w = (struct world){ .random = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) };
	assert_int_equal(schedule_new(&config, &w->s), 0);
	for (int i = 0; i < NODES; i++) {
		struct schedule_node n = { .cores = pick_number(w, 1, 40),
					   .mem_bytes = 100,
					   .jobfs_bytes = 100,
					   .is_open = pick_number(w, 0, 7) != 0 };

		if (pick_number(w, 0, 3) == 0)
			n.cores += NODE_BUCKETS;
		assert_int_equal(schedule_add_node(w->s, &n), 0);
	}
}

static void make_request(struct world *w, struct schedule_chunk chunks[2],
			 struct schedule_job *ret)
{
	*ret = (struct schedule_job){ .chunks = chunks,
				      .n_chunks = (int)pick_number(w, 1, 2),
				      .is_scattered = pick_number(w, 0, 4) == 0,
				      .limit_s = pick_number(w, 1, 500) };
	for (int c = 0; c < 2; c++)
		chunks[c] = (struct schedule_chunk){ .cores = pick_number(w, 0, 12),
						     .mem_bytes = pick_number(w, 0, 20),
						     .n = (int)pick_number(w, 1, 3) };
}

/* Places jobs wherever they fit, some of them exclusive. */
static void fill_world(struct world *w)
{
	for (int i = 0; i < JOBS; i++) {
		struct schedule_chunk chunks[2];
		struct schedule_job ask;
		struct schedule_allocation at = { .state = SCHEDULE_RUNNING };
		int32_t nodes[8], job;
		const struct job *j;
		struct place_ask p;

		make_request(w, chunks, &ask);
		ask.is_exclusive = pick_number(w, 0, 9) == 0;
		assert_int_equal(schedule_add(w->s, &ask, &job), 0);
		j = job_at(w->s, job);
		p = (struct place_ask){ .job = j };
		if (!place_job(w->s, &p)) {
			schedule_remove(w->s, job);
			continue;
		}
		for (int32_t k = 0; k < j->n_parts; k++)
			nodes[k] = w->s->parts[k];
		at.nodes = nodes;
		/* place_job() has allocated it: given back, and added with its nodes. */
		job_at(w->s, job)->nodes = nodes;
		node_allocate_job(w->s, j, NODE_ALL, -1);
		job_at(w->s, job)->nodes = NULL;
		schedule_remove(w->s, job);
		assert_int_equal(
			schedule_add_allocated(w->s, &ask, &at, &w->running[w->n_running]), 0);
		w->n_running++;
	}
}

static int64_t sum_free(const struct schedule *s)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].bucket >= 0)
			sum += s->nodes[i].free_cores;
	return sum;
}

/* How many parts of a chunk the free cores of all nodes hold, that take jobs. */
static int64_t count_plainly(const struct schedule *s, const struct job *j,
			     const struct schedule_chunk *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->n_nodes; i++) {
		int64_t free = s->nodes[i].free_cores, parts = 0;

		if (s->nodes[i].bucket < 0 || free < c->cores)
			continue;
		if (j->pub.is_scattered)
			parts = 1;
		else if (!c->cores)
			parts = INT32_MAX;
		else
			parts = free / c->cores;
		sum += parts;
	}
	return sum;
}

static void expect_fits(const struct room *r, const struct schedule *s)
{
	for (int32_t c = 0; c < r->job->pub.n_chunks; c++)
		assert_int_equal(r->fits[c], count_plainly(s, r->job, &r->job->pub.chunks[c]));
}

static void room_never_refuses_what_fits(void **state)
{
	int fitted = 0, refused = 0;

	(void)state;
	for (uint64_t seed = 0; seed < WORLDS; seed++) {
		struct schedule_chunk chunks[2];
		struct schedule_job ask;
		struct room room = { 0 };
		struct world w;
		int32_t job;

		open_world(&w, seed);
		fill_world(&w);
		assert_int_equal(w.s->indexed_cores, sum_free(w.s));
		make_request(&w, chunks, &ask);
		for (int c = 0; c < ask.n_chunks; c++)
			chunks[c].n *= 3;
		assert_int_equal(schedule_add(w.s, &ask, &job), 0);
		assert_int_equal(room_open(&room, w.s, job_at(w.s, job)), 0);
		assert_int_equal(room.cores, sum_free(w.s));
		expect_fits(&room, w.s);
		for (int i = 0; i < w.n_running; i++) {
			struct place_ask p = { .job = job_at(w.s, job) };
			const struct job *freed = job_at(w.s, w.running[i]);

			/* the count is taken before the nodes change, as free_victims() does */
			room_add(&room, w.s, freed);
			node_allocate_job(w.s, freed, NODE_ALL, -1);
			assert_int_equal(w.s->indexed_cores, sum_free(w.s));
			expect_fits(&room, w.s);
			refused += !room_may_fit(&room);
			if (!place_job(w.s, &p))
				continue;
			assert_true(room_may_fit(&room));
			fitted++;
			break;
		}
		room_done(&room);
		schedule_free(w.s);
	}
	/* Both happened: the law was put to a test. */
	assert_true(fitted > WORLDS / 10);
	assert_true(refused > WORLDS / 10);
}

/* What is free on a node when all that end by at_s have ended, without the job itself. */
static int64_t free_by(const struct world *w, const struct job *own, int32_t node, int64_t at_s)
{
	int64_t cores = w->s->nodes[node].free_cores;
	int32_t part = 0;

	for (size_t i = 0; i < w->s->n_running; i++) {
		const struct job *j = job_at(w->s, w->s->running[i]);

		part = 0;
		for (int32_t c = 0; j->end_s <= at_s && c < j->pub.n_chunks; c++)
			for (int32_t k = 0; k < j->pub.chunks[c].n; k++, part++)
				cores += j->nodes[part] == node ? j->pub.chunks[c].cores : 0;
	}
	part = 0;
	for (int32_t c = 0; c < own->pub.n_chunks; c++)
		for (int32_t k = 0; k < own->pub.chunks[c].n; k++, part++)
			cores -= own->nodes[part] == node ? own->pub.chunks[c].cores : 0;
	return cores;
}

/* The end of the first running job by which all its cores are free; -1: never. */
static int64_t reckon_moment(const struct world *w, const struct job *own)
{
	for (size_t i = 0; i < w->s->n_running; i++) {
		int64_t at_s = job_at(w->s, w->s->running[i])->end_s;
		bool is_free = true;

		for (int32_t part = 0; part < own->n_parts; part++)
			is_free &= free_by(w, own, own->nodes[part], at_s) >= 0;
		if (is_free)
			return at_s;
	}
	return -1;
}

static void suspended_job_has_its_own_nodes_reserved(void **state)
{
	int found = 0, late = 0;

	(void)state;
	for (uint64_t seed = 0; seed < WORLDS; seed++) {
		const struct job *own;
		struct world w;
		int64_t at_s;

		open_world(&w, seed);
		fill_world(&w);
		if (w.n_running < 3) {
			schedule_free(w.s);
			continue;
		}
		/* The second job is suspended, and then the last one takes cores it had. */
		assert_int_equal(move_suspend(w.s, w.running[1], w.running[2], 0), 0);
		fill_world(&w);
		own = job_at(w.s, w.running[1]);
		at_s = reckon_moment(&w, own);
		assert_int_equal(reservation_make(w.s, w.running[1], 0), 0);
		if (at_s < 0) {
			assert_int_equal(w.s->reservation.job, -1);
			schedule_free(w.s);
			continue;
		}
		found++;
		late += at_s > job_at(w.s, w.s->running[0])->end_s;
		assert_int_equal(w.s->reservation.job, w.running[1]);
		assert_int_equal(w.s->reservation.at_s, at_s > 0 ? at_s : 1);
		for (int32_t part = 0; part < own->n_parts; part++) {
			int32_t node = own->nodes[part];
			int64_t left = free_by(&w, own, node, at_s);
			struct schedule_chunk fits = { .cores = left, .n = 1 };
			struct schedule_chunk more = { .cores = left + 1, .n = 1 };

			assert_int_equal(
				reservation_allows(w.s, &w.s->reservation, node, &fits, own),
				!own->pub.is_exclusive);
			assert_false(
				reservation_allows(w.s, &w.s->reservation, node, &more, own));
		}
		schedule_free(w.s);
	}
	assert_true(found > WORLDS / 10);
	assert_true(late > WORLDS / 50);
}

/* Counters that would reach 0, which stands for never, leave it out. */
static void counts_of_passes_and_rooms_leave_out_nothing(void **state)
{
	const struct schedule_chunk c = { .cores = 1, .n = 1 };
	const struct job j = { .pub = { .chunks = &c, .n_chunks = 1 } };
	const struct schedule_action *a;
	struct room room = { 0 };
	struct world w;
	size_t n;

	(void)state;
	open_world(&w, 1);
	assert_int_equal(room_open(&room, w.s, &j), 0);
	assert_int_equal(room.stamp, 1);
	room.stamp = UINT32_MAX - 1;
	assert_int_equal(room_open(&room, w.s, &j), 0);
	assert_int_equal(room.stamp, UINT32_MAX);
	assert_int_equal(room_open(&room, w.s, &j), 0);
	assert_int_equal(room.stamp, 1);
	w.s->n_passes = UINT32_MAX - 1;
	assert_int_equal(schedule_pass(w.s, 0, &a, &n), 0);
	assert_int_equal(w.s->n_passes, UINT32_MAX);
	assert_int_equal(schedule_pass(w.s, 0, &a, &n), 0);
	assert_int_equal(w.s->n_passes, 1);
	room_done(&room);
	assert_null(room.nodes);
	schedule_free(w.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_never_refuses_what_fits),
		cmocka_unit_test(suspended_job_has_its_own_nodes_reserved),
		cmocka_unit_test(counts_of_passes_and_rooms_leave_out_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
