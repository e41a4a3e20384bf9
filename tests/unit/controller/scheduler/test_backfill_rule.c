/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_backfill_rule - backfill by priority and strict order, reckoned plainly as schedule.h words them, over random clusters: each
 * pass starts the same jobs on the same nodes, makes the same reservation and names the same reason for each job that waits.
 * REEVE_WORLDS=N: so many of each rule (default 200); REEVE_SEED=N: from that seed on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "controller/scheduler/schedule.h"

#define NODES_MAX 130 /* in some worlds; in most of them 5 */
#define JOBS_MAX 40
#define SLOTS_MAX 96 /* an edit gives new jobs new numbers until it ends */
#define PARTS_MAX 6
#define PASSES 30
#define RESERVATIONS 8 /* tried in a pass: for jobs that never fit */
#define MODEL 1

struct room {
	int64_t cores, mem, jobfs, gpus; /* free */
	int parts;
	bool is_whole; /* an exclusive job has it */
};

struct plain_job {
	bool is_here, is_blocked, is_running;
	struct schedule_chunk chunks[2];
	struct schedule_job ask;
	int32_t nodes[PARTS_MAX];
	int64_t end_s;
};

struct plain_reservation {
	int32_t job; /* -1: none */
	int64_t at_s;
	bool has[NODES_MAX], is_whole;
	struct room spare[NODES_MAX];
};

struct world {
	uint64_t random;
	struct schedule_config config;
	struct schedule *s;
	int n_nodes;
	struct schedule_node nodes[NODES_MAX];
	struct room rooms[NODES_MAX];
	struct plain_job jobs[SLOTS_MAX]; /* by the numbers that the schedule gives */
	struct plain_reservation r;
	int32_t started[SLOTS_MAX];
	int n_started;
	int64_t now_s, id;
};

static int64_t pick_number(struct world *w, int64_t low, int64_t high)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return low + (int64_t)(w->random % (uint64_t)(high - low + 1));
}

/* ---- the rule, plainly ---- */

static bool has_room(const struct room *r, const struct schedule_chunk *c)
{
	return r->cores >= c->cores && r->mem >= c->mem_bytes && r->jobfs >= c->jobfs_bytes &&
	       r->gpus >= c->gpus;
}

/* Sign 1: a part goes there. */
static void use_room(struct room *r, const struct schedule_chunk *c, int sign)
{
	r->cores -= sign * c->cores;
	r->mem -= sign * c->mem_bytes;
	r->jobfs -= sign * c->jobfs_bytes;
	r->gpus -= sign * c->gpus;
	r->parts += sign;
}

struct search {
	struct world *w;
	struct plain_job *j;
	int64_t until_s;
	bool is_reserved;   /* it must leave the reservation its nodes */
	bool is_closed_too; /* nodes that take no jobs are asked as well: were they open */
};

static bool may_have(const struct search *f, int i, const struct schedule_chunk *c, int part)
{
	const struct world *w = f->w;
	const struct plain_reservation *r = &w->r;
	const struct plain_job *j = f->j;
	bool is_own = false;

	for (int p = 0; p < part; p++)
		is_own |= j->nodes[p] == i;
	if ((!w->nodes[i].is_open && !f->is_closed_too) || (j->ask.is_scattered && is_own) ||
	    (j->ask.features & ~w->nodes[i].features) || !has_room(&w->rooms[i], c))
		return false;
	if (!is_own && (w->rooms[i].is_whole || (j->ask.is_exclusive && w->rooms[i].parts)))
		return false;
	if (w->nodes[i].closed_from_s && f->until_s > w->nodes[i].closed_from_s)
		return false;
	if (!f->is_reserved || !r->has[i])
		return true;
	return !r->is_whole && !j->ask.is_exclusive && has_room(&r->spare[i], c);
}

static void put_part(const struct search *f, const struct schedule_chunk *c, int part, int sign)
{
	struct room *room = &f->w->rooms[f->j->nodes[part]];

	use_room(room, c, sign);
	room->is_whole = f->j->ask.is_exclusive && room->parts > 0;
	if (f->is_reserved)
		use_room(&f->w->r.spare[f->j->nodes[part]], c, sign);
}

static void take_back(const struct search *f, int n)
{
	int part = 0;

	for (int c = 0; c < f->j->ask.n_chunks; c++)
		for (int k = 0; k < f->j->chunks[c].n && part < n; k++, part++)
			put_part(f, &f->j->chunks[c], part, -1);
}

/* Each part on the node with the fewest free cores that may have it, then the first. */
static bool place_plainly(const struct search *f)
{
	int part = 0;

	for (int c = 0; c < f->j->ask.n_chunks; c++)
		for (int k = 0; k < f->j->chunks[c].n; k++, part++) {
			int best = -1;

			for (int i = 0; i < f->w->n_nodes; i++)
				if (may_have(f, i, &f->j->chunks[c], part) &&
				    (best < 0 ||
				     f->w->rooms[i].cores < f->w->rooms[best].cores))
					best = i;
			if (best < 0) {
				take_back(f, part);
				return false;
			}
			f->j->nodes[part] = best;
			put_part(f, &f->j->chunks[c], part, 1);
		}
	return true;
}

static void end_job(struct world *w, struct plain_job *j)
{
	struct search f = { .w = w, .j = j };
	int n = 0;

	for (int c = 0; c < j->ask.n_chunks; c++)
		n += j->chunks[c].n;
	take_back(&f, n);
}

/* The next end of a running job after at_s; INT64_MAX: none. */
static int64_t next_end(const struct world *w, int64_t at_s)
{
	int64_t next = INT64_MAX;

	for (int i = 0; i < SLOTS_MAX; i++)
		if (w->jobs[i].is_here && w->jobs[i].is_running && w->jobs[i].end_s > at_s &&
		    w->jobs[i].end_s < next)
			next = w->jobs[i].end_s;
	return next;
}

/* The earliest end by which it fits, on a copy of all. */
static void reserve_plainly(struct world *w, int32_t job)
{
	static struct world future;
	struct search f = { .w = &future, .j = &future.jobs[job] };

	future = *w;
	for (int64_t at_s = INT64_MIN; (at_s = next_end(w, at_s)) < INT64_MAX;) {
		int64_t moment_s = at_s > w->now_s ? at_s : w->now_s + 1;

		for (int i = 0; i < SLOTS_MAX; i++)
			if (w->jobs[i].is_here && w->jobs[i].is_running &&
			    w->jobs[i].end_s == at_s)
				end_job(&future, &future.jobs[i]);
		f.until_s = moment_s + f.j->ask.limit_s;
		if (!place_plainly(&f))
			continue;
		w->r = (struct plain_reservation){ .job = job,
						   .at_s = moment_s,
						   .is_whole = f.j->ask.is_exclusive };
		memcpy(w->r.spare, future.rooms, sizeof(future.rooms));
		for (int c = 0, part = 0; c < f.j->ask.n_chunks; c++)
			for (int k = 0; k < f.j->chunks[c].n; k++, part++)
				w->r.has[f.j->nodes[part]] = true;
		return;
	}
}

/* The higher priority, then the earlier submission, then the smaller number. */
static bool is_before(const struct plain_job *x, const struct plain_job *y)
{
	if (x->ask.priority != y->ask.priority)
		return x->ask.priority > y->ask.priority;
	if (x->ask.submit_s != y->ask.submit_s)
		return x->ask.submit_s < y->ask.submit_s;
	return x->ask.id < y->ask.id;
}

static int list_queue(const struct world *w, int32_t *ret)
{
	int n = 0;

	for (int i = 0; i < SLOTS_MAX; i++) {
		int at = n;

		if (!w->jobs[i].is_here || w->jobs[i].is_running)
			continue;
		for (; at > 0 && is_before(&w->jobs[i], &w->jobs[ret[at - 1]]); at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
		n++;
	}
	return n;
}

static bool start_plainly(struct world *w, int32_t job)
{
	struct plain_job *j = &w->jobs[job];
	struct search f = { .w = w, .j = j, .until_s = w->now_s + j->ask.limit_s };

	f.is_reserved = w->r.job >= 0 && f.until_s > w->r.at_s;
	if (!place_plainly(&f))
		return false;
	j->is_running = true;
	j->end_s = f.until_s;
	w->started[w->n_started++] = job;
	return true;
}

static void run_plainly(struct world *w)
{
	int32_t order[SLOTS_MAX];
	int n = list_queue(w, order), tried = 0;

	w->r = (struct plain_reservation){ .job = -1, .at_s = SCHEDULE_FOREVER };
	w->n_started = 0;
	for (int i = 0; i < n; i++) {
		if (w->jobs[order[i]].is_blocked || start_plainly(w, order[i]) ||
		    w->r.job >= 0 || tried++ >= RESERVATIONS)
			continue;
		reserve_plainly(w, order[i]);
		if (w->r.job >= 0 && w->config.rule == SCHEDULE_FIFO)
			return;
	}
}

/* Has each chunk room where all nodes are empty and open? */
static bool is_possible(const struct world *w, const struct plain_job *j)
{
	for (int c = 0; c < j->ask.n_chunks; c++) {
		int n = 0;

		for (int i = 0; i < w->n_nodes; i++) {
			struct room empty = { .cores = w->nodes[i].cores,
					      .mem = w->nodes[i].mem_bytes,
					      .jobfs = w->nodes[i].jobfs_bytes,
					      .gpus = w->nodes[i].gpus[MODEL] };

			for (int k = 0; k < (j->ask.is_scattered ? 1 : PARTS_MAX); k++) {
				n += has_room(&empty, &j->chunks[c]) &&
				     !(j->ask.features & ~w->nodes[i].features);
				use_room(&empty, &j->chunks[c], 1);
			}
		}
		if (n < j->chunks[c].n)
			return false;
	}
	return true;
}

static enum schedule_wait find_wait(struct world *w, int32_t job, int position)
{
	struct search f = { .w = w, .j = &w->jobs[job] };
	int n = 0;

	if (w->jobs[job].is_blocked)
		return SCHEDULE_BLOCKED;
	if (!is_possible(w, &w->jobs[job]))
		return SCHEDULE_NEVER;
	if (position == 0 || w->r.job == job)
		return SCHEDULE_FIRST;
	if (!place_plainly(&f))
		return SCHEDULE_BEHIND;
	for (int c = 0; c < w->jobs[job].ask.n_chunks; c++)
		n += w->jobs[job].chunks[c].n;
	take_back(&f, n);
	return SCHEDULE_WOULD_DELAY;
}

/* ---- worlds ---- */

static void open_world(struct world *w, uint64_t seed, enum schedule_rule rule)
{
	int64_t scale = seed % 5 ? 1 : 60; /* more cores than the index tells apart */
	bool is_wide = seed % 7 == 4;	   /* a few open nodes, far apart in the index */

	*w = (struct world){ .random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1, .now_s = 1 };
	w->config.rule = rule;
	assert_int_equal(schedule_new(&w->config, &w->s), 0);
	w->n_nodes = (int)(is_wide ? pick_number(w, 90, NODES_MAX) : pick_number(w, 1, 5));
	for (int i = 0; i < w->n_nodes; i++) {
		struct schedule_node *n = &w->nodes[i];

		*n = (struct schedule_node){ .cores = scale > 1 ? pick_number(w, 9, 11) * scale
								: pick_number(w, 4, 24),
					     .mem_bytes = pick_number(w, 10, 60),
					     .jobfs_bytes = pick_number(w, 5, 30),
					     .features = (uint64_t)pick_number(w, 0, 3),
					     .is_open = is_wide ? pick_number(w, 0, 24) == 0
								: pick_number(w, 0, 7) != 0 };
		n->gpus[MODEL] = (int16_t)pick_number(w, 0, 3);
		if (seed % 3 == 0 && pick_number(w, 0, 1))
			n->closed_from_s = pick_number(w, 100, 900);
		w->rooms[i] = (struct room){ .cores = n->cores,
					     .mem = n->mem_bytes,
					     .jobfs = n->jobfs_bytes,
					     .gpus = n->gpus[MODEL] };
		assert_int_equal(schedule_add_node(w->s, n), 0);
	}
}

/* Exclusive jobs have chunks of one kind. */
static void add_job(struct world *w)
{
	int64_t scale = w->nodes[0].cores > 24 ? 60 : 1;
	struct plain_job j = { .is_here = true, .is_blocked = pick_number(w, 0, 9) == 0 };
	int32_t job;

	for (int c = 0; c < 2; c++) {
		j.chunks[c] = (struct schedule_chunk){ .cores = pick_number(w, 0, 12) * scale,
						       .mem_bytes = pick_number(w, 0, 12),
						       .jobfs_bytes = pick_number(w, 0, 4),
						       .n = (int32_t)pick_number(w, 1, 3) };
		if (pick_number(w, 0, 4) == 0)
			j.chunks[c].gpus = 1;
		j.chunks[c].model = j.chunks[c].gpus && pick_number(w, 0, 1) ? MODEL : 0;
	}
	j.ask = (struct schedule_job){ .id = ++w->id,
				       .is_exclusive = pick_number(w, 0, 9) == 0,
				       .is_scattered = pick_number(w, 0, 4) == 0,
				       .features = (uint64_t)(pick_number(w, 0, 3) &
							      pick_number(w, 0, 3)),
				       .priority = pick_number(w, 0, 2),
				       .submit_s = w->now_s - pick_number(w, 0, 3),
				       .limit_s = pick_number(w, 1, 120) };
	j.ask.n_chunks = j.ask.is_exclusive ? 1 : (int32_t)pick_number(w, 1, 2);
	j.ask.chunks = j.chunks;
	assert_int_equal(schedule_add(w->s, &j.ask, &job), 0);
	assert_true(job >= 0 && job < SLOTS_MAX);
	schedule_set_blocked(w->s, job, j.is_blocked);
	w->jobs[job] = j;
}

/* Jobs that wait are moved in the queue, blocked and unblocked. */
static void change_waiting(struct world *w)
{
	for (int i = 0; i < SLOTS_MAX; i++) {
		struct plain_job *j = &w->jobs[i];

		if (!j->is_here || j->is_running || pick_number(w, 0, 9))
			continue;
		j->ask.priority = pick_number(w, 0, 2);
		schedule_set_priority(w->s, i, j->ask.priority);
		j->is_blocked = pick_number(w, 0, 5) == 0;
		schedule_set_blocked(w->s, i, j->is_blocked);
	}
}

/* One by one, or all at once as an edit. */
static void change_world(struct world *w)
{
	bool is_edit = pick_number(w, 0, 2) == 0;
	int n = 0;

	w->now_s += pick_number(w, 0, 30);
	change_waiting(w);
	if (is_edit)
		schedule_edit_begin(w->s);
	for (int i = 0; i < SLOTS_MAX; i++) {
		struct plain_job *j = &w->jobs[i];
		bool is_over = j->is_running && j->end_s + 20 < w->now_s;

		if (!j->is_here)
			continue;
		if (is_over || pick_number(w, 0, 11) == 0) {
			if (j->is_running)
				end_job(w, j);
			j->is_here = j->is_running = false;
			schedule_remove(w->s, i);
			continue;
		}
		n++;
	}
	for (int64_t more = pick_number(w, 0, 6); more > 0 && n < JOBS_MAX; more--, n++)
		add_job(w);
	if (is_edit)
		assert_int_equal(schedule_edit_end(w->s), 0);
}

static void expect_same(struct world *w, const struct schedule_action *a, size_t n)
{
	int32_t order[SLOTS_MAX];
	int n_queued = list_queue(w, order);

	assert_int_equal(n, w->n_started);
	for (size_t i = 0; i < n; i++) {
		int32_t n_parts;
		const int32_t *nodes = schedule_nodes(w->s, a[i].job, &n_parts);

		assert_int_equal(a[i].what, SCHEDULE_START);
		assert_int_equal(a[i].by, -1);
		assert_int_equal(a[i].job, w->started[i]);
		assert_memory_equal(nodes, w->jobs[a[i].job].nodes,
				    (size_t)n_parts * sizeof(*nodes));
	}
	for (int i = 0; i < n_queued; i++) {
		struct schedule_why why;

		schedule_why(w->s, order[i], &why);
		assert_int_equal(why.position, i);
		assert_int_equal(why.n, n_queued);
		assert_int_equal(why.first, w->r.job);
		assert_int_equal(why.first_s, w->r.at_s);
		assert_int_equal(why.wait, find_wait(w, order[i], i));
	}
}

static void run_worlds(enum schedule_rule rule)
{
	static struct world w; /* too large for the stack */
	const char *worlds = getenv("REEVE_WORLDS"), *seed = getenv("REEVE_SEED");
	uint64_t from = seed ? strtoull(seed, NULL, 10) : 1;
	uint64_t to = from + (worlds ? strtoull(worlds, NULL, 10) : 200);

	for (; from < to; from++) {
		open_world(&w, from, rule);
		for (int i = 0; i < PASSES; i++) {
			const struct schedule_action *a;
			size_t n;

			change_world(&w);
			run_plainly(&w);
			assert_int_equal(schedule_pass(w.s, w.now_s, &a, &n), 0);
			expect_same(&w, a, n);
		}
		schedule_free(w.s);
	}
}

static void backfill_is_that_of_the_plain_rule(void **state)
{
	(void)state;
	run_worlds(SCHEDULE_PRIORITY);
}

static void strict_order_is_that_of_the_plain_rule(void **state)
{
	(void)state;
	run_worlds(SCHEDULE_FIFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backfill_is_that_of_the_plain_rule),
		cmocka_unit_test(strict_order_is_that_of_the_plain_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
