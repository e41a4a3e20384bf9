/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_model - models that people type, from the product names of drivers: docs/gpu.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/gpu/gpu.h"

static const struct {
	const char *product;
	int mib; /* as the driver says it */
	const char *model;
} products[] = {
	{ "NVIDIA A100-SXM4-40GB", 40960, "a100-40" },
	{ "A100-SXM4-40GB", 40536, "a100-40" },
	{ "NVIDIA A100 80GB PCIe", 81920, "a100-80" },
	{ "NVIDIA A100-PCIE-40GB", 40960, "a100-40" },
	{ "NVIDIA H100 80GB HBM3", 81559, "h100-80" },
	{ "NVIDIA H100 PCIe", 81559, "h100-80" },
	{ "NVIDIA H100 NVL", 95830, "h100-94" },
	{ "NVIDIA H200", 143771, "h200-141" },
	{ "NVIDIA GH200 480GB", 97871, "gh200-96" },
	{ "NVIDIA B200", 183359, "b200-180" },
	{ "NVIDIA GB200", 189471, "gb200-186" },
	{ "Tesla V100-SXM2-16GB", 16160, "v100-16" },
	{ "Tesla V100-PCIE-32GB", 32510, "v100-32" },
	{ "Tesla P100-PCIE-12GB", 12198, "p100-12" },
	{ "Tesla P100-SXM2-16GB", 16280, "p100-16" },
	{ "Tesla K80", 11441, "k80-12" },
	{ "Tesla T4", 15360, "t4-16" },
	{ "Tesla T4", 15109, "t4-16" },
	{ "NVIDIA A2", 15356, "a2-16" },
	{ "NVIDIA A10", 23028, "a10-24" },
	{ "NVIDIA A30", 24258, "a30-24" },
	{ "NVIDIA A40", 46068, "a40-48" },
	{ "NVIDIA L4", 23034, "l4-24" },
	{ "NVIDIA L40S", 46068, "l40s-48" },
	{ "NVIDIA RTX A6000", 49140, "a6000-48" },
	{ "NVIDIA RTX 6000 Ada Generation", 49140, "rtx6000ada-48" },
	{ "Quadro RTX 6000", 24220, "rtx6000-24" },
	{ "NVIDIA GeForce RTX 3090", 24576, "rtx3090-24" },
	{ "NVIDIA GeForce RTX 2080 Ti", 11019, "rtx2080ti-11" },
	{ "GeForce GTX 1080 Ti", 11178, "gtx1080ti-11" },
	{ "NVIDIA TITAN V", 12066, "titanv-12" },
	{ "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "rtxpro6000blackwell-96" },
	{ "NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4864, "a100_1g.5gb" },
	{ "NVIDIA A100-SXM4-80GB MIG 3g.40gb", 40192, "a100_3g.40gb" },
	{ "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", 19968, "a100_1c.3g.20gb" },
	{ "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", 9984, "h100_1g.10gb+me" },
	{ "Simulated NVIDIA A100-SXM4-40GB", 40960, "a100-40" },
	{ "AMD Instinct MI250X", 65520, "mi250x-64" },
	{ "AMD Instinct MI300X", 196592, "mi300x-192" },
	{ "Intel(R) Data Center GPU Max 1550", 131072, "max1550-128" },
	{ "GRID A100-10C", 10240, "a100.10c-10" },
	{ "AMD GPU 740f", 65520, "gpu740f-64" },
	{ "", 16160, "gpu-16" },
	{ "NVIDIA", 0, "gpu" },
	{ "\xff\xfe ~!*", 1024, "gpu-1" },
};

static void products_have_models_that_people_would_type(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(products); i++) {
		char model[REQUEST_NAME_MAX];

		gpu_model_of(products[i].product, (int64_t)products[i].mib << 20, model);
		assert_string_equal(model, products[i].model);
	}
}

/* Whatever a driver says: a model can be typed, and named in a configuration. */
static void any_product_makes_a_name(void **unused)
{
	char product[96], model[REQUEST_NAME_MAX];
	unsigned seed = 7;

	(void)unused;
	for (int round = 0; round < 20000; round++) {
		size_t n = (size_t)(rand_r(&seed) % (int)sizeof(product));

		for (size_t i = 0; i < n; i++)
			product[i] =
				(char)(rand_r(&seed) % 4 ? "a1 -gG0.+_z9"[rand_r(&seed) % 12]
							 : rand_r(&seed) % 255 + 1);
		product[n] = '\0';
		gpu_model_of(product, (int64_t)rand_r(&seed) << (rand_r(&seed) % 12), model);
		assert_true(request_is_name(model));
		assert_true(!strchr(model, '_') && model[0] >= 'a' && model[0] <= 'z');
	}
	memset(product, 'a', sizeof(product) - 1);
	product[sizeof(product) - 1] = '\0';
	gpu_model_of(product, INT64_MAX, model);
	assert_true(request_is_name(model));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_have_models_that_people_would_type),
		cmocka_unit_test(any_product_makes_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
