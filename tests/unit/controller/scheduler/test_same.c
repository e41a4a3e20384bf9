/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_same - what follows the ledger by edits is what a fresh reading gives, over random edits; and every difference between two
 * schedules is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "controller/scheduler/schedule_impl.h"

#define WORLDS 300
#define NODES 3
#define JOBS_MAX 60

/* ---- every difference ---- */

#define NODE_FIELD(f)                                                                          \
	{                                                                                      \
#f, offsetof(struct node, f)                                                   \
	}
#define JOB_FIELD(f)                                                                           \
	{                                                                                      \
#f, offsetof(struct job, f)                                                    \
	}
#define CHUNK_FIELD(f)                                                                         \
	{                                                                                      \
#f, offsetof(struct schedule_chunk, f)                                         \
	}

struct field {
	const char *name;
	size_t at;
};

static void add_nodes(struct schedule *s)
{
	for (int i = 0; i < NODES; i++) {
		struct schedule_node n = { .cores = 64 + i,
					   .mem_bytes = 1000,
					   .jobfs_bytes = 100,
					   .features = 2,
					   .is_open = true,
					   .closed_from_s = 5000 };

		n.gpus[1] = i ? 4 : 0;
		assert_int_equal(schedule_add_node(s, &n), 0);
	}
}

/* Queued jobs 1 and 2, running 3 and 4, suspended 5 and 6; 7 runs twice, with one part and with two.
 * In the order of `by`, and of two chunks each but the first of the two. */
static struct schedule *make_schedule(const int by[8])
{
	static const struct schedule_config config = { .rule = SCHEDULE_PREEMPT };
	static const int32_t nodes[4] = { 0, 1, 1, 2 };
	struct schedule *s = NULL;

	assert_int_equal(schedule_new(&config, &s), 0);
	add_nodes(s);
	for (int i = 0; i < 8; i++) {
		int id = by[i] < 8 ? by[i] : 7;
		struct schedule_chunk chunks[2] = {
			{ .cores = 2, .mem_bytes = 5, .jobfs_bytes = 1, .n = 1 },
			{ .cores = id, .mem_bytes = 7, .gpus = 1, .model = 1, .n = 2 }
		};
		struct schedule_job j = { .id = id,
					  .chunks = chunks,
					  .n_chunks = by[i] == 8 ? 1 : 2,
					  .submit_s = 10 * id,
					  .limit_s = 100 };
		struct schedule_allocation h = { id == 5 || id == 6 ? SCHEDULE_SUSPENDED
								    : SCHEDULE_RUNNING,
						 nodes, 20 };
		int32_t job;

		if (id < 3)
			assert_int_equal(schedule_add(s, &j, &job), 0);
		else
			assert_int_equal(schedule_add_allocated(s, &j, &h, &job), 0);
	}
	return s;
}

static const int forth[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, back[8] = { 8, 7, 6, 5, 4, 3, 2, 1 };

static struct job *find_job(const struct schedule *s, int64_t id)
{
	for (int32_t i = 0;; i++)
		if (job_at(s, i)->pub.id == id)
			return job_at(s, i);
}

/* The two are the same, but for a byte of one of them. */
static void expect_difference(const struct schedule *a, const struct schedule *b, void *at,
			      const char *said)
{
	char text[80] = "";

	assert_true(schedule_is_same(a, b, text, sizeof(text)));
	*(unsigned char *)at ^= 1;
	if (schedule_is_same(a, b, text, sizeof(text)))
		fail_msg("not seen: %s", said);
	assert_string_equal(text, said);
	assert_false(schedule_is_same(b, a, text, sizeof(text)));
	*(unsigned char *)at ^= 1;
	assert_true(schedule_is_same(a, b, text, sizeof(text)));
}

static void each_field_of_a_node_counts(void **state)
{
	static const struct field fields[] = {
		NODE_FIELD(cores),	   NODE_FIELD(mem_bytes), NODE_FIELD(jobfs_bytes),
		NODE_FIELD(free_cores),	   NODE_FIELD(free_mem),  NODE_FIELD(free_jobfs),
		NODE_FIELD(closed_from_s), NODE_FIELD(features),  NODE_FIELD(n_parts),
		NODE_FIELD(n_whole),	   NODE_FIELD(bucket),	  NODE_FIELD(indexed),
		NODE_FIELD(is_open),
	};
	struct schedule *a = make_schedule(forth), *b = make_schedule(back);
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (int n = 0; n < NODES; n++) {
			snprintf(text, sizeof(text), "node number %d", n);
			expect_difference(a, b, (char *)&b->nodes[n] + fields[i].at, text);
		}
	expect_difference(a, b, &b->gpus[b->nodes[1].gpus].in_use[1], "node number 1");
	b->nodes[0].gpus = 0; /* it has none in the other */
	assert_false(schedule_is_same(a, b, text, sizeof(text)));
	assert_false(schedule_is_same(b, a, text, sizeof(text)));
	b->nodes[0].gpus = -7; /* none either */
	assert_true(schedule_is_same(a, b, text, sizeof(text)));
	schedule_free(a);
	schedule_free(b);
}

static void each_field_of_a_job_counts(void **state)
{
	static const struct field fields[] = {
		JOB_FIELD(pub.queue),
		JOB_FIELD(pub.user),
		JOB_FIELD(pub.group),
		JOB_FIELD(pub.features),
		JOB_FIELD(pub.is_exclusive),
		JOB_FIELD(pub.is_scattered),
		JOB_FIELD(pub.is_protected),
		JOB_FIELD(pub.priority),
		JOB_FIELD(pub.submit_s),
		JOB_FIELD(pub.limit_s),
		JOB_FIELD(pub.ran_s),
		JOB_FIELD(pub.suspended_s),
		JOB_FIELD(pub.overdue_since_s),
		JOB_FIELD(pub.n_chunks),
		JOB_FIELD(state),
		JOB_FIELD(is_blocked),
		JOB_FIELD(n_parts),
	};
	static const struct field of_chunk[] = {
		CHUNK_FIELD(cores), CHUNK_FIELD(mem_bytes), CHUNK_FIELD(jobfs_bytes),
		CHUNK_FIELD(gpus),  CHUNK_FIELD(model),	    CHUNK_FIELD(n)
	};
	static const struct {
		int64_t id;
		const char *said;
	} jobs[] = { { 2, "queued job 2" }, { 3, "job 3" }, { 6, "job 6" } };
	struct schedule *a = make_schedule(forth), *b = make_schedule(back);

	(void)state;
	for (size_t k = 0; k < sizeof(jobs) / sizeof(jobs[0]); k++) {
		struct job *j = find_job(b, jobs[k].id);

		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			expect_difference(a, b, (char *)j + fields[i].at, jobs[k].said);
		for (size_t i = 0; i < 2 * sizeof(of_chunk) / sizeof(of_chunk[0]); i++)
			expect_difference(a, b,
					  (char *)&j->pub.chunks[i % 2] + of_chunk[i / 2].at,
					  jobs[k].said);
	}
	schedule_free(a);
	schedule_free(b);
}

static void where_and_since_when_counts_for_allocated_jobs_alone(void **state)
{
	struct schedule *a = make_schedule(forth), *b = make_schedule(back);
	char text[80];

	(void)state;
	expect_difference(a, b, &find_job(b, 4)->since_s, "job 4");
	expect_difference(a, b, &find_job(b, 4)->end_s, "job 4");
	expect_difference(a, b, &find_job(b, 5)->nodes[2], "job 5");
	find_job(b, 1)->since_s = find_job(b, 1)->end_s = 77;
	assert_true(schedule_is_same(a, b, text, sizeof(text)));
	find_job(b, 1)->nodes = &find_job(b, 1)->one_node;
	assert_false(schedule_is_same(a, b, text, sizeof(text)));
	assert_false(schedule_is_same(b, a, text, sizeof(text)));
	find_job(b, 1)->nodes = NULL;
	expect_difference(a, b, &b->queued[1].most_cores, "queued job 2");
	expect_difference(a, b, &b->queued[0].cores, "queued job 1");
	schedule_free(a);
	schedule_free(b);
}

static void one_more_of_anything_is_a_difference(void **state)
{
	struct schedule *a = make_schedule(forth);
	char text[80];

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct schedule *b = make_schedule(back);

		schedule_remove(b, i);
		assert_false(schedule_is_same(a, b, text, sizeof(text)));
		assert_false(schedule_is_same(b, a, text, sizeof(text)));
		schedule_free(b);
	}
	{
		struct schedule_node n = { .cores = 1 };
		struct schedule *b = make_schedule(forth);

		assert_int_equal(schedule_add_node(b, &n), 0);
		assert_false(schedule_is_same(a, b, text, sizeof(text)));
		assert_string_equal(text, "not so many nodes as 4");
		assert_false(schedule_is_same(b, a, text, sizeof(text)));
		assert_string_equal(text, "not so many nodes as 3");
		schedule_free(b);
	}
	schedule_free(a);
}

/* ---- edits ---- */

struct known {
	bool is_here, is_blocked;
	struct schedule_chunk chunks[2];
	struct schedule_job ask;
	struct schedule_allocation at; /* of a job that has nodes */
	int32_t nodes[4], number;
};

struct world {
	uint64_t random;
	struct schedule *s;
	struct known jobs[JOBS_MAX];
	int64_t now_s;
};

static int64_t pick_number(struct world *w, int64_t low, int64_t high)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return low + (int64_t)(w->random % (uint64_t)(high - low + 1));
}

static void make_job(struct world *w, int i)
{
	struct known *k = &w->jobs[i];

	*k = (struct known){ .is_here = true };
	for (int c = 0; c < 2; c++)
		k->chunks[c] = (struct schedule_chunk){ .cores = pick_number(w, 0, 9),
							.mem_bytes = pick_number(w, 0, 9),
							.n = (int32_t)pick_number(w, 1, 2) };
	k->ask = (struct schedule_job){ .id = i,
					.chunks = k->chunks,
					.n_chunks = (int32_t)pick_number(w, 1, 2),
					.priority = pick_number(w, 0, 3),
					.submit_s = pick_number(w, 0, 9),
					.limit_s = pick_number(w, 1, 50),
					.is_exclusive = pick_number(w, 0, 5) == 0 };
	for (int n = 0; n < 4; n++)
		k->nodes[n] = (int32_t)pick_number(w, 0, NODES - 1);
	k->at = (struct schedule_allocation){ (enum schedule_state)pick_number(w, 0, 2),
					      k->nodes, pick_number(w, 0, w->now_s) };
	if (pick_number(w, 0, 1))
		k->at.state = SCHEDULE_QUEUED;
}

static int32_t add_known(struct schedule *s, const struct known *k)
{
	int32_t job;

	if (k->at.state == SCHEDULE_QUEUED)
		assert_int_equal(schedule_add(s, &k->ask, &job), 0);
	else
		assert_int_equal(schedule_add_allocated(s, &k->ask, &k->at, &job), 0);
	schedule_set_blocked(s, job, k->is_blocked);
	return job;
}

static void measure_again(struct world *w, struct known *k)
{
	struct schedule_times t = { pick_number(w, 0, 40), pick_number(w, 0, 40), w->now_s };

	schedule_set_times(w->s, k->number, &t);
	k->ask.ran_s = t.ran_s;
	k->ask.suspended_s = t.suspended_s;
	k->at.since_s = t.now_s;
}

static void change_known(struct world *w, int i, bool is_edit)
{
	struct known *k = &w->jobs[i];

	if (!k->is_here) {
		make_job(w, i);
		k->number = add_known(w->s, k);
	} else if (pick_number(w, 0, 2) == 0) {
		schedule_remove(w->s, k->number);
		k->is_here = false;
	} else if (is_edit && k->at.state != SCHEDULE_QUEUED) {
		measure_again(w, k);
	} else if (!is_edit) {
		k->is_blocked = pick_number(w, 0, 1);
		schedule_set_blocked(w->s, k->number, k->is_blocked);
		k->ask.priority = pick_number(w, 0, 3);
		schedule_set_priority(w->s, k->number, k->ask.priority);
	}
}

/* Read again from nothing, in another order. */
static struct schedule *read_again(const struct world *w, int first)
{
	struct schedule *s = NULL;

	assert_int_equal(schedule_new(&w->s->config, &s), 0);
	add_nodes(s);
	for (int i = 0; i < JOBS_MAX; i++) {
		const struct known *k = &w->jobs[(i * 7 + first) % JOBS_MAX];

		if (k->is_here)
			add_known(s, k);
	}
	return s;
}

static void expect_order(const struct schedule *s)
{
	for (size_t i = 1; i < s->n_queued; i++)
		assert_true(schedule_compare_queued(s, s->queued[i - 1].job, s->queued[i].job) <
			    0);
	for (size_t i = 1; i < s->n_running; i++) {
		int64_t x = job_at(s, s->running[i - 1])->end_s;
		int64_t y = job_at(s, s->running[i])->end_s;

		assert_true(x < y || (x == y && s->running[i - 1] < s->running[i]));
	}
}

static void run_world(uint64_t seed)
{
	static const struct schedule_config config = { .rule = SCHEDULE_PRIORITY };
	static struct world w; /* too large for the stack */

	w = (struct world){ .random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
	assert_int_equal(schedule_new(&config, &w.s), 0);
	add_nodes(w.s);
	for (int round = 0; round < 12; round++) {
		bool is_edit = pick_number(&w, 0, 2) > 0;
		char text[80] = "";
		struct schedule *s;

		w.now_s += pick_number(&w, 0, 9);
		if (is_edit)
			schedule_edit_begin(w.s);
		for (int64_t n = pick_number(&w, 0, 30); n > 0; n--)
			change_known(&w, (int)pick_number(&w, 0, JOBS_MAX - 1), is_edit);
		if (is_edit)
			assert_int_equal(schedule_edit_end(w.s), 0);
		schedule_sort(w.s);
		expect_order(w.s);
		s = read_again(&w, (int)pick_number(&w, 0, JOBS_MAX - 1));
		if (!schedule_is_same(w.s, s, text, sizeof(text)))
			fail_msg("seed %d, round %d: %s", (int)seed, round, text);
		assert_int_equal(w.s->n_jobs, s->n_jobs);
		assert_int_equal(w.s->indexed_cores, s->indexed_cores);
		schedule_free(s);
	}
	schedule_free(w.s);
}

static void an_edited_schedule_is_the_one_that_is_read_again(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= WORLDS; seed++)
		run_world(seed);
}

/* Without cores a suspended job holds as much as a running one: the nodes are the same. */
static void a_running_job_is_not_a_suspended_one(void **state)
{
	static const struct schedule_config config = { .rule = SCHEDULE_PREEMPT };
	const struct schedule_chunk c = { .mem_bytes = 1, .n = 1 };
	const struct schedule_job j = { .id = 1, .chunks = &c, .n_chunks = 1, .limit_s = 5 };
	const int32_t node = 0;
	struct schedule *of[2] = { NULL, NULL };
	char text[80] = "";

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct schedule_allocation h = { i ? SCHEDULE_SUSPENDED
							 : SCHEDULE_RUNNING,
						       &node, 0 };
		int32_t job;

		assert_int_equal(schedule_new(&config, &of[i]), 0);
		add_nodes(of[i]);
		assert_int_equal(schedule_add_allocated(of[i], &j, &h, &job), 0);
	}
	assert_false(schedule_is_same(of[0], of[1], text, sizeof(text)));
	assert_string_equal(text, "not so many jobs on nodes as 0");
	assert_false(schedule_is_same(of[1], of[0], text, sizeof(text)));
	assert_string_equal(text, "not so many jobs on nodes as 1");
	schedule_free(of[0]);
	schedule_free(of[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_of_a_node_counts),
		cmocka_unit_test(each_field_of_a_job_counts),
		cmocka_unit_test(where_and_since_when_counts_for_allocated_jobs_alone),
		cmocka_unit_test(one_more_of_anything_is_a_difference),
		cmocka_unit_test(an_edited_schedule_is_the_one_that_is_read_again),
		cmocka_unit_test(a_running_job_is_not_a_suspended_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
