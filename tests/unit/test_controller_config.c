/* test_controller_config - what controller.conf means, and what it must not accept. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/config/config.h"

static struct config *parse(const char *text)
{
	struct config *c = NULL;
	struct err err = { "" };

	if (config_parse(text, strlen(text), &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void nothing_stated_is_one_cluster_of_one_core_and_4_gb(void **state)
{
	_cleanup_(config_freep) struct config *c = parse("");
	const struct config_cluster *cl = config_cluster(c, "");
	char queue[REQUEST_NAME_MAX];

	(void)state;
	assert_string_equal(cl->name, "main");
	assert_int_equal(cl->bundle[CHARGE_POOL_CPU].side[CHARGE_CORES].num, 1);
	assert_int_equal(cl->bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY].num, 4000000000);
	assert_int_equal(cl->bundle[CHARGE_POOL_GPU].side[CHARGE_GPUS].num, 0);
	config_default_queue(cl, queue);
	assert_string_equal(queue, "normal");
	assert_true(config_is_operator(c, "root"));
	assert_int_equal(c->accept_nodes, CONFIG_ACCEPT_LISTED);
	assert_int_equal(c->node_lost_s, 120);
}

static void names_in_lists_are_whole_names(void **state)
{
	_cleanup_(config_freep) struct config *c =
		parse("[Controller]\nOperators = ann , bobby\n"
		      "[Account a]\nUsers=carol,dave\n"
		      "[Account b]\nUsers = dave\nClusters=x\n");
	char list[64];

	(void)state;
	assert_true(config_is_operator(c, "ann"));
	assert_true(config_is_operator(c, "bobby"));
	assert_false(config_is_operator(c, "bob"));
	assert_false(config_is_operator(c, "obby"));
	assert_false(config_is_operator(c, "ann "));
	assert_false(config_is_operator(c, ""));
	assert_false(config_is_operator(c, "root"));
	assert_int_equal(config_accounts_of(c, "dave", list, sizeof(list)), 2);
	assert_string_equal(list, "a, b");
	assert_int_equal(config_accounts_of(c, "car", list, sizeof(list)), 0);
	assert_true(config_allows_cluster(config_account(c, "a"), "anything"));
	assert_false(config_allows_cluster(config_account(c, "b"), "main"));
	assert_null(config_account(c, "c"));
}

static void bundles_are_exact(void **state)
{
	_cleanup_(config_freep) struct config *c = parse(
		"[Cluster niagara]\nBundleMemory=4.8GB\n"
		"[Cluster graham]\nGpuBundleGpus=1\nGpuBundleCores=3.5\n"
		"GpuBundleMemory=22500MB\nQueues = fast, slow\n[Node n1]\nCluster=graham\n");
	const struct config_cluster *g = config_cluster(c, "graham");

	(void)state;
	assert_int_equal(config_cluster(c, "")->bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY].num,
			 4800000000);
	assert_int_equal(g->bundle[CHARGE_POOL_GPU].side[CHARGE_CORES].num, 7);
	assert_int_equal(g->bundle[CHARGE_POOL_GPU].side[CHARGE_CORES].den, 2);
	assert_true(config_has_queue(g, "slow"));
	assert_false(config_has_queue(g, "normal"));
	assert_string_equal(config_node(c, "n1")->cluster, "graham");
}

static void what_cannot_be_meant_is_refused(void **state)
{
	static const char *const bad[] = {
		"[Controller]\nAcceptNodes=everybody\n",
		"[Controller]\nNodeLost=1\n",
		"[Controller]\nOperators=a,,b\n",
		"[Controller]\nOperators=a b\n",
		"[Controller]\nMaxConnections=0\n",
		"[Cluster c]\nBundleCores=0\n",
		"[Cluster c]\nBundleCores=1e3\n",
		"[Cluster c]\nBundleMemory=-4GB\n",
		"[Cluster c]\nMemFromVmem=101\n",
		"[Cluster c]\nQueues=\n",
		"[Cluster ../x]\n",
		"[Node n]\nCluster=nowhere\n",
		"[Account a]\nUsers=x;y\n",
		"[Cluster c]\nNoSuchKey=1\n",
		"[NoSuchSection]\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct config *c = NULL;
		struct err err = { "" };

		if (config_parse(bad[i], strlen(bad[i]), &c, &err) >= 0)
			fail_msg("accepted: %s", bad[i]);
		assert_true(*err.text);
		assert_null(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stated_is_one_cluster_of_one_core_and_4_gb),
		cmocka_unit_test(names_in_lists_are_whole_names),
		cmocka_unit_test(bundles_are_exact),
		cmocka_unit_test(what_cannot_be_meant_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
