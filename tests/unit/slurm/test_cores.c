/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_cores.c - the cores that a job has on each of its nodes, as Slurm lists them (slurm/cores.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "slurm/cores.h"

static void check_cores(const char *text, uint32_t index, struct cores want)
{
	struct cores c;

	assert_int_equal(cores_read(text, index, &c), 0);
	assert_int_equal(c.here, want.here);
	assert_int_equal(c.total, want.total);
	assert_int_equal(c.nodes, want.nodes);
}

static void each_node_has_its_own_number_of_cores(void **state)
{
	(void)state;
	check_cores("2", 0, (struct cores){ 2, 2, 1 });
	check_cores("16(x3),8", 0, (struct cores){ 16, 56, 4 });
	check_cores("16(x3),8", 2, (struct cores){ 16, 56, 4 });
	check_cores("16(x3),8", 3, (struct cores){ 8, 56, 4 });
	check_cores("1,2,3(x2)", 1, (struct cores){ 2, 9, 4 });
	check_cores("1048576", 0, (struct cores){ 1048576, 1048576, 1 });
}

static void what_is_no_such_list_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   "0",
					   "x",
					   "2,",
					   ",2",
					   "2(x",
					   "2(x)",
					   "2(x0)",
					   "2(x2",
					   "2(3)",
					   "-1",
					   "+1",
					   " 2",
					   "2 ",
					   "2;3",
					   "2(x2)3",
					   "1048577",
					   "1048576,1",
					   "2(x99999999999)",
					   "99999999999999999999" };
	struct cores c = { 7, 7, 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(cores_read(bad[i], 0, &c), -EINVAL);
		assert_int_equal(c.here, 7);
	}
	assert_int_equal(cores_read("2(x3)", 3, &c), -EINVAL); /* no node of that index */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_has_its_own_number_of_cores),
		cmocka_unit_test(what_is_no_such_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
