/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPU runtimes' variables name exactly the job's GPUs; without GPUs, none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/job/gpus/env.h"

static const struct gpu_device n0 = { .uuid = "GPU-aa", .vendor = GPU_NVIDIA, .index = 0 };
static const struct gpu_device n1 = { .uuid = "GPU-bb", .vendor = GPU_NVIDIA, .index = 1 };
static const struct gpu_device mig = { .uuid = "MIG-cc", .vendor = GPU_NVIDIA, .parent = 0 };
static const struct gpu_device amd = { .uuid = "GPU-0123456789abcdef",
				       .vendor = GPU_AMD,
				       .index = 4 };
static const struct gpu_device old = { .uuid = "0000:3b:00.0", .vendor = GPU_AMD, .index = 5 };
static const struct gpu_device i0 = { .uuid = "0000:5e:00.0", .vendor = GPU_INTEL, .index = 2 };
static const struct gpu_device i1 = { .uuid = "0000:5f:00.0", .vendor = GPU_INTEL, .index = 3 };
static const struct gpu_device *const all[] = { &n0, &n1, &mig, &amd, &old, &i0, &i1 };

static const char *find_value(char **env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, n) && ((*env)[n] == '=' || !(*env)[n]))
			return (*env)[n] ? *env + n + 1 : NULL;
	fail_msg("%s is not told", name);
	return NULL;
}

static char **env_of(uint64_t granted, bool is_held)
{
	struct gpus_env e = { all, 7, granted, is_held };
	char **env = gpus_env(&e);

	assert_non_null(env);
	return env;
}

static void each_vendors_library_has_its_own_variables(void **unused)
{
	char **env = env_of(0x7f, true);

	(void)unused;
	assert_string_equal(find_value(env, "CUDA_VISIBLE_DEVICES"), "GPU-aa,GPU-bb,MIG-cc");
	assert_string_equal(find_value(env, "NVIDIA_VISIBLE_DEVICES"), "GPU-aa,GPU-bb,MIG-cc");
	assert_string_equal(find_value(env, "ROCR_VISIBLE_DEVICES"), "GPU-0123456789abcdef,1");
	assert_string_equal(find_value(env, "ZE_AFFINITY_MASK"), "0,1");
	free(env);
}

static void a_job_without_gpus_sees_no_gpu(void **unused)
{
	char **env = env_of(0, true);

	(void)unused;
	assert_string_equal(find_value(env, "CUDA_VISIBLE_DEVICES"), "");
	assert_string_equal(find_value(env, "NVIDIA_VISIBLE_DEVICES"), "none");
	assert_string_equal(find_value(env, "ROCR_VISIBLE_DEVICES"), "");
	assert_null(find_value(env, "ZE_AFFINITY_MASK"));
	free(env);
}

static void every_grant_names_its_devices_and_no_others(void **unused)
{
	(void)unused;
	for (uint64_t granted = 0; granted < 128; granted++) {
		char **env = env_of(granted, true);
		const char *cuda = find_value(env, "CUDA_VISIBLE_DEVICES");

		for (int i = 0; i < 3; i++)
			assert_int_equal(strstr(cuda, all[i]->uuid) != NULL, granted >> i & 1);
		free(env);
	}
}

static void gpu_numbers_are_the_nodes_where_devices_are_not_gated(void **unused)
{
	char **held = env_of(1 << 6, true), **unheld = env_of(1 << 6, false);

	(void)unused;
	assert_string_equal(find_value(held, "ZE_AFFINITY_MASK"), "0");
	assert_string_equal(find_value(unheld, "ZE_AFFINITY_MASK"), "3");
	free(held);
	free(unheld);
}

static void the_longest_grant_fits(void **unused)
{
	static struct gpu_device many[GPU_DEVICES_MAX];
	const struct gpu_device *list[GPU_DEVICES_MAX];
	struct gpus_env e = { list, GPU_DEVICES_MAX, UINT64_MAX, true };
	char **env;

	(void)unused;
	for (int i = 0; i < GPU_DEVICES_MAX; i++) {
		memset(many[i].uuid, 'x', GPU_UUID_MAX - 1);
		memcpy(many[i].uuid, "GPU-", 4);
		list[i] = &many[i];
	}
	env = gpus_env(&e);
	assert_int_equal(strlen(find_value(env, "CUDA_VISIBLE_DEVICES")),
			 GPU_DEVICES_MAX * GPU_UUID_MAX - 1);
	free(env);
}

static void a_variable_that_the_user_set_otherwise_is_named(void **unused)
{
	char **env = env_of(1, true);
	char *same[] = { (char *)"A=1", (char *)"CUDA_VISIBLE_DEVICES=GPU-aa", NULL };
	char *other[] = { (char *)"CUDA_VISIBLE_DEVICES=0", NULL };
	char *mask[] = { (char *)"ZE_AFFINITY_MASK=1", NULL };
	char *alike[] = { (char *)"CUDA_VISIBLE_DEVICES_X=0", NULL };

	(void)unused;
	assert_null(gpus_env_differs(env, same));
	assert_null(gpus_env_differs(env, alike));
	assert_null(gpus_env_differs(NULL, other));
	assert_string_equal(gpus_env_differs(env, other), "CUDA_VISIBLE_DEVICES=GPU-aa");
	assert_string_equal(gpus_env_differs(env, mask), "ZE_AFFINITY_MASK");
	assert_true(gpus_env_has(env, other[0]));
	assert_false(gpus_env_has(env, alike[0]));
	free(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_vendors_library_has_its_own_variables),
		cmocka_unit_test(a_job_without_gpus_sees_no_gpu),
		cmocka_unit_test(every_grant_names_its_devices_and_no_others),
		cmocka_unit_test(gpu_numbers_are_the_nodes_where_devices_are_not_gated),
		cmocka_unit_test(the_longest_grant_fits),
		cmocka_unit_test(a_variable_that_the_user_set_otherwise_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
