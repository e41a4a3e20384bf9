/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_price - what a request costs, GPUs by model: every published example, as users type it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/config/profile.h"
#include "controller/pricing/price.h"

#define GPU_SITE                                                                               \
	"[Cluster main]\nBundleCores = 1\nBundleMemory = 4GB\nGpuBundleGpus = 1\n"             \
	"GpuBundleCores = 6\nGpuBundleMemory = 32GB\n"
#define LISTEN "[Controller]\nListen = 127.0.0.1:1\nDatabase = /x\n[Account a]\nUsers = b\n"

static struct config *config_of(const char *text)
{
	struct config *c = NULL;
	struct err err = { "" };

	if (config_parse(text, strlen(text), &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static struct config *read_profile(const char *name)
{
	struct config *c = NULL;
	struct err err = { "" };
	char path[128];

	snprintf(path, sizeof(path), "units/profiles/%s.conf", name);
	if (config_load(path, &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static int price_request(const struct config *c, const char *resources,
			 struct tariff_price *ret, struct err *err)
{
	struct price_query q = { .nodes = 0 };

	assert_int_equal(resources_parse_in(resources,
					    config_memory_unit(c, config_cluster(c, "")),
					    &q.res, err),
			 0);
	return price_find(c, &q, ret, err);
}

static void expect_cost(const struct config *c, const char *resources, int64_t num, int64_t den)
{
	struct tariff_price p;
	struct err err = { "" };

	if (price_request(c, resources, &p, &err) < 0)
		fail_msg("%s: %s", resources, err.text);
	if (p.rate.num != num || p.rate.den != den)
		fail_msg("%s: %lld/%lld", resources, (long long)p.rate.num,
			 (long long)p.rate.den);
	assert_int_equal(p.pool, CHARGE_POOL_GPU);
}

static void expect_refusal(const struct config *c, const char *resources, const char *words)
{
	struct tariff_price p;
	struct err err = { "" };

	assert_int_equal(price_request(c, resources, &p, &err), -EINVAL);
	if (!strstr(err.text, words))
		fail_msg("'%s' lacks '%s'", err.text, words);
}

/* The table of the published page: a bundle of 1 GPU, 6 cores and 32 GB. */
static void the_published_examples_by_model(void **state)
{
	_cleanup_(config_freep) struct config *c = read_profile("alliance-cedar");

	(void)state;
	expect_cost(c, "ngpus=p100-12:2,ncpus=6,mem=32000MB", 2, 1);
	expect_cost(c, "ngpus=P100-12:1,ncpus=9,mem=32000MB", 3, 2);
	expect_cost(c, "ngpus=p100-12:1,ncpus=6,mem=48000MB", 3, 2);
	expect_cost(c, "ngpus=p100-16:1,ncpus=6,mem=48000MB", 1, 1);
	expect_cost(c, "ngpus=v100:1,ncpus=12,mem=48000MB", 3, 2); /* the only size there is */
	expect_refusal(c, "ngpus=h100:1,ncpus=1",
		       "unknown GPU model 'h100': this site has weights for "
		       "p100-12, p100-16, v100-32");
	expect_refusal(c, "ngpus=1,ncpus=1", "say which");
}

static void a_model_of_several_sizes_needs_the_size(void **state)
{
	_cleanup_(config_freep) struct config *c = config_of(
		LISTEN GPU_SITE "[GpuModel p100-12]\n[GpuModel p100-16]\nWeight = 2\n");

	(void)state;
	expect_refusal(c, "ngpus=p100:1,ncpus=1", "write one, e.g. ngpus=");
}

/* gres/gpu:p100l of Cedar is what its page calls P100/16GB. */
static void gpus_are_known_by_the_names_of_the_clusters_slurm(void **state)
{
	static const struct {
		const char *profile, *resources;
		int64_t num, den;
	} all[] = {
		{ "alliance-beluga", "ngpus=v100:1,ncpus=15,mem=47000MB", 3, 2 },
		{ "alliance-cedar", "ngpus=p100:1,ncpus=6,mem=64000MB", 2, 1 },
		{ "alliance-cedar", "ngpus=p100l:1,ncpus=6,mem=64000MB", 1, 1 },
		{ "alliance-cedar", "ngpus=V100L:2,ncpus=24,mem=48000MB", 3, 1 },
		{ "alliance-graham", "ngpus=p100:1,ncpus=16,mem=64000MB", 1, 1 },
		{ "alliance-graham", "ngpus=v100:1,ncpus=7,mem=22500MB", 2, 1 },
		{ "alliance-graham", "ngpus=v100l:1,ncpus=7,mem=22500MB", 7, 5 },
		{ "alliance-graham", "ngpus=t4:1,ncpus=22,nodetype=t4-16-11", 2, 1 },
		{ "alliance-narval", "ngpus=a100:1,ncpus=18,mem=127000MB", 3, 2 },
	};
	_cleanup_(config_freep) struct config *graham = read_profile("alliance-graham");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		_cleanup_(config_freep) struct config *c = read_profile(all[i].profile);

		expect_cost(c, all[i].resources, all[i].num, all[i].den);
	}
	expect_refusal(graham, "ngpus=t4:1,ncpus=1", "say which: t4-16-4, t4-16-11");
}

#define TYPE(name, model, cores, gres)                                                         \
	"[NodeType main/" name "]\nGpuModel = " model                                          \
	"\nGpuBundleGpus = 1\nGpuBundleCores = " cores "\nGresName = " gres "\n"

static void a_name_of_slurm_finds_its_node_type_or_names_the_models(void **state)
{
	_cleanup_(config_freep) struct config *c = config_of(
		LISTEN "[Cluster main]\nBundleCores = 1\n" TYPE("small", "t4-16", "4", "t4")
			TYPE("large", "t4-16", "11", "t4x, t4y") TYPE("a", "v-16", "1", "v")
				TYPE("b", "v-32", "2",
				     "v") "[GpuModel t4-16]\n[GpuModel v-16]\n"
					  "[GpuModel v-32]\n");

	(void)state;
	expect_cost(c, "ngpus=t4:1,ncpus=8", 2, 1);
	expect_cost(c, "ngpus=t4y:1,ncpus=22", 2, 1);
	expect_refusal(
		c, "ngpus=v:1,ncpus=1",
		"'v' stands for several models of cluster 'main': write one: v-16, v-32");
}

/* 1/4/49000 and 1/11/49000: two types of nodes with the same model. */
static void a_type_that_is_asked_for_is_priced(void **state)
{
	_cleanup_(config_freep) struct config *c = read_profile("alliance-graham");

	(void)state;
	expect_refusal(c, "ngpus=t4-16:1,ncpus=11",
		       "say which: t4-16-4, t4-16-11 (-l nodetype=");
	expect_cost(c, "ngpus=t4-16:1,ncpus=11,nodetype=t4-16-11", 1, 1);
	expect_cost(c, "ngpus=t4-16:1,ncpus=11,nodetype=T4-16-4", 11, 4);
	expect_refusal(c, "ngpus=t4-16:1,ncpus=11,nodetype=t4",
		       "has no node type 't4'; it has: ");
}

static void a_type_with_other_gpus_is_refused(void **state)
{
	_cleanup_(config_freep) struct config *c = read_profile("alliance-cedar");

	(void)state;
	expect_refusal(c, "ngpus=v100-32:1,ncpus=1,nodetype=p100-12",
		       "nodes of type 'p100-12' have GPUs of model p100-12, not v100-32");
	expect_cost(c, "ngpus=v100-32:1,ncpus=1,nodetype=v100-32", 1, 1);
}

static void the_bundles_of_the_real_clusters(void **state)
{
	static const struct {
		const char *profile, *resources;
		int64_t num, den;
	} all[] = {
		{ "alliance-beluga", "ngpus=v100-16:1,ncpus=10,mem=47000MB", 1, 1 },
		{ "alliance-beluga", "ngpus=v100-16:1,ncpus=15,mem=47000MB", 3, 2 },
		{ "alliance-cedar", "ngpus=v100-32:1,ncpus=8,mem=48000MB", 1, 1 },
		{ "alliance-graham", "ngpus=p100-12:1,ncpus=24,mem=64000MB", 3, 2 },
		{ "alliance-graham", "ngpus=v100-16:1,ncpus=7,mem=22500MB", 2, 1 },
		{ "alliance-graham", "ngpus=v100-32:2,ncpus=10,mem=96000MB", 2, 1 },
		{ "alliance-narval", "ngpus=a100-40:1,ncpus=12,mem=127000MB", 1, 1 },
		{ "alliance-narval", "ngpus=a100:1,ncpus=18,mem=127000MB", 3, 2 },
		{ "alliance-narval", "ngpus=2,ncpus=12,mem=127000MB", 2, 1 },
		{ "alliance-narval", "ngpus=a100_1g.5gb:1,ncpus=1,mem=18000MB", 1, 7 },
		{ "alliance-narval", "ngpus=a100_3g.20gb:1,ncpus=1,mem=18000MB", 3, 7 },
		{ "alliance-narval", "ngpus=a100_4g.20gb:1,ncpus=12,mem=18000MB", 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		_cleanup_(config_freep) struct config *c = read_profile(all[i].profile);

		expect_cost(c, all[i].resources, all[i].num, all[i].den);
	}
}

/* Two types of nodes have it: only --node-type distinguishes them. */
static void a_model_of_two_node_types_needs_the_type(void **state)
{
	_cleanup_(config_freep) struct config *c = read_profile("alliance-graham");
	struct price_query q = { .pick = { .node_type = "t4-16-11" } };
	struct tariff_price p;

	(void)state;
	expect_refusal(c, "ngpus=t4-16:1,ncpus=4", "t4-16-4, t4-16-11");
	assert_int_equal(resources_parse("ngpus=t4-16:1,ncpus=22,mem=49000MiB", &q.res, NULL),
			 0);
	assert_int_equal(price_find(c, &q, &p, NULL), 0);
	assert_int_equal(p.rate.num, 2);
	q.pick.node_type = "t4-16-4";
	assert_int_equal(price_find(c, &q, &p, NULL), 0);
	assert_int_equal(p.rate.num, 11);
	assert_int_equal(p.rate.den, 2);
}

static void a_mig_instance_is_charged_its_share(void **state)
{
	_cleanup_(config_freep) struct config *c =
		config_of(LISTEN GPU_SITE "[GpuModel a100-40]\nWeight = 1\n"
					  "[GpuModel a100_1g.5gb]\nWeight = 1/7\n");

	(void)state;
	expect_cost(c, "ngpus=a100_1g.5gb:1,ncpus=1,mem=1GB", 1, 6); /* its core is more */
	expect_cost(c, "ngpus=a100_1g.5gb:2,ncpus=1,mem=1GB", 2, 7);
	expect_cost(c, "ngpus=a100_1g.5gb:7,ncpus=1,mem=1GB", 1, 1);
	expect_cost(c, "ngpus=a100-40:1,ncpus=1,mem=1GB", 1, 1);
	expect_cost(c, "ngpus=a100:1,ncpus=1,mem=1GB", 1, 1); /* never a part */
	expect_cost(c, "ngpus=1,ncpus=1,mem=1GB", 1, 1);
}

static void any_gpu_costs_what_all_cost_or_must_be_named(void **state)
{
	_cleanup_(config_freep) struct config *same =
		config_of(LISTEN GPU_SITE "[GpuModel a100-40]\nWeight = 3\n"
					  "[GpuModel h100-80]\nWeight = 3\n");
	_cleanup_(config_freep) struct config *differ =
		config_of(LISTEN GPU_SITE "[GpuModel a100-40]\nWeight = 1\n"
					  "[GpuModel h100-80]\nWeight = 2.5\n");
	_cleanup_(config_freep) struct config *none = config_of(LISTEN GPU_SITE);

	(void)state;
	expect_cost(same, "ngpus=2,ncpus=1,mem=1GB", 6, 1);
	expect_refusal(
		differ, "ngpus=1,ncpus=1,mem=1GB",
		"depends on its model; say which, e.g. ngpus=a100-40:1; there are: a100-40, "
		"h100-80");
	expect_cost(differ, "ngpus=h100:1,ncpus=1,mem=1GB", 5, 2);
	expect_cost(none, "ngpus=2,ncpus=1,mem=1GB", 2, 1);
	expect_cost(none, "ngpus=a100:2,ncpus=1,mem=1GB", 2, 1);
}

static void defaults_of_gpus_keep_their_model(void **state)
{
	struct config_cluster cl = { .defaults = { .ngpus = 1, .gpu_model = "a100-40" } };
	struct resources res = { .ncpus = 1 };

	(void)state;
	price_fill(&cl, &res);
	assert_int_equal(res.ngpus, 1);
	assert_string_equal(res.gpu_model, "a100-40");
	res = (struct resources){ .ngpus = 1 };
	price_fill(&cl, &res);
	assert_string_equal(res.gpu_model, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_examples_by_model),
		cmocka_unit_test(a_model_of_several_sizes_needs_the_size),
		cmocka_unit_test(gpus_are_known_by_the_names_of_the_clusters_slurm),
		cmocka_unit_test(a_name_of_slurm_finds_its_node_type_or_names_the_models),
		cmocka_unit_test(a_type_that_is_asked_for_is_priced),
		cmocka_unit_test(a_type_with_other_gpus_is_refused),
		cmocka_unit_test(the_bundles_of_the_real_clusters),
		cmocka_unit_test(a_model_of_two_node_types_needs_the_type),
		cmocka_unit_test(a_mig_instance_is_charged_its_share),
		cmocka_unit_test(any_gpu_costs_what_all_cost_or_must_be_named),
		cmocka_unit_test(defaults_of_gpus_keep_their_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
