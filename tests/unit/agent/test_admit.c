/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Laws of admission. */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/admit/admit.h"

#define GIB ((int64_t)1 << 30)

static const struct admit_capacity small = {
	.ncpus = 8, .mem_bytes = 8 * GIB, .jobfs_bytes = 100 * GIB, .ngpus = 1, .pids = 1000
};

static struct admit_allocation make_allocation(int64_t ncpus, int64_t vmem, int64_t jobfs)
{
	return (struct admit_allocation){
		.job = 1,
		.attempt = 1,
		.res = { .ncpus = ncpus, .vmem_bytes = vmem, .jobfs_bytes = jobfs }
	};
}

static void a_refusal_names_the_resource_and_the_missing_number(void **unused)
{
	struct admit_allocation holds[] = { make_allocation(5, 6 * GIB + GIB / 2, 60 * GIB) };
	struct admit_node node = { small, holds, 1 };
	struct resources want = { .ncpus = 8, .vmem_bytes = GIB, .jobfs_bytes = GIB };
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text, "needs 8 cores; 3 of 8 are free");
	want = (struct resources){ .ncpus = 1, .vmem_bytes = 4 * GIB };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text, "needs 4.00 GiB vmem; 1.50 GiB of 8.00 GiB is free");
	want = (struct resources){ .ncpus = 4, .mem_bytes = 2 * GIB, .jobfs_bytes = 50 * GIB };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text,
			    "needs 4 cores; 3 of 8 are free, and 2.00 GiB mem; 1.50 GiB of "
			    "8.00 GiB is free, and 50.0 GiB jobfs; 40.0 GiB of 100 GiB is "
			    "free");
	want = (struct resources){ .ncpus = 3, .vmem_bytes = GIB, .jobfs_bytes = 40 * GIB };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_YES);
	assert_string_equal(text, "");
}

static void gpus_are_counted_by_model(void **unused)
{
	const struct admit_allocation holds[] = {
		{ 1, 1, ADMIT_SUSPENDED, { .ngpus = 3, .gpu_model = "a100-40" } },
		{ 2, 1, ADMIT_ACTIVE, { .ngpus = 1, .gpu_model = "a100_1g.5gb" } },
	};
	struct admit_node node = { { .ncpus = 8, .ngpus = 4 }, holds, 2 };
	struct resources want = { .ncpus = 1, .ngpus = 2, .gpu_model = "a100-40" };
	struct admit_capacity free;
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	gpus_add(&node.capacity.gpus, "a100-40", 4);
	gpus_add(&node.capacity.gpus, "a100_1g.5gb", 7);
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text, "needs 2 a100-40; 1 of 4 is free");
	want.ngpus = 1;
	assert_int_equal(admit_check(&node, &want, text), ADMIT_YES);
	want = (struct resources){ .ngpus = 2 };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text, "needs 2 GPUs; 1 of 4 is free");
	want = (struct resources){ .ngpus = 8, .gpu_model = "a100_1g.5gb" };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
	assert_string_equal(text, "needs 8 a100_1g.5gb; this node has 7");
	want = (struct resources){ .ngpus = 1, .gpu_model = "h100-80" };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
	admit_free(&node, &free);
	assert_int_equal(free.ngpus, 1);
	assert_int_equal(gpus_count(&free.gpus, "a100-40"), 1);
	assert_int_equal(gpus_count(&free.gpus, "a100_1g.5gb"), 6);
}

static void never_and_not_now_are_different_answers(void **unused)
{
	struct admit_node node = { small, NULL, 0 };
	struct resources want = { .ncpus = 16, .vmem_bytes = GIB, .ngpus = 2 };
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
	assert_string_equal(text,
			    "needs 16 cores; this node has 8, and 2 GPUs; this node has 1");
	want = (struct resources){ .ncpus = 1, .pids = 1001 };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
	assert_string_equal(text, "needs 1001 processes; this node has 1000");
	node.capacity.pids = 0;
	assert_int_equal(admit_check(&node, &want, text), ADMIT_YES);
	node.capacity.jobfs_bytes = 0;
	want = (struct resources){ .ncpus = 1, .jobfs_bytes = 1 };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
}

/* Two allocations and a request, all amounts 0..4 of a capacity of 4 in each of two resources,
 * running and suspended: admitted exactly when the sums fit, never when alone too large. */
static void admitted_exactly_when_the_sums_fit(void **unused)
{
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	for (int code = 0; code < 6 * 6 * 6 * 6 * 6 * 6 * 4; code++) {
		int n = code / 4, a[6];
		struct admit_allocation holds[2];
		struct resources want;
		struct admit_node node = { { .ncpus = 4, .mem_bytes = 4 }, holds, 2 };
		int64_t cores, mem;

		for (int i = 0; i < 6; i++, n /= 6)
			a[i] = n % 6;
		holds[0] = make_allocation(a[0], a[1], 0);
		holds[1] = make_allocation(a[2], a[3], 0);
		holds[0].phase = code & 1 ? ADMIT_SUSPENDED : ADMIT_ACTIVE;
		holds[1].phase = code & 2 ? ADMIT_SUSPENDED : ADMIT_ACTIVE;
		want = (struct resources){ .ncpus = a[4], .vmem_bytes = a[5] };
		cores = (code & 1 ? 0 : a[0]) + (code & 2 ? 0 : a[2]);
		mem = a[1] + a[3];
		if (a[4] > 4 || a[5] > 4)
			assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
		else if ((a[4] && cores + a[4] > 4) || (a[5] && mem + a[5] > 4))
			assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
		else
			assert_int_equal(admit_check(&node, &want, text), ADMIT_YES);
		assert_int_equal(text[0] == '\0', admit_check(&node, &want, text) == ADMIT_YES);
	}
}

static void a_suspended_job_frees_its_cores_only(void **unused)
{
	struct admit_allocation holds[] = { make_allocation(8, 8 * GIB, 100 * GIB),
					    make_allocation(6, 0, 0) };
	struct admit_node node = { small, holds, 1 };
	struct admit_capacity free;

	(void)unused;
	holds[0].phase = ADMIT_SUSPENDED;
	admit_free(&node, &free);
	assert_int_equal(free.ncpus, 8);
	assert_int_equal(free.mem_bytes, 0);
	assert_int_equal(free.jobfs_bytes, 0);
}

static void more_in_use_than_capacity_leaves_nothing_free_and_never_wraps(void **unused)
{
	struct admit_allocation holds[] = { make_allocation(INT64_MAX, INT64_MAX, INT64_MAX),
					    make_allocation(INT64_MAX, INT64_MAX, INT64_MAX) };
	struct admit_node node = { small, holds, 2 };
	struct resources want = { .ncpus = 1, .vmem_bytes = 1, .jobfs_bytes = 1 };
	struct admit_capacity free;
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	admit_free(&node, &free);
	assert_int_equal(free.ncpus, 0);
	assert_int_equal(free.mem_bytes, 0);
	assert_int_equal(free.jobfs_bytes, 0);
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
}

static void memory_needed_is_the_larger_of_vmem_and_mem(void **unused)
{
	(void)unused;
	assert_int_equal(admit_need_bytes(&(struct resources){ .vmem_bytes = 5 }), 5);
	assert_int_equal(admit_need_bytes(&(struct resources){ .mem_bytes = 3 }), 3);
	assert_int_equal(
		admit_need_bytes(&(struct resources){ .mem_bytes = 7, .vmem_bytes = 5 }), 7);
}

static void mem_is_derived_from_vmem_by_the_rule_unless_stated(void **unused)
{
	struct admit_mem_rule rule = { 110, 100, 50 };

	(void)unused;
	assert_int_equal(admit_mem_bytes(&(struct resources){ .vmem_bytes = 1000 }, &rule),
			 1200);
	assert_int_equal(
		admit_mem_bytes(&(struct resources){ .vmem_bytes = 1000, .mem_bytes = 10 },
				&rule),
		10);
	assert_int_equal(admit_mem_bytes(&(struct resources){ 0 }, &rule), 0);
	rule = (struct admit_mem_rule){ 50, 0, 600 };
	assert_int_equal(admit_mem_bytes(&(struct resources){ .vmem_bytes = 1000 }, &rule),
			 600);
	rule = ADMIT_MEM_RULE_DEFAULT;
	assert_int_equal(admit_mem_bytes(&(struct resources){ .vmem_bytes = INT64_MAX }, &rule),
			 INT64_MAX);
	/* All of vmem touched, and its page tables: still inside. */
	assert_true(admit_mem_bytes(&(struct resources){ .vmem_bytes = 64 * GIB }, &rule) >
		    64 * GIB + 64 * GIB / 512);
}

static void every_resource_is_held_by_running_and_suspended_jobs(void **unused)
{
	struct admit_allocation holds[2] = { make_allocation(3, GIB, 10 * GIB),
					     make_allocation(2, GIB, 20 * GIB) };
	struct admit_node node = { small, holds, 2 };
	struct admit_capacity free;

	(void)unused;
	node.capacity.ngpus = 4; /* no models are known */
	holds[0].res.ngpus = 1;
	holds[1].res.ngpus = 2;
	holds[0].res.pids = 100;
	holds[1].res.pids = 300;
	holds[1].phase = ADMIT_SUSPENDED;
	admit_free(&node, &free);
	assert_int_equal(free.ncpus, 5);
	assert_int_equal(free.mem_bytes, 6 * GIB);
	assert_int_equal(free.jobfs_bytes, 70 * GIB);
	assert_int_equal(free.ngpus, 1);
	assert_int_equal(free.pids, 600);
}

static void one_is_a_core_and_two_are_cores(void **unused)
{
	struct admit_allocation holds[] = { make_allocation(8, 0, 0) };
	struct admit_node node = { small, holds, 1 };
	struct resources want = { .ncpus = 1, .vmem_bytes = 9 * GIB };
	char text[ADMIT_TEXT_MAX];

	(void)unused;
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
	assert_string_equal(text, "needs 9.00 GiB vmem; this node has 8.00 GiB");
	want.vmem_bytes = 8 * GIB;
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text, "needs 1 core; 0 of 8 are free");
	holds[0].res.ncpus = 7;
	want.ncpus = 2;
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NOT_NOW);
	assert_string_equal(text, "needs 2 cores; 1 of 8 is free");
	/* Equal amounts of both memories: the message names vmem. */
	want = (struct resources){ .vmem_bytes = 9 * GIB, .mem_bytes = 9 * GIB };
	assert_int_equal(admit_check(&node, &want, text), ADMIT_NEVER);
	assert_string_equal(text, "needs 9.00 GiB vmem; this node has 8.00 GiB");
}

static void the_rule_of_mem_holds_at_its_edges(void **unused)
{
	struct admit_mem_rule rule = { 100, 1, 50 };

	(void)unused;
	assert_int_equal(admit_mem_bytes(&(struct resources){ .vmem_bytes = 48 }, &rule), 50);
	assert_int_equal(admit_mem_bytes(&(struct resources){ .vmem_bytes = 50 }, &rule), 51);
	assert_int_equal(admit_mem_bytes(&(struct resources){ .vmem_bytes = -1 }, &rule), 0);
	assert_int_equal(admit_mem_bytes(&(struct resources){ .vmem_bytes = 1 }, &rule), 50);
	assert_int_equal(
		admit_mem_bytes(&(struct resources){ .vmem_bytes = INT64_MAX - 1 }, &rule),
		INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_names_the_resource_and_the_missing_number),
		cmocka_unit_test(gpus_are_counted_by_model),
		cmocka_unit_test(never_and_not_now_are_different_answers),
		cmocka_unit_test(admitted_exactly_when_the_sums_fit),
		cmocka_unit_test(a_suspended_job_frees_its_cores_only),
		cmocka_unit_test(more_in_use_than_capacity_leaves_nothing_free_and_never_wraps),
		cmocka_unit_test(memory_needed_is_the_larger_of_vmem_and_mem),
		cmocka_unit_test(mem_is_derived_from_vmem_by_the_rule_unless_stated),
		cmocka_unit_test(every_resource_is_held_by_running_and_suspended_jobs),
		cmocka_unit_test(one_is_a_core_and_two_are_cores),
		cmocka_unit_test(the_rule_of_mem_holds_at_its_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
