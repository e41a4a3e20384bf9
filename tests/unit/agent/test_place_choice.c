/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_place_choice - on random machines, the cores, GPUs and memory fences that are chosen are those of a slow search by the rules of
 * agent/admit/place.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/admit/place.h"

#define WORLDS 1500

static struct place_topology topo;

static int pick_number(int low, int high)
{
	return low + (int)(random() % (high - low + 1));
}

/* What is behind the end of each table looks like its first entry: who reads it counts that twice. */
static void fill_behind(void)
{
	for (int i = topo.n_cores; i < PLACE_CORES_MAX; i++)
		topo.cores[i] = topo.cores[0];
	for (int i = topo.n_nodes; i < PLACE_NODES_MAX; i++)
		topo.nodes[i] = topo.nodes[0];
}

/* Nodes, caches and cores in a random order; os_index is not the index. */
static void make_topology(void)
{
	int16_t node_of[8];

	memset(&topo, 0, sizeof(topo));
	topo.n_nodes = pick_number(1, 6);
	topo.n_sockets = pick_number(1, 2);
	topo.n_l3 = pick_number(topo.n_nodes, 8);
	topo.n_cores = pick_number(1, 20);
	for (int i = 0; i < topo.n_nodes; i++)
		topo.nodes[i] = (struct place_node){ (int16_t)(11 - 2 * i), pick_number(1, 9) };
	for (int i = 0; i < topo.n_l3; i++)
		node_of[i] = (int16_t)(i < topo.n_nodes ? i : pick_number(0, topo.n_nodes - 1));
	for (int i = 0; i < topo.n_cores; i++) {
		struct place_core *c = &topo.cores[i];

		c->l3 = (int16_t)pick_number(0, topo.n_l3 - 1);
		c->node = node_of[c->l3];
		c->socket = (int16_t)(c->node % topo.n_sockets);
		c->n_threads = 2;
		c->threads[0] = (int16_t)(60 + i);
		c->threads[1] = (int16_t)(30 - i);
	}
	fill_behind();
}

/* Of some cores one thread alone is free. */
static unsigned free_some(struct cpulist *ret)
{
	unsigned mask = 0;

	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < topo.n_cores; i++) {
		int state = pick_number(0, 4);

		if (state != 0)
			cpulist_add(ret, topo.cores[i].threads[0]);
		if (state > 1)
			cpulist_add(ret, topo.cores[i].threads[1]);
		mask |= (unsigned)(state > 1) << i;
	}
	return mask;
}

/* ---- cores ---- */

static int count_free(unsigned mask, int node, int l3)
{
	int n = 0;

	for (int i = 0; i < topo.n_cores; i++)
		n += mask >> i & 1 && (node < 0 || topo.cores[i].node == node) &&
		     (l3 < 0 || topo.cores[i].l3 == l3);
	return n;
}

static bool has_cache_for(unsigned mask, int node, int n)
{
	for (int l3 = 0; l3 < topo.n_l3; l3++)
		if (count_free(mask, node, l3) >= n)
			return true;
	return false;
}

/* The node on which n cores belong: near, with a cache that has them, fullest; -1: none has so many. */
static int find_node(unsigned mask, int n, const struct cpulist *near)
{
	int best = -1, least = 0;

	for (int i = 0; i < topo.n_nodes; i++) {
		int free = count_free(mask, i, -1), cost;

		if (free < n)
			continue;
		cost = (near && !cpulist_has(near, topo.nodes[i].os_index)) * 1000 +
		       !has_cache_for(mask, i, n) * 100 + free;
		/* of equal ones that of the lower socket, then the lower number */
		cost = cost * 100 + i % topo.n_sockets * 10 + i;
		if (best < 0 || cost < least) {
			best = i;
			least = cost;
		}
	}
	return best;
}

/* Takes cores one cache after the other: the fullest that has all that are wanted, else the largest. */
static unsigned take_on_node(unsigned mask, int node, int n)
{
	unsigned taken = 0;

	while (n > 0) {
		int cache = -1, best = 0;

		for (int l3 = 0; l3 < topo.n_l3; l3++) {
			int free = count_free(mask & ~taken, node, l3);
			int worth = free >= n ? 1000 - free : free;

			if (worth > best) {
				best = worth;
				cache = l3;
			}
		}
		for (int i = 0; i < topo.n_cores && n > 0; i++)
			if (topo.cores[i].l3 == cache && (mask & ~taken) >> i & 1) {
				taken |= 1U << i;
				n--;
			}
	}
	return taken;
}

static void cores_that_fit_on_one_node_are_those_of_the_rule(void **state)
{
	int n_near = 0;

	(void)state;
	srandom(1);
	for (int world = 0; world < WORLDS; world++) {
		struct cpulist free, near = { 0 }, want = { 0 };
		struct place_want ask = { .near = world % 2 ? &near : NULL };
		struct place p;
		unsigned mask, taken;
		int node;

		make_topology();
		mask = free_some(&free);
		for (int i = 0; i < topo.n_nodes; i++)
			if (pick_number(0, 1))
				cpulist_add(&near, topo.nodes[i].os_index);
		ask.ncpus = pick_number(1, 4);
		node = find_node(mask, (int)ask.ncpus, ask.near);
		if (node < 0)
			continue;
		taken = take_on_node(mask, node, (int)ask.ncpus);
		for (int i = 0; i < topo.n_cores; i++)
			for (int t = 0; taken >> i & 1 && t < 2; t++)
				cpulist_add(&want, topo.cores[i].threads[t]);
		assert_int_equal(place_choose(&topo, &free, &ask, &p), 0);
		if (!cpulist_is_equal(&p.cpus, &want))
			fail_msg("world %d: other cores than %x", world, taken);
		assert_int_equal(cpulist_next(&p.nodes, -1), topo.nodes[node].os_index);
		assert_int_equal(cpulist_count(&p.nodes), 1);
		n_near += ask.near && cpulist_has(&near, topo.nodes[node].os_index);
	}
	assert_true(n_near > WORLDS / 10);
}

static void all_cpus_are_those_of_every_core(void **state)
{
	struct cpulist all = { .words = { 1 } };

	(void)state;
	srandom(2);
	make_topology();
	place_all_cpus(&topo, &all);
	assert_int_equal(cpulist_count(&all), 2 * topo.n_cores);
	assert_int_equal(place_count_cores(&topo, &all), topo.n_cores);
	for (int i = 0; i < CPULIST_MAX; i++)
		if (!cpulist_has(&all, i))
			assert_true(i != topo.cores[0].threads[0] &&
				    i != topo.cores[0].threads[1]);
	topo.n_cores = 0; /* the others are behind the end */
	assert_int_equal(place_count_cores(&topo, &all), 0);
	place_all_cpus(&topo, &all);
	assert_int_equal(cpulist_count(&all), 0);
	topo.n_cores = 3;
	place_all_cpus(&topo, &all);
	topo.cores[0].n_threads = 0; /* a core without threads counts nowhere */
	assert_int_equal(place_count_cores(&topo, &all), topo.n_cores - 1);
}

/* ---- GPUs ---- */

static int count_gpus(const struct place_gpus *g, const bool *taken, int16_t node)
{
	int n = 0;

	for (int i = 0; i < g->n; i++)
		n += g->nodes[i] == node && !taken[i];
	return n;
}

static int count_cores_at(unsigned mask, int16_t os_index)
{
	int n = 0;

	for (int i = 0; i < topo.n_cores; i++)
		n += mask >> i & 1 && topo.nodes[topo.cores[i].node].os_index == os_index;
	return n;
}

/* The first GPU of the node that is next: one that has all that are wanted, with cores, fullest; else the one with most. */
static int find_gpu(const struct place_gpus *g, const bool *taken, unsigned mask, int want)
{
	int best = -1, most = 0;

	for (int i = 0; i < g->n; i++) {
		int left = count_gpus(g, taken, g->nodes[i]), worth = left;

		if (taken[i])
			continue;
		if (left >= want)
			worth = 10000 - left +
				1000 * (count_cores_at(mask, g->nodes[i]) >= g->ncpus);
		if (worth > most) {
			most = worth;
			best = i;
		}
	}
	return best;
}

static void gpus_are_those_of_the_rule(void **state)
{
	(void)state;
	srandom(3);
	for (int world = 0; world < WORLDS; world++) {
		struct place_gpus g = { .ncpus = pick_number(0, 4), .n = pick_number(1, 10) };
		bool want[PLACE_FREE_GPUS_MAX] = { 0 };
		struct cpulist free;
		unsigned mask;

		make_topology();
		mask = free_some(&free);
		for (int i = 0; i < g.n; i++) {
			int node = pick_number(-1, topo.n_nodes - 1);

			g.nodes[i] = node < 0 ? -1 : topo.nodes[node].os_index;
			g.is_chosen[i] = pick_number(0, 1); /* of a call before */
		}
		for (int i = g.n; i < PLACE_FREE_GPUS_MAX; i++)
			g.nodes[i] = g.nodes[0];
		g.ngpus = pick_number(1, g.n);
		for (int left = (int)g.ngpus; left > 0;) {
			int16_t node = g.nodes[find_gpu(&g, want, mask, left)];

			for (int i = 0; i < g.n && left > 0; i++)
				if (g.nodes[i] == node && !want[i]) {
					want[i] = true;
					left--;
				}
		}
		assert_int_equal(place_choose_gpus(&topo, &free, &g), 0);
		assert_memory_equal(g.is_chosen, want, sizeof(want));
		g.ngpus = g.n + 1;
		assert_int_equal(place_choose_gpus(&topo, &free, &g), PLACE_NO_ROOM);
		g.ngpus = 0;
		assert_int_equal(place_choose_gpus(&topo, &free, &g), PLACE_NO_ROOM);
		assert_memory_equal(g.is_chosen, want, sizeof(want));
	}
}

/* ---- memory ---- */

static int64_t bytes_of(const struct cpulist *a, const struct cpulist *b)
{
	int64_t sum = 0;

	for (int i = 0; i < topo.n_nodes; i++)
		if (cpulist_has(a, topo.nodes[i].os_index) &&
		    cpulist_has(b, topo.nodes[i].os_index))
			sum += topo.nodes[i].bytes;
	return sum;
}

static bool may_be_short(const struct place_fence *jobs, int n, int i)
{
	int64_t need = jobs[i].bytes;

	for (int j = 0; j < n; j++) {
		int64_t shared = bytes_of(&jobs[i].fence, &jobs[j].fence);

		if (j != i)
			need += jobs[j].bytes > 0 && jobs[j].bytes < shared ? jobs[j].bytes
									    : shared;
	}
	return jobs[i].bytes <= 0 || need > bytes_of(&jobs[i].fence, &jobs[i].fence);
}

static void fences_are_widened_where_memory_could_be_short_and_nowhere_else(void **state)
{
	int n_narrow = 0, n_wide = 0;

	(void)state;
	srandom(4);
	for (int world = 0; world < WORLDS; world++) {
		struct place_fence jobs[5] = { 0 }, want[5];
		struct cpulist all = { 0 };
		int n = pick_number(1, 4);

		make_topology();
		for (int k = 0; k < topo.n_nodes; k++) {
			cpulist_add(&all, topo.nodes[k].os_index);
			for (int i = 0; i < n; i++)
				if (pick_number(0, 2) == 0)
					cpulist_add(&jobs[i].fence, topo.nodes[k].os_index);
		}
		for (int i = 0; i < n; i++)
			jobs[i].bytes = pick_number(-1, 9);
		jobs[n] = (struct place_fence){ 9, all }; /* not one of them */
		memcpy(want, jobs, sizeof(jobs));
		for (int i = 0; i < n; i++)
			if (!cpulist_is_equal(&want[i].fence, &all) &&
			    may_be_short(want, n, i)) {
				want[i].fence = all;
				i = -1; /* from the first on again */
			}
		place_fences(&topo, jobs, n);
		for (int i = 0; i < n; i++) {
			if (!cpulist_is_equal(&jobs[i].fence, &want[i].fence))
				fail_msg("world %d, job %d", world, i);
			n_wide += cpulist_is_equal(&want[i].fence, &all);
			n_narrow += !cpulist_is_equal(&want[i].fence, &all);
		}
	}
	assert_true(n_wide > WORLDS / 10 && n_narrow > WORLDS / 10);
}

/* How good a choice within one socket is, by the rules in their order; smaller is better. -1: its last node is not to be told. */
static int64_t cost_of(const struct place *p, unsigned mask, int ncpus,
		       const struct cpulist *near)
{
	int n = 0, far = 0, sum = 0, partial = -1, rest = ncpus;

	for (int i = 0; i < topo.n_nodes; i++) {
		int free = count_free(mask, i, -1), used = 0;

		if (!cpulist_has(&p->nodes, topo.nodes[i].os_index))
			continue;
		for (int k = 0; k < topo.n_cores; k++)
			used += topo.cores[k].node == i &&
				cpulist_has(&p->cpus, topo.cores[k].threads[0]);
		n++;
		far += !cpulist_has(near, topo.nodes[i].os_index);
		sum += free;
		if (used < free)
			partial = partial == -1 ? i : -2;
		else
			rest -= used;
	}
	for (int i = 0; n == 1 && i < topo.n_nodes; i++)
		if (cpulist_has(&p->nodes, topo.nodes[i].os_index))
			partial = i, rest = ncpus;
	if (partial < 0)
		return -1;
	return ((n * 100 + far) * 10 + !has_cache_for(mask, partial, rest)) * 100 + sum;
}

/* Of the choices within each socket alone the best one is that of the whole machine; of equal ones the first. */
static void the_best_socket_is_chosen(void **state)
{
	int n_several = 0;

	(void)state;
	srandom(5);
	for (int world = 0; world < 6 * WORLDS; world++) {
		struct cpulist free, near = { 0 };
		struct place_want ask = { pick_number(2, 6), &near };
		struct place whole, best = { 0 };
		int64_t least = INT64_MAX;
		bool is_told = true;
		unsigned mask;
		int found = 0;

		make_topology();
		mask = free_some(&free);
		for (int i = 0; i < topo.n_nodes; i++)
			if (pick_number(0, 1))
				cpulist_add(&near, topo.nodes[i].os_index);
		for (int s = 0; s < topo.n_sockets; s++) {
			struct cpulist own = free, others = { 0 };
			struct place p;
			int64_t cost;

			for (int i = 0; i < topo.n_cores; i++)
				for (int t = 0; topo.cores[i].socket != s && t < 2; t++)
					cpulist_add(&others, topo.cores[i].threads[t]);
			cpulist_remove(&own, &others);
			if (place_choose(&topo, &own, &ask, &p) == PLACE_NO_ROOM)
				continue;
			cost = cost_of(&p, mask, (int)ask.ncpus, &near);
			is_told &= cost >= 0;
			found++;
			if (cost < least) {
				least = cost;
				best = p;
			}
		}
		if (found < 2 || !is_told)
			continue;
		assert_int_equal(place_choose(&topo, &free, &ask, &whole), 0);
		if (!cpulist_is_equal(&whole.cpus, &best.cpus))
			fail_msg("world %d", world);
		n_several += cpulist_count(&whole.nodes) > 1;
	}
	assert_true(n_several > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_that_fit_on_one_node_are_those_of_the_rule),
		cmocka_unit_test(all_cpus_are_those_of_every_core),
		cmocka_unit_test(gpus_are_those_of_the_rule),
		cmocka_unit_test(
			fences_are_widened_where_memory_could_be_short_and_nowhere_else),
		cmocka_unit_test(the_best_socket_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
