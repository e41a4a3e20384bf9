/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_pids - how many processes a node has for its jobs, and how many a job may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "agent/admit/admit.h"
#include "agent/admit/pids.h"
#include "agent/enforce/vmem/table.h"

#define GIB ((int64_t)1 << 30)

static int64_t pids_of(int64_t configured, int64_t mem_gib, int64_t kernel_max, int64_t job_max)
{
	struct pids_node n = { configured, mem_gib * GIB, kernel_max, job_max };

	return pids_of_node(&n);
}

static void a_node_has_processes_for_its_memory_within_the_kernels_bound(void **unused)
{
	(void)unused;
	assert_int_equal(pids_of(0, 256, 4194304, 4096), 524288);
	assert_int_equal(pids_of(0, 256, 131072, 4096), 131072);
	assert_int_equal(pids_of(0, 2, 32768, 4096), 65536);
	assert_int_equal(pids_of(0, 2, 32768, 100000), 100000);
	assert_int_equal(pids_of(0, 1 << 20, 4194304, 4096), 4194304);
	assert_int_equal(pids_of(0, 64, 0, 4096), 131072);
	assert_int_equal(pids_of(200, 256, 4194304, 4096), 200);
}

static void default_process_limits_of_all_cores_fit_twice_into_the_node(void **unused)
{
	(void)unused;
	for (int64_t cores = 1; cores <= 256; cores *= 2)
		for (int64_t capacity = 2 * PIDS_JOB_MIN * cores; capacity <= 1 << 20;
		     capacity *= 2)
			for (int64_t of = 1; of <= cores; of++) {
				struct pids_share s = { 4096, capacity, of, cores };
				int64_t one = pids_of_job(&s);

				assert_true(one >= PIDS_JOB_MIN && one <= 4096);
				assert_true(2 * one * (cores / of) <= capacity);
			}
}

/* What admission lets in, whatever the jobs state, the table of address spaces can hold. */
static void every_admitted_job_has_room_in_the_process_table(void **unused)
{
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	srandom(8);
	for (int round = 0; round < 60; round++) {
		int64_t capacity = 64 + random() % 5000, spaces = 0;
		static struct admit_allocation holds[VMEM_MAX_JOBS];
		struct admit_node n = { { .ncpus = 1 << 20, .pids = capacity }, holds, 0 };

		for (int i = 0; i < 4000 && n.n_allocations < VMEM_MAX_JOBS - 1; i++) {
			struct resources want = { .pids = 2 +
							  random() % (round % 2 ? 3 : 900) };

			if (admit_check(&n, &want, text) != ADMIT_YES)
				continue;
			holds[n.n_allocations++] = (struct admit_allocation){ .res = want };
			spaces += vmem_table_spaces_of_job((uint32_t)want.pids);
		}
		assert_true(n.n_allocations > 0);
		assert_true(spaces + VMEM_SELFTEST_SPACES <=
			    vmem_table_spaces_of_node((uint32_t)capacity));
	}
}

static void a_request_beyond_the_node_is_refused_with_both_numbers(void **unused)
{
	struct admit_node n = { { .ncpus = 8, .pids = 65536 }, NULL, 0 };
	struct admit_allocation sixteen[16];
	struct resources want = { .pids = 4194304 };
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	assert_int_equal(admit_check(&n, &want, text), ADMIT_NEVER);
	assert_string_equal(text, "needs 4194304 processes; this node has 65536");
	for (int i = 0; i < 16; i++)
		sixteen[i] =
			(struct admit_allocation){ .phase = ADMIT_SUSPENDED, .res.pids = 4096 };
	n.allocations = sixteen;
	n.n_allocations = 16;
	want.pids = 4096;
	assert_int_equal(admit_check(&n, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text, "needs 4096 processes; 0 of 65536 are free");
}

static void the_bounds_of_processes_hold_at_their_edges(void **unused)
{
	struct pids_share s = {
		.job_max = 4096, .capacity = 65536, .ncpus = 4, .node_ncpus = 8
	};

	(void)unused;
	assert_int_equal(pids_of(0, 256, 524288, 4096), 524288);
	assert_int_equal(pids_of(0, 256, 524287, 4096), 524287);
	assert_int_equal(pids_of(0, 64, 1, 1), PIDS_NODE_MIN);
	assert_int_equal(pids_of(1, 64, 1, 1), 1);
	assert_int_equal(pids_of(0, 2, 0, PIDS_NODE_MIN + 1), PIDS_NODE_MIN + 1);
	assert_int_equal(pids_of(0, 2, 0, PIDS_NODE_MAX + 1), PIDS_NODE_MAX);
	assert_int_equal(pids_of_job(&s), 4096); /* 16384 of its own: the largest allowed */
	s.job_max = 65536;
	assert_int_equal(pids_of_job(&s), 16384);
	s.ncpus = 0; /* as one core */
	assert_int_equal(pids_of_job(&s), 4096);
	s.ncpus = 9; /* no more than all cores */
	assert_int_equal(pids_of_job(&s), 32768);
	s.node_ncpus = 0; /* not known: as one */
	assert_int_equal(pids_of_job(&s), 32768);
	s = (struct pids_share){ .job_max = 4096, .capacity = 8, .ncpus = 1, .node_ncpus = 8 };
	assert_int_equal(pids_of_job(&s), PIDS_JOB_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_has_processes_for_its_memory_within_the_kernels_bound),
		cmocka_unit_test(default_process_limits_of_all_cores_fit_twice_into_the_node),
		cmocka_unit_test(every_admitted_job_has_room_in_the_process_table),
		cmocka_unit_test(a_request_beyond_the_node_is_refused_with_both_numbers),
		cmocka_unit_test(the_bounds_of_processes_hold_at_their_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
