/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's document gpu/drm-usage-stats.rst says of fdinfo, key by key. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/gpu/drm/fdinfo.h"

static struct fdinfo f;

static int parse_text(const char *text)
{
	return fdinfo_parse(text, strlen(text), &f);
}

static void fdinfo_of_amd_has_nanoseconds_and_vram(void **unused)
{
	(void)unused;
	assert_int_equal(
		parse_text("pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1172\n"
			   "drm-driver:\tamdgpu\ndrm-client-id:\t54\n"
			   "drm-pdev:\t0000:c4:00.0\npasid:\t32774\n"
			   "drm-total-cpu:\t0\ndrm-total-gtt:\t2 MiB\n"
			   "drm-shared-vram:\t0\ndrm-total-vram:\t300 MiB\n"
			   "drm-memory-vram:\t262144 KiB\n"
			   "drm-resident-vram:\t131072 KiB\n"
			   "amd-memory-visible-vram:\t1 KiB\n"
			   "drm-engine-gfx:\t10291433 ns\ndrm-engine-compute:\t7 ns\n"),
		0);
	assert_string_equal(f.driver, "amdgpu");
	assert_string_equal(f.pdev, "0000:c4:00.0");
	assert_true(f.has_client);
	assert_int_equal(f.client, 54);
	assert_true(f.has_mem);
	assert_int_equal(f.mem_bytes, 128 << 20);
	assert_int_equal(f.n_engines, 2);
	assert_string_equal(f.engines[0].name, "gfx");
	assert_int_equal(f.engines[0].ns, 10291433);
}

static void fdinfo_of_intel_has_cycles_or_nanoseconds_and_regions(void **unused)
{
	(void)unused;
	assert_int_equal(parse_text("drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\n"
				    "drm-client-id:\t7\ndrm-engine-render:\t9288864723 ns\n"
				    "drm-engine-capacity-video:\t2\ndrm-engine-video:\t0 ns\n"
				    "drm-total-system0:\t9 MiB\ndrm-total-local0:\t64 MiB\n"
				    "drm-total-stolen-local0:\t5 MiB\n"),
			 0);
	assert_int_equal(f.mem_bytes, 64 << 20);
	assert_int_equal(f.n_engines, 2);
	assert_int_equal(
		parse_text("drm-driver:\txe\ndrm-client-id:\t8\n"
			   "drm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n"
			   "drm-engine-capacity-vcs:\t2\ndrm-total-vram0:\t1 MiB\n"
			   "drm-total-vram1:\t2 MiB\n"),
		0);
	assert_int_equal(f.n_engines, 1);
	assert_true(f.engines[0].has_cycles && f.engines[0].has_total);
	assert_int_equal(f.engines[0].total_cycles, 7655183225);
	assert_int_equal(f.mem_bytes, 3 << 20);
	assert_false(f.engines[0].has_ns);
}

static void other_files_are_not_of_drm(void **unused)
{
	(void)unused;
	assert_int_equal(parse_text(""), -ENOENT);
	assert_int_equal(parse_text("pos:\t0\nflags:\t0\n"), -ENOENT);
	assert_int_equal(parse_text("drm-client-id:\t1\n"), -ENOENT);
	assert_int_equal(parse_text("drm-driver:\tx"), 0);
	assert_false(f.has_mem || f.has_client || f.n_engines);
}

static void fdinfo_with_one_undocumented_value_is_refused_whole(void **unused)
{
	static const char *const bad[] = {
		"drm-client-id:\t-1\n",
		"drm-client-id:\t1x\n",
		"drm-client-id:\t\n",
		"drm-client-id:\t1\ndrm-client-id:\t2\n",
		"drm-engine-gfx:\t12\n",
		"drm-engine-gfx:\t12 us\n",
		"drm-engine-gfx:\t18446744073709551616 ns\n",
		"drm-engine-:\t1 ns\n",
		"drm-engine-gfx:\t1 ns\ndrm-engine-gfx:\t2 ns\n",
		"drm-engine-capacity-gfx:\t0\n",
		"drm-engine-averyveryverylongnameofanengine:\t1 ns\n",
		"drm-memory-vram:\t1 GiB\n",
		"drm-memory-vram:\t18446744073709551615 KiB\n",
		"drm-memory-vram:\t 1 KiB KiB\n",
		"drm-memory-vram:\t9223372036854775807 KiB\n",
		"drm-cycles-rcs:\t1 ns\n",
		"drm-driver:\tagain\n",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[256] = "drm-driver:\txe\n";

		strcat(text, bad[i]);
		assert_int_equal(parse_text(text), -EINVAL);
	}
}

static void more_engines_than_there_are_are_refused(void **unused)
{
	char text[2048] = "drm-driver:\txe\n";

	(void)unused;
	for (int i = 0; i <= FDINFO_ENGINES_MAX; i++) {
		char line[64];

		snprintf(line, sizeof(line), "drm-engine-e%d:\t1 ns\n", i);
		assert_int_equal(parse_text(text), 0);
		strcat(text, line);
	}
	assert_int_equal(parse_text(text), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fdinfo_of_amd_has_nanoseconds_and_vram),
		cmocka_unit_test(fdinfo_of_intel_has_cycles_or_nanoseconds_and_regions),
		cmocka_unit_test(other_files_are_not_of_drm),
		cmocka_unit_test(fdinfo_with_one_undocumented_value_is_refused_whole),
		cmocka_unit_test(more_engines_than_there_are_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
