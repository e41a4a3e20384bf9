/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_queue_parts - the parts of a job on its nodes: no chunk is lost, no node is there twice, and the first
 * part is where the first chunk is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "controller/dispatch/parts.h"

static struct fit_node nodes[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };

static int make_parts(const struct order_job *j, const int32_t *numbers, size_t n,
		      struct parts *ret)
{
	const struct parts_ask ask = { j, numbers, n, nodes, 3 };

	return parts_make(&ask, ret);
}

static void all_chunks_on_one_node_are_one_part(void **state)
{
	const struct order_job j = { .want = { .ncpus = 4, .vmem_bytes = 7, .ngpus = 1 } };
	struct parts p;

	(void)state;
	assert_int_equal(make_parts(&j, (int32_t[]){ 2 }, 1, &p), 0);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.of[0].node, "c");
	assert_ptr_equal(p.nodes[0], &nodes[2]);
	assert_int_equal(p.of[0].ncpus, 4);
	assert_int_equal(p.of[0].vmem_bytes, 7);
	parts_done(&p);
}

static void every_way_to_put_chunks_keeps_the_sums(void **state)
{
	struct select s = {
		.n = 2,
		.of = { { .n = 2, .ncpus = 3, .vmem_bytes = 100, .ngpus = 1 },
			{ .n = 2, .ncpus = 1, .vmem_bytes = 10, .jobfs_bytes = 5 } }
	};
	const struct order_job j = { .select = &s, .want = { .walltime_s = 60 } };

	(void)state;
	for (int way = 0; way < 81; way++) {
		const int32_t at[] = { way % 3, way / 3 % 3, way / 9 % 3, way / 27 };
		int64_t cores = 0, vmem = 0, jobfs = 0, gpus = 0;
		struct parts p;

		assert_int_equal(make_parts(&j, at, 4, &p), 0);
		assert_string_equal(p.of[0].node, nodes[at[0]].name);
		for (size_t i = 0; i < p.n; i++) {
			for (size_t k = 0; k < i; k++)
				assert_ptr_not_equal(p.nodes[i], p.nodes[k]);
			cores += p.of[i].ncpus;
			vmem += p.of[i].vmem_bytes;
			jobfs += p.of[i].jobfs_bytes;
			gpus += p.of[i].ngpus;
			assert_int_equal(p.want[i].ncpus, p.of[i].ncpus);
			assert_int_equal(p.want[i].walltime_s, 60);
		}
		assert_int_equal(cores, 8);
		assert_int_equal(vmem, 220);
		assert_int_equal(jobfs, 10);
		assert_int_equal(gpus, 2);
		parts_done(&p);
	}
}

static void gpus_of_a_model_are_allocated_as_that_model(void **state)
{
	struct select s = { .n = 2, .of = { { .n = 1, .ncpus = 1 }, { .n = 1, .ngpus = 2 } } };
	const struct order_job j = { .select = &s, .want = { .gpu_model = "a100-40" } };
	struct parts p;

	(void)state;
	assert_int_equal(make_parts(&j, (int32_t[]){ 1, 1 }, 2, &p), 0);
	assert_string_equal(p.want[0].gpu_model, "a100-40");
	parts_done(&p);
	assert_int_equal(make_parts(&j, (int32_t[]){ 0, 1 }, 2, &p), 0);
	assert_string_equal(p.want[0].gpu_model, ""); /* it has none */
	assert_string_equal(p.want[1].gpu_model, "a100-40");
	parts_done(&p);
}

static void memory_is_summed_where_all_state_it(void **state)
{
	struct select s = {
		.n = 2, .of = { { .n = 1, .ncpus = 1, .mem_bytes = 8 }, { .n = 2, .ncpus = 1 } }
	};
	const struct order_job j = { .select = &s };
	struct parts p;

	(void)state;
	assert_int_equal(make_parts(&j, (int32_t[]){ 0, 0, 1 }, 3, &p), 0);
	assert_int_equal(p.of[0].mem_bytes, 0);
	parts_done(&p);
	assert_int_equal(make_parts(&j, (int32_t[]){ 0, 1 }, 2, &p), -EINVAL); /* not as many */
	parts_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_chunks_on_one_node_are_one_part),
		cmocka_unit_test(every_way_to_put_chunks_keeps_the_sums),
		cmocka_unit_test(gpus_of_a_model_are_allocated_as_that_model),
		cmocka_unit_test(memory_is_summed_where_all_state_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
