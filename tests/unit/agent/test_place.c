/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Laws of core placement, by enumeration of small machines. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/admit/place.h"

struct shape {
	int sockets, nodes, l3, cores, threads; /* nodes a socket, L3 a node, cores an L3 */
};

static const struct shape shapes[] = {
	{ 1, 1, 1, 4, 2 }, { 1, 2, 1, 4, 1 }, { 2, 1, 1, 4, 2 }, { 1, 1, 2, 4, 1 },
	{ 2, 2, 1, 2, 1 }, { 3, 1, 1, 2, 2 }, { 2, 1, 2, 2, 1 }, { 1, 4, 1, 2, 1 },
	{ 1, 1, 1, 1, 1 }, { 2, 2, 2, 1, 1 }, { 2, 2, 1, 3, 1 }, { 3, 2, 1, 2, 1 },
};

static struct place_topology topo;

/* Threads of a core are numbered far apart, as real machines do. */
static void build_topology(const struct shape *s)
{
	int total = s->sockets * s->nodes * s->l3 * s->cores;

	memset(&topo, 0, sizeof(topo));
	topo.n_cores = total;
	topo.n_sockets = s->sockets;
	topo.n_nodes = s->sockets * s->nodes;
	topo.n_l3 = topo.n_nodes * s->l3;
	for (int i = 0; i < topo.n_nodes; i++)
		topo.nodes[i] =
			(struct place_node){ .os_index = (int16_t)(2 * i + 1), .bytes = 1000 };
	for (int i = 0; i < total; i++) {
		struct place_core *c = &topo.cores[i];

		c->l3 = (int16_t)(i / s->cores);
		c->node = (int16_t)(c->l3 / s->l3);
		c->socket = (int16_t)(c->node / s->nodes);
		c->n_threads = (int16_t)s->threads;
		for (int t = 0; t < s->threads; t++)
			c->threads[t] = (int16_t)(i + t * total);
	}
}

static void free_cores(unsigned mask, struct cpulist *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < topo.n_cores; i++)
		for (int t = 0; mask >> i & 1 && t < topo.cores[i].n_threads; t++)
			cpulist_add(ret, topo.cores[i].threads[t]);
}

/* Sockets above one, nodes, nodes that are not near: smaller is better, in this order. */
static int cost_of_nodes(unsigned nodes, const struct cpulist *near)
{
	unsigned sockets = 0, n = 0, far = 0;

	for (int i = 0; i < topo.n_cores; i++)
		if (nodes >> topo.cores[i].node & 1)
			sockets |= 1u << topo.cores[i].socket;
	for (int i = 0; i < topo.n_nodes; i++) {
		if (!(nodes >> i & 1))
			continue;
		n++;
		far += !near || !cpulist_has(near, topo.nodes[i].os_index);
	}
	return (__builtin_popcount(sockets) > 1) * 10000 + (int)n * 100 + (int)(near ? far : 0);
}

static int find_cheapest(unsigned mask, int ncpus, const struct cpulist *near)
{
	int best = -1;

	for (unsigned nodes = 1; nodes < 1u << topo.n_nodes; nodes++) {
		int room = 0, cost = cost_of_nodes(nodes, near);

		for (int i = 0; i < topo.n_cores; i++)
			room += mask >> i & nodes >> topo.cores[i].node & 1;
		if (room >= ncpus && (best < 0 || cost < best))
			best = cost;
	}
	return best;
}

static unsigned nodes_of(const struct place *p)
{
	unsigned nodes = 0;

	for (int i = 0; i < topo.n_cores; i++)
		if (cpulist_has(&p->cpus, topo.cores[i].threads[0]))
			nodes |= 1u << topo.cores[i].node;
	return nodes;
}

static void check_grant(unsigned mask, int ncpus, const struct cpulist *near)
{
	struct place_want want = { ncpus, near };
	struct cpulist free, nodes = { 0 };
	struct place p;

	free_cores(mask, &free);
	if (__builtin_popcount(mask) < ncpus) {
		assert_int_equal(place_choose(&topo, &free, &want, &p), PLACE_NO_ROOM);
		return;
	}
	assert_int_equal(place_choose(&topo, &free, &want, &p), 0);
	assert_true(cpulist_contains(&free, &p.cpus));
	assert_int_equal(place_count_cores(&topo, &p.cpus), ncpus);
	assert_int_equal(cpulist_count(&p.cpus), ncpus * topo.cores[0].n_threads);
	assert_int_equal(cost_of_nodes(nodes_of(&p), near), find_cheapest(mask, ncpus, near));
	for (int i = 0; i < topo.n_nodes; i++)
		if (nodes_of(&p) >> i & 1)
			cpulist_add(&nodes, topo.nodes[i].os_index);
	assert_true(cpulist_is_equal(&nodes, &p.nodes));
}

static void every_choice_is_whole_free_cores_on_the_fewest_nodes(void **unused)
{
	(void)unused;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		build_topology(&shapes[s]);
		for (unsigned mask = 0; mask < 1u << topo.n_cores; mask++)
			for (int n = 1; n <= topo.n_cores + 1; n++)
				check_grant(mask, n, NULL);
	}
}

static void nodes_near_the_gpus_come_first_but_never_at_the_price_of_a_split(void **unused)
{
	(void)unused;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		build_topology(&shapes[s]);
		if (topo.n_cores > 8)
			continue;
		for (unsigned near = 0; near < 1u << topo.n_nodes; near++) {
			struct cpulist set = { 0 };

			for (int i = 0; i < topo.n_nodes; i++)
				if (near >> i & 1)
					cpulist_add(&set, topo.nodes[i].os_index);
			for (unsigned mask = 0; mask < 1u << topo.n_cores; mask++)
				for (int n = 1; n <= topo.n_cores; n++)
					check_grant(mask, n, &set);
		}
	}
}

static int free_in(unsigned mask, int index, int l3)
{
	int n = 0;

	for (int i = 0; i < topo.n_cores; i++)
		n += mask >> i & 1 && (l3 ? topo.cores[i].l3 : topo.cores[i].node) == index;
	return n;
}

/* The group of the granted cores must be the fullest that suffices. */
static void check_best_fit(unsigned mask, int ncpus, int l3)
{
	int groups = l3 ? topo.n_l3 : topo.n_nodes, used = -1, best = 0;
	struct place_want want = { ncpus, NULL };
	struct cpulist free;
	struct place p;

	for (int g = 0; g < groups; g++) {
		int n = free_in(mask, g, l3);

		if (n >= ncpus && (!best || n < best))
			best = n;
	}
	if (!best)
		return;
	free_cores(mask, &free);
	assert_int_equal(place_choose(&topo, &free, &want, &p), 0);
	for (int i = 0; i < topo.n_cores; i++) {
		int group = l3 ? topo.cores[i].l3 : topo.cores[i].node;

		if (!cpulist_has(&p.cpus, topo.cores[i].threads[0]))
			continue;
		assert_true(used < 0 || used == group);
		used = group;
	}
	assert_int_equal(free_in(mask, used, l3), best);
}

static void cores_that_fit_one_l3_go_into_the_fullest_that_suffices(void **unused)
{
	(void)unused;
	build_topology(&(struct shape){ 2, 2, 1, 3, 1 }); /* one L3 a node */
	for (unsigned mask = 0; mask < 1u << topo.n_cores; mask++)
		for (int n = 1; n <= 3; n++)
			check_best_fit(mask, n, 0);
	build_topology(&(struct shape){ 1, 1, 3, 4, 1 }); /* three L3 in one node */
	for (unsigned mask = 0; mask < 1u << topo.n_cores; mask++)
		for (int n = 1; n <= 4; n++)
			check_best_fit(mask, n, 1);
}

static void a_core_with_one_thread_taken_is_not_free(void **unused)
{
	struct place_want want = { 4, NULL };
	struct cpulist free, one = { 0 };
	struct place p;

	(void)unused;
	build_topology(&(struct shape){ 1, 1, 1, 4, 2 });
	free_cores(0xf, &free);
	cpulist_add(&one, topo.cores[2].threads[1]);
	cpulist_remove(&free, &one);
	assert_int_equal(place_choose(&topo, &free, &want, &p), PLACE_NO_ROOM);
	want.ncpus = 3;
	assert_int_equal(place_choose(&topo, &free, &want, &p), 0);
	assert_false(cpulist_has(&p.cpus, topo.cores[2].threads[0]));
}

static void no_place_is_chosen_for_zero_or_negative_cores(void **unused)
{
	struct cpulist free;
	struct place p;

	(void)unused;
	build_topology(&shapes[0]);
	free_cores(0xf, &free);
	for (int64_t n = -3; n <= 0; n++)
		assert_int_equal(
			place_choose(&topo, &free, &(struct place_want){ n, NULL }, &p),
			PLACE_NO_ROOM);
	assert_int_equal(
		place_choose(&topo, &free, &(struct place_want){ INT64_MAX, NULL }, &p),
		PLACE_NO_ROOM);
}

/* The most that others can fill of what job i is fenced to, computed node by node. */
static bool can_be_starved(const struct place_fence *jobs, int n, int i)
{
	int64_t room = 0;

	for (int k = 0; k < topo.n_nodes; k++)
		if (cpulist_has(&jobs[i].fence, topo.nodes[k].os_index))
			room += topo.nodes[k].bytes;
	for (int j = 0; j < n; j++)
		if (j != i && cpulist_overlaps(&jobs[i].fence, &jobs[j].fence))
			room -= jobs[j].bytes;
	return room < jobs[i].bytes;
}

static struct cpulist one_node(int os_index)
{
	struct cpulist s = { 0 };

	cpulist_add(&s, os_index);
	return s;
}

/* Three jobs of every size from 0 to 2000 in steps, on every node of two, admitted only where
 * their sum fits: no job can be short of memory inside a fence. */
static void a_memory_fence_never_leaves_less_than_the_jobs_need(void **unused)
{
	int narrow = 0, wide = 0;

	(void)unused;
	build_topology(&(struct shape){ 2, 1, 1, 2, 1 });
	for (int code = 0; code < 8 * 11 * 11 * 11; code++) {
		int64_t size[3] = { code / 8 % 11 * 200, code / 88 % 11 * 200,
				    code / 968 * 200 };
		struct place_fence jobs[3];

		if (size[0] + size[1] + size[2] > 2000 || !size[0] || !size[1] || !size[2])
			continue;
		for (int i = 0; i < 3; i++)
			jobs[i] = (struct place_fence){ size[i],
							one_node(code >> i & 1 ? 3 : 1) };
		place_fences(&topo, jobs, 3);
		for (int i = 0; i < 3; i++) {
			assert_false(can_be_starved(jobs, 3, i));
			narrow += cpulist_count(&jobs[i].fence) == 1;
			wide += cpulist_count(&jobs[i].fence) == 2;
		}
	}
	assert_true(narrow > 0);
	assert_true(wide > 0);
}

static void a_job_alone_on_its_node_is_fenced_and_one_too_large_is_not(void **unused)
{
	struct place_fence jobs[2] = { { 900, one_node(1) }, { 900, one_node(3) } };

	(void)unused;
	build_topology(&(struct shape){ 2, 1, 1, 2, 1 });
	place_fences(&topo, jobs, 2);
	assert_int_equal(cpulist_count(&jobs[0].fence), 1);
	assert_int_equal(cpulist_count(&jobs[1].fence), 1);
	jobs[0].bytes = 1001;
	place_fences(&topo, jobs, 2);
	assert_int_equal(cpulist_count(&jobs[0].fence), 2);
	jobs[0] = (struct place_fence){ 0, one_node(1) };
	jobs[1] = (struct place_fence){ 100, one_node(3) };
	place_fences(&topo, jobs, 2);
	assert_int_equal(cpulist_count(&jobs[0].fence), 2);
	assert_int_equal(cpulist_count(&jobs[1].fence), 2);
}

static void cpu_lists_read_back_what_they_write(void **unused)
{
	char text[CPULIST_TEXT_MAX];
	struct cpulist s, back;

	(void)unused;
	for (unsigned mask = 0; mask < 1u << 12; mask++) {
		memset(&s, 0, sizeof(s));
		for (int i = 0; i < 12; i++) /* across a word's edge */
			if (mask >> i & 1)
				cpulist_add(&s, 58 + i);
		assert_int_equal(
			cpulist_parse(cpulist_format(&s, text, sizeof(text)), &back, NULL), 0);
		assert_true(cpulist_is_equal(&s, &back));
		assert_int_equal(cpulist_count(&s), __builtin_popcount(mask));
		assert_int_equal(cpulist_is_empty(&s), mask == 0);
	}
	for (int i = 0; i < CPULIST_MAX; i += 2)
		cpulist_add(&s, i);
	assert_null(strchr(cpulist_format(&s, text, sizeof(text)), '.'));
}

static void cpu_lists_are_cut_at_whole_ranges_and_bad_ones_refused(void **unused)
{
	static const char *const bad[] = { ",",	  "1,",	  "1-",	 "-1",	 "3-1",	       "1,,2",
					   "1 2", "1024", "0x1", "1\n2", "99999999999" };
	struct cpulist s = { 0 }, before;
	char text[16];

	(void)unused;
	assert_int_equal(cpulist_parse("0-3,8,10-12\n", &s, NULL), 0);
	assert_int_equal(cpulist_count(&s), 8);
	before = s;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(cpulist_parse(bad[i], &s, NULL), -EINVAL);
		assert_true(cpulist_is_equal(&s, &before));
	}
	assert_string_equal(cpulist_format(&s, text, 12), "0-3,8,10-12");
	assert_string_equal(cpulist_format(&s, text, 11), "0-3,8...");
	assert_string_equal(cpulist_format(&s, text, 4), "...");
}

/* ---- GPUs ---- */

static int gpu_nodes_of(const struct place_gpus *g, int *ret_chosen)
{
	uint64_t nodes = 0;

	*ret_chosen = 0;
	for (int i = 0; i < g->n; i++)
		if (g->is_chosen[i]) {
			nodes |= UINT64_C(1) << (g->nodes[i] + 1);
			++*ret_chosen;
		}
	return __builtin_popcountll(nodes);
}

/* The fewest nodes that hold so many: the fullest first. */
static int fewest_nodes(const int counts[4], int want)
{
	int sorted[4], n = 0;

	memcpy(sorted, counts, sizeof(sorted));
	for (int i = 0; i < 4; i++)
		for (int j = i + 1; j < 4; j++)
			if (sorted[j] > sorted[i]) {
				int t = sorted[i];

				sorted[i] = sorted[j];
				sorted[j] = t;
			}
	for (; n < 4 && want > 0; n++)
		want -= sorted[n];
	return n;
}

static void fill_gpus(struct place_gpus *g, int code, int counts[4])
{
	g->n = 0;
	for (int k = 0; k < 4; k++, code /= 4) {
		counts[k] = code % 4;
		for (int i = 0; i < counts[k]; i++)
			g->nodes[g->n++] = k < 3 ? (int16_t)(2 * k + 1) : -1;
	}
}

/* Three NUMA nodes and unknown ones, up to three GPUs at each. */
static void gpus_are_taken_from_the_fewest_nodes(void **unused)
{
	struct cpulist free;

	(void)unused;
	build_topology(&(struct shape){ 3, 1, 1, 2, 2 });
	free_cores(0x3f, &free);
	for (int code = 0; code < 256; code++)
		for (int want = 1; want <= 12; want++) {
			struct place_gpus g = { .ncpus = 1, .ngpus = want };
			int counts[4], n_chosen;

			fill_gpus(&g, code, counts);
			if (want > g.n) {
				assert_int_equal(place_choose_gpus(&topo, &free, &g),
						 PLACE_NO_ROOM);
				continue;
			}
			assert_int_equal(place_choose_gpus(&topo, &free, &g), 0);
			assert_int_equal(gpu_nodes_of(&g, &n_chosen),
					 fewest_nodes(counts, want));
			assert_int_equal(n_chosen, want);
		}
}

static void gpus_near_free_cores_are_chosen_before_a_better_fit(void **unused)
{
	struct place_gpus g = { .ncpus = 2, .ngpus = 1, .n = 3, .nodes = { 1, 3, 3 } };
	struct cpulist free;

	(void)unused;
	build_topology(&(struct shape){ 2, 1, 1, 2, 2 });
	free_cores(0xf, &free);
	assert_int_equal(place_choose_gpus(&topo, &free, &g), 0);
	assert_true(g.is_chosen[0]); /* the smaller hole */
	free_cores(0xd, &free);	     /* one core of the first node is taken */
	assert_int_equal(place_choose_gpus(&topo, &free, &g), 0);
	assert_false(g.is_chosen[0]);
	g.ncpus = 3; /* no node has three */
	assert_int_equal(place_choose_gpus(&topo, &free, &g), 0);
	assert_true(g.is_chosen[0]);
}

static void a_gpus_node_is_that_of_its_bus(void **unused)
{
	(void)unused;
	build_topology(&(struct shape){ 2, 1, 1, 2, 2 });
	topo.n_gpus = 2;
	topo.gpus[0] = (struct place_gpu){ "0000:3b:00.0", 1 };
	topo.gpus[1] = (struct place_gpu){ "0000:5e:00.0", -1 };
	assert_int_equal(place_gpu_node(&topo, "0000:3b:00.0"), 3);
	assert_int_equal(place_gpu_node(&topo, "0000:5e:00.0"), -1);
	assert_int_equal(place_gpu_node(&topo, "0000:00:00.0"), -1);
}

static void sets_of_cpus_join_and_part_at_every_edge_of_a_word(void **unused)
{
	static const int edges[] = { 0, 1, 63, 64, 127, 128, CPULIST_MAX - 1 };
	char text[CPULIST_TEXT_MAX];

	(void)unused;
	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
		for (size_t k = 0; k < sizeof(edges) / sizeof(*edges); k++) {
			struct cpulist a = one_node(edges[i]), b = one_node(edges[k]), both = a;

			assert_int_equal(cpulist_overlaps(&a, &b), i == k);
			assert_int_equal(cpulist_contains(&a, &b), i == k);
			assert_int_equal(cpulist_is_equal(&a, &b), i == k);
			cpulist_join(&both, &b);
			assert_int_equal(cpulist_count(&both), i == k ? 1 : 2);
			assert_true(cpulist_contains(&both, &a) && cpulist_contains(&both, &b));
			assert_int_equal(cpulist_next(&both, -1), edges[i < k ? i : k]);
			assert_int_equal(cpulist_next(&both, edges[i > k ? i : k]), -1);
			cpulist_remove(&both, &b);
			assert_int_equal(cpulist_is_empty(&both), i == k);
			assert_int_equal(cpulist_next(&a, edges[i] - 1), edges[i]);
		}
	for (int n = -1; n <= CPULIST_MAX; n += CPULIST_MAX + 1) { /* outside: not added */
		struct cpulist s = { 0 };

		cpulist_add(&s, n);
		assert_true(cpulist_is_empty(&s));
	}
	assert_int_equal(cpulist_parse("1023", &(struct cpulist){ 0 }, NULL), 0);
	assert_int_equal(cpulist_parse("0000", &(struct cpulist){ 0 }, NULL), 0);
	assert_int_equal(cpulist_parse("00000", &(struct cpulist){ 0 }, NULL), -EINVAL);
	assert_int_equal(cpulist_parse("5-5", &(struct cpulist){ 0 }, NULL), 0);
	assert_string_equal(cpulist_format(&(struct cpulist){ 0 }, text, sizeof(text)), "");
	assert_string_equal(cpulist_format(&(struct cpulist){ .words = { 0xb } }, text, 7),
			    "0-1,3");
	assert_string_equal(cpulist_format(&(struct cpulist){ .words = { 0xb } }, text, 5),
			    "...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_choice_is_whole_free_cores_on_the_fewest_nodes),
		cmocka_unit_test(
			nodes_near_the_gpus_come_first_but_never_at_the_price_of_a_split),
		cmocka_unit_test(cores_that_fit_one_l3_go_into_the_fullest_that_suffices),
		cmocka_unit_test(a_core_with_one_thread_taken_is_not_free),
		cmocka_unit_test(no_place_is_chosen_for_zero_or_negative_cores),
		cmocka_unit_test(gpus_are_taken_from_the_fewest_nodes),
		cmocka_unit_test(gpus_near_free_cores_are_chosen_before_a_better_fit),
		cmocka_unit_test(a_gpus_node_is_that_of_its_bus),
		cmocka_unit_test(a_memory_fence_never_leaves_less_than_the_jobs_need),
		cmocka_unit_test(a_job_alone_on_its_node_is_fenced_and_one_too_large_is_not),
		cmocka_unit_test(cpu_lists_read_back_what_they_write),
		cmocka_unit_test(cpu_lists_are_cut_at_whole_ranges_and_bad_ones_refused),
		cmocka_unit_test(sets_of_cpus_join_and_part_at_every_edge_of_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
