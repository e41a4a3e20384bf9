/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_gpu_files.c - the device files of a job's GPUs, from the list that slurmd writes (slurm/gpu_files.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "slurm/gpu_files.h"

/* As slurmd 22.05 writes it, with its sorting by types and a first line of a plugin. */
static const char mixed[] =
	"slurmd: gpu/nvml: _get_system_gpu_list_nvml: 2 GPU system device(s) detected\n"
	"slurmd: Gres Name=gpu Type=1g.5gb Count=1 Index=67 ID=7696487 "
	"File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap66,/dev/nvidia-caps/nvidia-cap67 (null)\n"
	"slurmd: Gres Name=gpu Type=1g.5gb Count=1 Index=76 ID=7696487 "
	"File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[75-76] Flags=HAS_FILE\n"
	"slurmd: Gres Name=mps Count=100 Index=0 ID=1 File=/dev/nvidia7 (null)\n"
	"slurmd: Gres Name=gpu Type=none Count=2 ID=7696487 File=(null) (null)\n"
	"slurmd: Gres Name=gpu Type=a100 Count=1 Index=1 ID=7696487 File=/dev/nvidia1 (null)\n"
	"slurmd: Gres Name=gpu Type=mi250 Count=4 Index=128 ID=7696487 "
	"File=/dev/dri/renderD[128-130,135] Cores=0-3 CoreCnt=4 (null)\n";

static void check_files(const char *list, const char *numbers, const char *want)
{
	char text[200];

	assert_int_equal(gpu_files_list(list, numbers, text, sizeof(text)), 0);
	assert_string_equal(text, want);
}

static void a_number_counts_in_the_order_of_slurmds_list(void **state)
{
	(void)state;
	check_files(mixed, "2", "nvidia1");
	check_files(mixed, "3,6", "renderD128,renderD135");
	check_files("Gres Name=gpu Type=x Count=1 File=/dev/nvidia1", "0", "nvidia1");
	check_files("Gres Name=gpu Type=x Count=2 File=/dev/nvidia[1,03] y", "0,1",
		    "nvidia1,nvidia03");
	check_files(mixed, "", "");
}

static void an_instance_has_the_name_of_its_capability(void **state)
{
	(void)state;
	check_files(mixed, "0,1", "nvidia-cap67,nvidia-cap76");
	check_files(
		"Gres Name=gpu Type=x Count=1 File=/dev/nvidia-caps/nvidia-cap3,/dev/nvidia0",
		"0", "nvidia-cap3");
}

static void what_the_list_lacks_is_named_by_its_number(void **state)
{
	(void)state;
	check_files(mixed, "7", "?7");
	check_files("", "0,1", "?0,?1");
	check_files(mixed, "x,2", "?x,nvidia1");
	check_files("Gres Name=gpu Type=x Count=1 File=", "0", "?0");
	check_files("Gres Name=gpu Type=x Count=1", "0", "?0");
	check_files("Gres Name=gpu Type=x Count=1 File=/dev/", "0",
		    "?0"); /* a folder is no file */
	check_files("Gres Name=gpu Type=x Count=2 File=/dev/nvidia0", "1", "?1");
	check_files("Gres Name=gpu Type=x Count=2 File=/dev/nvidia[9-1]", "1", "?1");
	check_files("Gres Name=gpu Type=x Count=2 File=/dev/nvidia[0-99999999999]", "1", "?1");
	check_files("Gres Name=gpu Type=x Count=2 File=/dev/nvidia[", "1", "?1");
	check_files("Gres Name=gpu Type=x Count=99999999999999999999 File=/dev/nvidia[0-1]",
		    "99999999999999999999", "?99999999999999999999");
}

static void what_does_not_fit_is_refused(void **state)
{
	char text[12];

	(void)state;
	assert_int_equal(gpu_files_list(mixed, "2", text, sizeof(text)), 0);
	assert_int_equal(gpu_files_list(mixed, "2,2", text, sizeof(text)), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_counts_in_the_order_of_slurmds_list),
		cmocka_unit_test(an_instance_has_the_name_of_its_capability),
		cmocka_unit_test(what_the_list_lacks_is_named_by_its_number),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
