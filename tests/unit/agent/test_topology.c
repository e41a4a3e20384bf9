/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_topology - real and synthetic machines through hwloc into the placement tables, and a day of placements
 * on the largest of them. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/enforce/topology.h"
#include "common/err.h"

static struct place_topology topo;
static struct topology_counts counts;

static void load_synthetic(const char *synthetic)
{
	struct topology_config c = { .synthetic = synthetic };
	struct err err = { "" };

	if (topology_load(&c, &topo, &counts, &err) < 0)
		fail_msg("%s", err.text);
}

static void tables_agree_with_the_machine(void **unused)
{
	char text[96];
	struct cpulist all;

	(void)unused;
	load_synthetic("pack:2 numa:2 l3:2 core:8 pu:2");
	assert_int_equal(topo.n_sockets, 2);
	assert_int_equal(topo.n_nodes, 4);
	assert_int_equal(topo.n_l3, 8);
	assert_int_equal(topo.n_cores, 64);
	assert_string_equal(topology_format(&counts, text, sizeof(text)),
			    "2 sockets, 4 NUMA nodes, 64 cores, 128 threads");
	place_all_cpus(&topo, &all);
	assert_int_equal(cpulist_count(&all), 128);
	for (int i = 0; i < topo.n_cores; i++) {
		assert_int_equal(topo.cores[i].n_threads, 2);
		assert_int_equal(topo.cores[i].socket, i / 32);
		assert_int_equal(topo.cores[i].node, i / 16);
		assert_int_equal(topo.cores[i].l3, i / 8);
		assert_true(topo.nodes[topo.cores[i].node].bytes > 0);
	}
	load_synthetic("pack:1 core:1 pu:1");
	assert_string_equal(topology_format(&counts, text, sizeof(text)),
			    "1 socket, 1 NUMA node, 1 core, 1 thread");
}

static void every_l3_is_in_one_node_and_every_node_in_one_socket(void **unused)
{
	static const char *const machines[] = { "l3:2 numa:2 core:2 pu:1", /* L3 over nodes */
						"numa:1 pack:2 l3:1 core:4 pu:2",
						"pack:2 core:4 pu:1", "core:4 pu:4" };

	(void)unused;
	for (size_t m = 0; m < sizeof(machines) / sizeof(*machines); m++) {
		int l3_node[PLACE_CORES_MAX], node_socket[PLACE_NODES_MAX];

		memset(l3_node, -1, sizeof(l3_node));
		memset(node_socket, -1, sizeof(node_socket));
		load_synthetic(machines[m]);
		for (int i = 0; i < topo.n_cores; i++) {
			const struct place_core *c = &topo.cores[i];

			assert_in_range(c->node, 0, topo.n_nodes - 1);
			assert_in_range(c->l3, 0, topo.n_l3 - 1);
			assert_in_range(c->socket, 0, topo.n_sockets - 1);
			assert_true(l3_node[c->l3] < 0 || l3_node[c->l3] == c->node);
			assert_true(node_socket[c->node] < 0 ||
				    node_socket[c->node] == c->socket);
			l3_node[c->l3] = c->node;
			node_socket[c->node] = c->socket;
		}
	}
}

static void reserved_and_foreign_cores_are_left_out_whole(void **unused)
{
	struct topology_config c = { .synthetic = "pack:1 core:8 pu:2", .reserved_cores = 1 };
	struct cpulist allowed, reserved, all;

	(void)unused;
	assert_int_equal(topology_load(&c, &topo, &counts, NULL), 0);
	assert_int_equal(topo.n_cores, 7);
	assert_int_equal(counts.reserved, 1);
	assert_int_equal(counts.cores, 8);
	cpulist_parse("1-15", &allowed, NULL); /* core 0 has only one thread of it */
	cpulist_parse("15", &reserved, NULL);  /* half of core 7 */
	c = (struct topology_config){ .synthetic = c.synthetic,
				      .allowed = &allowed,
				      .reserved = &reserved };
	assert_int_equal(topology_load(&c, &topo, &counts, NULL), 0);
	place_all_cpus(&topo, &all);
	assert_int_equal(cpulist_count(&all), 12);
	assert_false(cpulist_has(&all, 0) || cpulist_has(&all, 1));
	assert_false(cpulist_has(&all, 14) || cpulist_has(&all, 15));
	assert_int_equal(counts.left_out, 1);
}

static void nothing_left_and_bad_texts_are_errors_in_words(void **unused)
{
	struct topology_config c = { .synthetic = "pack:1 core:2 pu:1", .reserved_cores = 2 };
	struct err err = { "" };

	(void)unused;
	assert_int_equal(topology_load(&c, &topo, NULL, &err), -EINVAL);
	assert_string_equal(err.text,
			    "no core is left for jobs: 2 in the machine, 2 reserved, 0 "
			    "outside the cpus allowed");
	c = (struct topology_config){ .synthetic = "nonsense:x" };
	assert_int_equal(topology_load(&c, &topo, NULL, &err), -EINVAL);
	c = (struct topology_config){ .synthetic = "pack:16 core:128 pu:1" };
	assert_int_equal(topology_load(&c, &topo, NULL, &err), -EINVAL);
}

static void memory_reserve_is_taken_from_all_nodes_alike(void **unused)
{
	struct topology_config c = { .synthetic = "numa:4 core:2 pu:1" };
	int64_t before, total = 0;

	(void)unused;
	assert_int_equal(topology_load(&c, &topo, NULL, NULL), 0);
	before = topo.nodes[0].bytes;
	c.reserve_bytes = 4 << 20;
	assert_int_equal(topology_load(&c, &topo, NULL, NULL), 0);
	for (int i = 0; i < topo.n_nodes; i++)
		total += topo.nodes[i].bytes;
	assert_int_equal(total, 4 * before - (4 << 20));
}

static void this_machine_has_cores(void **unused)
{
	struct topology_config c = { 0 };
	struct cpulist all;
	struct err err = { "" };

	(void)unused;
	if (topology_load(&c, &topo, &counts, &err) < 0)
		fail_msg("%s", err.text);
	place_all_cpus(&topo, &all);
	assert_int_equal(place_count_cores(&topo, &all), topo.n_cores);
	assert_true(counts.threads <= sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(topo.nodes[topo.cores[0].node].bytes > 0);
}

/* 20,000 random starts and ends on 256 threads: no thread is ever granted twice, and at the
 * end everything is free again. */
static void placed_cores_are_disjoint_and_are_free_again_afterwards(void **unused)
{
	static struct place held[256];
	int n = 0;
	struct cpulist free, all;

	(void)unused;
	load_synthetic("pack:2 numa:4 l3:4 core:4 pu:2");
	assert_int_equal(topo.n_cores * 2, 256);
	place_all_cpus(&topo, &all);
	free = all;
	srand(7);
	for (int step = 0; step < 20000; step++) {
		struct place_want want = { 1 + rand() % 24, NULL };

		if (rand() % 2 && n) {
			int i = rand() % n;

			cpulist_join(&free, &held[i].cpus);
			held[i] = held[--n];
			continue;
		}
		if (place_choose(&topo, &free, &want, &held[n]) == PLACE_NO_ROOM) {
			assert_true(place_count_cores(&topo, &free) < want.ncpus);
			continue;
		}
		assert_true(cpulist_contains(&free, &held[n].cpus));
		assert_int_equal(cpulist_count(&held[n].cpus), 2 * want.ncpus);
		cpulist_remove(&free, &held[n].cpus);
		n++;
	}
	while (n)
		cpulist_join(&free, &held[--n].cpus);
	assert_true(cpulist_is_equal(&free, &all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_agree_with_the_machine),
		cmocka_unit_test(every_l3_is_in_one_node_and_every_node_in_one_socket),
		cmocka_unit_test(reserved_and_foreign_cores_are_left_out_whole),
		cmocka_unit_test(nothing_left_and_bad_texts_are_errors_in_words),
		cmocka_unit_test(memory_reserve_is_taken_from_all_nodes_alike),
		cmocka_unit_test(this_machine_has_cores),
		cmocka_unit_test(placed_cores_are_disjoint_and_are_free_again_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
