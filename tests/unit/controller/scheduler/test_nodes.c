/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_nodes - what fits on a node, amount by amount and against a plain reckoning; GPUs by model, slices apart; the index of many nodes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/schedule_impl.h"

static struct schedule *new_schedule(uint32_t slices)
{
	struct schedule_config c = { .rule = SCHEDULE_PRIORITY, .slices = slices };
	struct schedule *s = NULL;

	assert_int_equal(schedule_new(&c, &s), 0);
	return s;
}

static const struct schedule_node whole = { .cores = 8,
					    .mem_bytes = 80,
					    .jobfs_bytes = 800,
					    .features = 5,
					    .gpus = { [1] = 4, [3] = 2 },
					    .is_open = true };

static int64_t count_fitting(struct schedule *s, struct schedule_chunk c, const struct job *j)
{
	int64_t n = node_count_fitting(s, &s->nodes[0], j, &c);

	assert_int_equal(node_fits(s, &s->nodes[0], &c, j), n > 0);
	return n;
}

static void each_amount_limits_by_itself(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);
	const struct job any = { 0 }, of_1 = { .pub.features = 1 },
			 of_2 = { .pub.features = 2 }, scattered = { .pub.is_scattered = true };

	(void)state;
	assert_int_equal(schedule_add_node(s, &whole), 0);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ 0 }, &any), INT32_MAX);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 3 }, &any), 2);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 4 }, &any), 2);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 5 }, &any), 1);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 8 }, &any), 1);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 9 }, &any), 0);
	assert_int_equal(
		count_fitting(s, (struct schedule_chunk){ .cores = 1, .mem_bytes = 20 }, &any),
		4);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .mem_bytes = 81 }, &any), 0);
	assert_int_equal(
		count_fitting(s, (struct schedule_chunk){ .cores = 1, .jobfs_bytes = 300 },
			      &any),
		2);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .jobfs_bytes = 801 }, &any),
			 0);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .gpus = 1 }, &any), 6);
	assert_int_equal(
		count_fitting(s, (struct schedule_chunk){ .gpus = 4, .model = 1 }, &any), 1);
	assert_int_equal(
		count_fitting(s, (struct schedule_chunk){ .gpus = 1, .model = 3 }, &any), 2);
	assert_int_equal(
		count_fitting(s, (struct schedule_chunk){ .gpus = 1, .model = 2 }, &any), 0);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 1 }, &of_1), 8);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 1 }, &of_2), 0);
	assert_int_equal(count_fitting(s, (struct schedule_chunk){ .cores = 1 }, &scattered),
			 1);
}

/* Every use of two models, and of any of them: what is free can be allocated, wherever those in use as any are. Slices serve their
 * own model alone. */
static void free_gpus_are_those_that_no_use_can_take(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(1 << 3);

	(void)state;
	for (int a = 0; a <= 4; a++)
		for (int any = 0; any <= 4 - a; any++)
			for (int slices = 0; slices <= 2; slices++) {
				struct node_gpus g = { .has = { [1] = 4, [3] = 2 },
						       .in_use = { any, a, 0, slices } };
				int left = 4 - a - any;

				assert_int_equal(node_gpus_free(s, &g, 0), left);
				assert_int_equal(node_gpus_free(s, &g, 1), left);
				assert_int_equal(node_gpus_free(s, &g, 3), 2 - slices);
				assert_int_equal(node_gpus_free(s, &g, 2), 0);
			}
}

static void what_is_allocated_is_gone_until_it_is_returned(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);
	const struct schedule_chunk c = {
		.cores = 3, .mem_bytes = 30, .jobfs_bytes = 300, .gpus = 2, .model = 1, .n = 1
	};
	struct node *n;

	(void)state;
	assert_int_equal(schedule_add_node(s, &whole), 0);
	n = &s->nodes[0];
	for (int what = NODE_CORES; what <= NODE_ALL; what++) {
		bool cores = what & NODE_CORES, rest = what & NODE_REST;

		node_allocate(s, n, &c, (enum node_amounts)what, 1);
		assert_int_equal(n->free_cores, cores ? 5 : 8);
		assert_int_equal(n->bucket, cores ? 5 : 8);
		assert_int_equal(s->indexed_cores, cores ? 5 : 8);
		assert_int_equal(n->free_mem, rest ? 50 : 80);
		assert_int_equal(n->free_jobfs, rest ? 500 : 800);
		assert_int_equal(n->n_parts, rest);
		assert_int_equal(node_gpus_free(s, &s->gpus[n->gpus], 1), rest ? 2 : 4);
		node_allocate(s, n, &c, (enum node_amounts)what, -1);
		assert_int_equal(n->free_cores + n->free_mem + n->free_jobfs, 888);
		assert_int_equal(n->n_parts, 0);
		assert_int_equal(node_gpus_free(s, &s->gpus[n->gpus], 1), 4);
	}
}

static void no_amount_of_a_node_is_below_zero(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);
	const size_t amounts[] = { offsetof(struct schedule_node, cores),
				   offsetof(struct schedule_node, mem_bytes),
				   offsetof(struct schedule_node, jobfs_bytes) };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct schedule_node n = whole;

		*(int64_t *)(void *)((char *)&n + amounts[i]) = -1;
		assert_int_equal(schedule_add_node(s, &n), -EINVAL);
		*(int64_t *)(void *)((char *)&n + amounts[i]) = 0;
		assert_int_equal(schedule_add_node(s, &n), 0);
	}
	for (int m = 0; m < NODE_MODELS; m++) {
		struct schedule_node n = whole;

		n.gpus[m] = -1;
		assert_int_equal(schedule_add_node(s, &n), -EINVAL);
	}
	assert_int_equal(s->n_nodes, 3);
}

/* More nodes than a word has bits, several times over. */
static void each_node_is_in_the_bucket_of_its_free_cores(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);
	enum { NODES = 300 };
	int64_t cores = 0;

	(void)state;
	for (int i = 0; i < NODES; i++) {
		struct schedule_node n = { .cores = i * 7 % 600,
					   .mem_bytes = 1,
					   .is_open = i % 5 != 0 };

		assert_int_equal(schedule_add_node(s, &n), 0);
		cores += n.is_open ? n.cores : 0;
	}
	assert_int_equal(s->indexed_cores, cores);
	for (int32_t b = 0; b < NODE_BUCKETS; b++) {
		int32_t at = -1, n = 0;

		for (int32_t i = 0; i < NODES; i++) {
			int64_t has = i * 7 % 600;

			if (i % 5 == 0 ||
			    (has < NODE_BUCKETS - 1 ? has : NODE_BUCKETS - 1) != b)
				continue;
			at = node_next(s, b, at, NULL);
			assert_int_equal(at, i);
			n++;
		}
		assert_int_equal(node_next(s, b, at, NULL), -1);
		assert_int_equal(s->in_bucket[b], n);
	}
	for (int i = 0; i < NODES; i++) {
		s->nodes[i].is_open = false;
		node_index(s, &s->nodes[i]);
	}
	assert_int_equal(s->indexed_cores, 0);
	for (int32_t b = 0; b < NODE_BUCKETS; b++)
		assert_int_equal(s->in_bucket[b], 0);
}

static void an_array_grows_to_what_is_asked(void **state)
{
	int *p = NULL;
	size_t max = 0;

	(void)state;
	assert_int_equal(schedule_reserve(&p, &max, 0, sizeof(*p)), 0);
	assert_null(p);
	for (size_t n = 1; n < 200; n++) {
		assert_int_equal(schedule_reserve(&p, &max, n, sizeof(*p)), 0);
		assert_true(max >= n);
		p[n - 1] = (int)n;
	}
	for (int n = 1; n < 200; n++)
		assert_int_equal(p[n - 1], n);
	free(p);
}

static void add_many(struct schedule *s, int n, int64_t cores)
{
	for (int i = 0; i < n; i++) {
		struct schedule_node node = { .cores = cores, .is_open = true };

		assert_int_equal(schedule_add_node(s, &node), 0);
	}
}

/* Every pair of nodes, words apart, with and without one of them left out. */
static void the_next_node_of_a_bucket_is_found_across_words(void **state)
{
	static const int32_t at[] = { 0, 1, 62, 63, 64, 65, 127, 128, 191, 192, 255, 256, 299 };
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);
	enum { N = sizeof(at) / sizeof(*at) };

	(void)state;
	add_many(s, 300, 9);
	for (int x = 0; x < N; x++)
		for (int y = x + 1; y < N; y++) {
			struct node *a = &s->nodes[at[x]], *b = &s->nodes[at[y]];
			uint64_t without[8] = { 0 };

			a->free_cores = b->free_cores = 3;
			node_index(s, a);
			node_index(s, b);
			assert_int_equal(node_next(s, 3, -1, NULL), at[x]);
			assert_int_equal(node_next(s, 3, at[x] - 1, NULL), at[x]);
			assert_int_equal(node_next(s, 3, at[x], NULL), at[y]);
			assert_int_equal(node_next(s, 3, at[y], NULL), -1);
			assert_int_equal(node_next(s, 3, 299, NULL), -1);
			without[at[x] / 64] |= UINT64_C(1) << at[x] % 64;
			assert_int_equal(node_next(s, 3, -1, without), at[y]);
			without[at[y] / 64] |= UINT64_C(1) << at[y] % 64;
			assert_int_equal(node_next(s, 3, -1, without), -1);
			a->free_cores = b->free_cores = 9;
			node_index(s, a);
			node_index(s, b);
			assert_int_equal(node_next(s, 3, -1, NULL), -1);
		}
}

static void buckets_end_behind_the_largest_node(void **state)
{
	static const struct {
		int64_t cores;
		int32_t end;
	} of[] = { { 0, 1 },
		   { 3, 4 },
		   { 2, 4 },
		   { NODE_BUCKETS - 3, NODE_BUCKETS - 2 },
		   { NODE_BUCKETS - 2, NODE_BUCKETS - 1 },
		   { NODE_BUCKETS - 1, NODE_BUCKETS - 1 },
		   { NODE_BUCKETS * 2, NODE_BUCKETS - 1 } };
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		add_many(s, 1, of[i].cores);
		assert_int_equal(s->end_bucket, of[i].end);
	}
	assert_int_equal(node_bucket(-1), 0);
	assert_int_equal(node_bucket(NODE_BUCKETS - 1), NODE_BUCKETS - 1);
	assert_int_equal(node_bucket(NODE_BUCKETS), NODE_BUCKETS - 1);
}

/* An exclusive job takes the whole of each of its nodes once, with the amounts that it keeps while it is suspended. */
static void an_exclusive_job_takes_each_of_its_nodes_once(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);
	const struct schedule_chunk chunks[] = { { .cores = 1, .n = 2 },
						 { .cores = 2, .n = 1 } };
	const int32_t nodes[] = { 0, 1, 0 };
	struct job j = { .pub = { .chunks = chunks, .n_chunks = 2, .is_exclusive = true },
			 .nodes = (int32_t *)nodes,
			 .n_parts = 3 };

	(void)state;
	add_many(s, 2, 9);
	for (int what = NODE_CORES; what <= NODE_ALL; what++) {
		bool rest = what & NODE_REST;

		node_allocate_job(s, &j, (enum node_amounts)what, 1);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(s->nodes[i].n_whole, rest);
			assert_int_equal(s->nodes[i].n_parts, rest ? 2 - i : 0);
			assert_int_equal(s->nodes[i].bucket < 0, rest);
			assert_int_equal(s->nodes[i].free_cores,
					 what & NODE_CORES ? i ? 8 : 6 : 9);
		}
		assert_int_equal(s->indexed_cores, rest ? 0 : 14);
		node_allocate_job(s, &j, (enum node_amounts)what, -1);
		for (int i = 0; i < 2; i++)
			assert_true(!s->nodes[i].n_whole && !s->nodes[i].n_parts &&
				    s->nodes[i].bucket == 9);
		assert_int_equal(s->indexed_cores, 18);
	}
	j.pub.is_exclusive = false;
	node_allocate_job(s, &j, NODE_ALL, 1);
	assert_int_equal(s->nodes[0].n_whole, 0);
	assert_int_equal(s->nodes[0].bucket, 6);
}

static int32_t start_state(struct schedule *s, int64_t now_s, int32_t job)
{
	const struct schedule_action *a;
	size_t n;

	assert_int_equal(schedule_pass(s, now_s, &a, &n), 0);
	return (int32_t)schedule_state(s, job);
}

/* Nothing runs on a node beyond the moment from which it is closed; that moment may be set and unset. */
static void a_closed_node_takes_what_ends_before(void **state)
{
	_cleanup_(schedule_freep) struct schedule *s = new_schedule(0);
	const struct schedule_chunk c = { .cores = 1, .n = 1 };
	struct schedule_job j = { .id = 1, .chunks = &c, .n_chunks = 1, .limit_s = 50 };
	int32_t first, second, third;

	(void)state;
	add_many(s, 1, 9);
	assert_false(s->has_closings);
	s->reservation.cached_job = 5;
	schedule_set_closed(s, 0, 100);
	assert_true(s->has_closings);
	assert_int_equal(s->reservation.cached_job, -1);
	assert_int_equal(schedule_add(s, &j, &first), 0);
	j.id = 2;
	j.limit_s = 51;
	assert_int_equal(schedule_add(s, &j, &second), 0);
	assert_int_equal(start_state(s, 50, first), SCHEDULE_RUNNING); /* ends at 100 */
	assert_int_equal(schedule_state(s, second), SCHEDULE_QUEUED);
	s->reservation.cached_job = 5;
	schedule_set_closed(s, 0, 0);
	assert_int_equal(s->reservation.cached_job, -1);
	assert_int_equal(start_state(s, 50, second), SCHEDULE_RUNNING);
	schedule_set_closed(s, 0, 1000);
	j.id = 3;
	assert_int_equal(schedule_add(s, &j, &third), 0);
	assert_int_equal(start_state(s, 950, third), SCHEDULE_QUEUED);
	assert_int_equal(start_state(s, 949, third), SCHEDULE_RUNNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_amount_limits_by_itself),
		cmocka_unit_test(free_gpus_are_those_that_no_use_can_take),
		cmocka_unit_test(what_is_allocated_is_gone_until_it_is_returned),
		cmocka_unit_test(no_amount_of_a_node_is_below_zero),
		cmocka_unit_test(each_node_is_in_the_bucket_of_its_free_cores),
		cmocka_unit_test(an_array_grows_to_what_is_asked),
		cmocka_unit_test(the_next_node_of_a_bucket_is_found_across_words),
		cmocka_unit_test(buckets_end_behind_the_largest_node),
		cmocka_unit_test(an_exclusive_job_takes_each_of_its_nodes_once),
		cmocka_unit_test(a_closed_node_takes_what_ends_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
