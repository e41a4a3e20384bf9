/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_tres - amounts in Slurm's lists of trackable resources, by name and by slurmdbd's numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "slurm/follow/read/tres.h"

static void amounts_by_name_are_read_with_their_units(void **state)
{
	struct slurm_batch_job j = { 0 };

	(void)state;
	tres_read("cpu=12,mem=1.50G,node=3,billing=12,gres/gpu=4,gres/gpu:a100=4", NULL, &j);
	assert_int_equal(j.ncpus, 12);
	assert_int_equal(j.mem_bytes, INT64_C(3) << 29);
	assert_int_equal(j.n_nodes, 3);
	assert_int_equal(j.ngpus, 4);
	assert_string_equal(j.gpu_model, "a100");
}

static void amounts_by_number_are_read_with_slurmdbds_names(void **state)
{
	static struct tres_name of[] = {
		{ 1, "cpu" }, { 2, "mem" }, { 4, "node" }, { 1001, "gres/gpu" }
	};
	const struct tres_names names = { of, 4 };
	struct slurm_batch_job j = { 0 };

	(void)state;
	tres_read("1=2,2=400,4=1,5=2,1001=3", &names, &j);
	assert_int_equal(j.ncpus, 2);
	assert_int_equal(j.mem_bytes, INT64_C(400) << 20);
	assert_int_equal(j.n_nodes, 1);
	assert_int_equal(j.ngpus, 3);
	assert_string_equal(j.gpu_model, "");
}

static void gpus_of_two_models_have_no_model(void **state)
{
	struct slurm_batch_job j = { 0 };

	(void)state;
	tres_read("gres/gpu:a100=1,gres/gpu:v100=2", NULL, &j);
	assert_int_equal(j.ngpus, 3);
	assert_string_equal(j.gpu_model, "");
}

static void an_item_that_cannot_be_read_is_skipped(void **state)
{
	static const char *const lists[] = { "",       "cpu", "cpu=",	    "cpu=x",
					     "=5",     ",,",  "cpu=-3",	    "cpu=nan",
					     "mem=5Q", "9=9", "gres/gpu:=", NULL };
	struct slurm_batch_job j = { .ncpus = 1 };

	(void)state;
	for (size_t i = 0; lists[i]; i++)
		tres_read(lists[i], NULL, &j);
	tres_read(NULL, NULL, &j);
	assert_int_equal(j.ncpus, 1);
	assert_int_equal(j.mem_bytes, 0);
	tres_read("cpu=99999999999999999999,mem=1e300", NULL, &j);
	assert_int_equal(j.ncpus, INT64_C(1) << 32);
	assert_true(j.mem_bytes > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_by_name_are_read_with_their_units),
		cmocka_unit_test(amounts_by_number_are_read_with_slurmdbds_names),
		cmocka_unit_test(gpus_of_two_models_have_no_model),
		cmocka_unit_test(an_item_that_cannot_be_read_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
