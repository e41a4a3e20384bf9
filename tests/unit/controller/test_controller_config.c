/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_controller_config - what controller.conf means, and what it must not accept. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/engine.h"
#include "common/token.h"
#include "controller/config/config.h"

static struct config *parse_config(const char *text)
{
	struct config *c = NULL;
	struct err err = { "" };

	if (config_parse(text, strlen(text), &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void an_empty_file_is_one_cluster_with_a_bundle_of_one_core_and_4_gb(void **state)
{
	_cleanup_(config_freep) struct config *c = parse_config("");
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
		parse_config("[Controller]\nOperators = ann , bobby\n"
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
	_cleanup_(config_freep) struct config *c = parse_config(
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

static void refuse_all(const char *const *bad, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct config *c = NULL;
		struct err err = { "" };

		if (config_parse(bad[i], strlen(bad[i]), &c, &err) >= 0)
			fail_msg("accepted: %s", bad[i]);
		assert_true(*err.text);
		assert_null(c);
	}
}

static void a_password_in_the_configuration_is_refused_and_not_repeated(void **state)
{
	static const char *const bad[] = {
		"[Controller]\nDatabase=postgresql://reeve:sesame@db/reeve\n",
		"[Controller]\nDatabase=postgres://reeve:sesame@db:5432/"
		"reeve?sslmode=require\n",
		"[Controller]\nDatabase=postgresql://db/reeve?user=reeve&password=sesame\n",
	};
	struct config *c = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = { "" };

		assert_int_equal(config_parse(bad[i], strlen(bad[i]), &c, &err), -EINVAL);
		assert_null(strstr(err.text, "sesame"));
		assert_non_null(strstr(err.text, "~/.pgpass"));
	}
	config_free(parse_config("[Controller]\nDatabase=postgresql://reeve@db:5432/reeve\n"));
	config_free(parse_config("[Controller]\nDatabase=postgresql://[::1]:5432/reeve\n"));
}

/* What MetricsToken= names: its mode, and its text. */
static void a_token_is_one_that_only_its_owner_and_group_know(void **state)
{
	static const struct {
		mode_t mode;
		const char *text;
		int r;
	} all[] = { { 0640, "0123456789abcdef\n", 0 },
		    { 0600, "0123456789abcdef", 0 },
		    { 0644, "0123456789abcdef\n", -EINVAL },
		    { 0620, "0123456789abcdef\n", -EINVAL },
		    { 0600, "0123456789abcde\n", -EINVAL },
		    { 0600, "", -EINVAL },
		    { 0600, "\n0123456789abcdef\n", -EINVAL },
		    { 0600, "0123456789 bcdefgh\n", -EINVAL } };
	char path[] = "/tmp/reeve-token-XXXXXX", token[TOKEN_MAX];
	int fd = mkstemp(path);
	struct err err;

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, all[i].text, strlen(all[i].text), 0),
				 strlen(all[i].text));
		assert_int_equal(fchmod(fd, all[i].mode), 0);
		assert_int_equal(token_read(path, token, &err), all[i].r);
	}
	assert_string_equal(token, "0123456789abcdef");
	close(fd);
	unlink(path);
	assert_int_equal(token_read(path, token, &err), -ENOENT);
}

/* Values of Certificate=, CertificateKey= and ClientCertificates=; NULL: the key is not there. */
struct tls_keys {
	const char *certificate, *key, *clients;
};

/* r is the result, and the error has the word. */
static void expect_tls(struct tls_keys k, int r, const char *word)
{
	_cleanup_(config_freep) struct config *c = NULL;
	char typed[512];
	struct err err = { "" };

	snprintf(typed, sizeof(typed), "[Controller]\n%s%s%s%s%s%s",
		 k.certificate ? "Certificate = " : "", k.certificate ? k.certificate : "",
		 k.key ? "\nCertificateKey = " : "", k.key ? k.key : "",
		 k.clients ? "\nClientCertificates = " : "", k.clients ? k.clients : "");
	assert_int_equal(config_parse(typed, strlen(typed), &c, &err), r);
	if (!strstr(err.text, word))
		fail_msg("'%s' is not in '%s'", word, err.text);
}

static void a_certificate_has_a_key_that_others_cannot_read(void **state)
{
	char pem[] = "/tmp/reeve-pem-XXXXXX", key[] = "/tmp/reeve-key-XXXXXX";
	int pem_fd = mkstemp(pem), key_fd = mkstemp(key);

	(void)state;
	assert_true(pem_fd >= 0 && key_fd >= 0);
	assert_int_equal(fchmod(pem_fd, 0644), 0);
	expect_tls((struct tls_keys){ pem, key, NULL }, 0, "");
	expect_tls((struct tls_keys){ pem, key, pem }, 0, "");
	expect_tls((struct tls_keys){ pem, pem, NULL }, -EINVAL,
		   "line 3: CertificateKey = /tmp/reeve-pem");
	expect_tls((struct tls_keys){ "/nonexistent/a", key, NULL }, -EINVAL,
		   "line 2: Certificate = /nonexistent/a");
	expect_tls((struct tls_keys){ "a.pem", key, NULL }, -EINVAL,
		   "it is not an absolute path");
	expect_tls((struct tls_keys){ "/tmp", key, NULL }, -EINVAL, "it is not a regular file");
	expect_tls((struct tls_keys){ pem, NULL, NULL }, -EINVAL, "without CertificateKey=");
	expect_tls((struct tls_keys){ NULL, key, NULL }, -EINVAL, "without Certificate=");
	expect_tls((struct tls_keys){ NULL, NULL, pem }, -EINVAL,
		   "only https has certificates");
	for (mode_t others = 0; others <= 077; others++) {
		bool is_secret = !(others & 027); /* the group may read and execute */

		assert_int_equal(fchmod(key_fd, 0600 | others), 0);
		expect_tls((struct tls_keys){ pem, key, NULL }, is_secret ? 0 : -EINVAL,
			   is_secret ? "" : "chmod 640");
	}
	close(pem_fd);
	close(key_fd);
	unlink(pem);
	unlink(key);
}

static void a_contradictory_value_is_refused(void **state)
{
	static const char *const bad[] = {
		"[Controller]\nAcceptNodes=everybody\n",
		"[Controller]\nNodeLost=1\n",
		"[Controller]\nOperators=a,,b\n",
		"[Controller]\nOperators=a b\n",
		"[Controller]\nMaxConnections=0\n",
		"[Controller]\nRequireClientCertificate=no\n",
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
		"[Cluster c]\nBundleMemory=0\n",
		"[Cluster c]\nGpuBundleCores=0\n",
		"[Cluster c]\nBundleCores=none\nBundleMemory=none\n",
		"[Cluster c]\nUnit=hours\n",
		"[NodeType c]\n",
		"[NodeType nowhere/x]\n",
		"[NodeType c/x]\nGresName=t4\n",
		"[NodeType c/x]\nGpuModel=t4\nGresName=a/b\n[GpuModel t4]\n",
		"[NodeType c/x]\nGpuModel=t4\nGresName=l4\n[NodeType c/y]\nGpuModel=L4\n"
		"[GpuModel t4]\n[GpuModel l4]\n",
		"[GpuModel x]\nWeight=0\n",
		"[GpuModel x]\nWeight=1/0\n",
		"[Queue other]\nFactor=2\n",
		"[Cluster c]\nQueues=q\n[Queue q]\nExclusive=yes\n",
		"[Policy]\nTimeZone=../../../etc/passwd\n",
		"[Policy]\nTimeZone=tzdata.zi\n",
		"[Policy]\nAllocationYearStart=02-29\n",
		"[Policy]\nAllocationYearStart=4-1\n",
		"[Policy]\nTresWeights=mem=1\n",
		"[Policy]\nTresWeights=disk=1\n",
		"[Policy]\nTresWeights=cpu=0,mem=0/GB\n",
		"[Policy]\nTresWeights=mem=1/0GB\n",
		"[Policy]\nMemoryUnit=metric\n",
		"[Cluster c]\nBundleMemory=4.GB\n",
		"[Cluster c]\nBundleMemory=4QB\n",
		"[Policy]\nPriorityWeightAge=4294967296\n",
		"[Policy]\nGpuIdleMinutes=10081\n",
		"[Cluster c]\nMaxResources=nodetype=t4\n",
		"[Cluster c]\nMaxResources=ncpus=4,features=ib\n",
		"[Policy]\nQuota=some\n",
		"[Policy]\nProfile=/nowhere/x.conf\n",
	};

	(void)state;
	refuse_all(bad, ARRAY_LEN(bad));
}

static void a_hook_that_cannot_run_is_refused(void **state)
{
	static const char *const bad[] = {
		"[Hooks]\nEvents=job-ended\n",
		"[Hooks]\nProgram=bin/true\n",
		"[Hooks]\nProgram=/nowhere/hook\n",
		"[Hooks]\nProgram=/etc\n",
		"[Hooks]\nProgram=/etc/passwd\n",
		"[Hooks]\nProgram=/bin/true\nEvents=job-gone\n",
		"[Hooks]\nProgram=/bin/true\nEvents=job-ended,,gpu-idle\n",
		"[Hooks]\nProgram=/bin/true\nEvents=job-ended,job-ended\n",
		"[Hooks]\nProgram=/bin/true\nEvents=job-ended gpu-idle\n",
		"[Hooks]\nProgram=/bin/true\nAtOnce=0\n",
		"[Hooks]\nProgram=/bin/true\nTimeLimit=0\n",
		"[Hooks]\nProgram=/bin/true\nQueueMax=100001\n",
	};

	(void)state;
	refuse_all(bad, ARRAY_LEN(bad));
}

static struct tariff find_tariff(const struct config *c, struct config_pick pick)
{
	struct tariff t = { 0 };
	struct err err = { "" };

	if (config_tariff(c, &pick, &t, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

static const char sites[] = "[Cluster a]\nQueues=normal,whole\nCoresPerNode=40\n"
			    "[NodeType a/v]\nGpuModel=v100\nGpuBundleGpus=1\n"
			    "GpuBundleCores=3.5\nCoresPerNode=48\n"
			    "[NodeType a/t]\nGpuModel=t4\nGpuBundleGpus=1\n"
			    "[NodeType a/t2]\nGpuModel=t4\nGpuBundleGpus=1\n"
			    "[GpuModel v100]\nWeight=2.2\n[GpuModel t4]\n"
			    "[GpuModel slice]\nWeight=1/7\n"
			    "[Queue whole]\nExclusive=yes\nFactor=0\n"
			    "[Cluster b]\nUnit=service-units\nBundleMemory=none\n";

static void the_tariff_is_of_cluster_node_type_model_and_queue(void **state)
{
	_cleanup_(config_freep) struct config *c = parse_config(sites);
	struct tariff t = find_tariff(c, (struct config_pick){ .queue = "whole" });

	(void)state;
	assert_true(t.exclusive);
	assert_int_equal(t.factor.num, 0);
	assert_int_equal(t.cores_per_node, 40);
	t = find_tariff(c, (struct config_pick){ .node_type = "V", .wants_gpus = true });
	assert_int_equal(t.cores_per_node, 48);
	assert_int_equal(t.gpu_weight.num, 11);
	assert_int_equal(t.bundle[CHARGE_POOL_GPU].side[CHARGE_CORES].num, 7);
	assert_int_equal(t.bundle[CHARGE_POOL_CPU].side[CHARGE_CORES].num, 1);
	t = find_tariff(c, (struct config_pick){ .gpu_model = "v100", .wants_gpus = true });
	assert_int_equal(t.bundle[CHARGE_POOL_GPU].side[CHARGE_CORES].den, 2);
	t = find_tariff(c, (struct config_pick){ .node_type = "v", .gpu_model = "slice" });
	assert_int_equal(t.gpu_weight.den, 7);
	t = find_tariff(c, (struct config_pick){ .cluster = "b" });
	assert_int_equal(t.unit, TARIFF_SERVICE_UNITS);
	assert_int_equal(t.bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY].num, 0);
}

static void a_tariff_that_the_request_does_not_determine_is_refused(void **state)
{
	static const struct {
		struct config_pick pick;
		const char *words;
	} bad[] = {
		{ { .cluster = "c" }, "there are: a, b" },
		{ { .queue = "fast" }, "it has: normal,whole" },
		{ { .node_type = "w" }, "it has: v, t, t2" },
		{ { .gpu_model = "k80", .wants_gpus = true }, "there are: v100, t4, slice" },
		{ { .wants_gpus = true }, "say which: v, t, t2" },
		{ { .gpu_model = "t4", .wants_gpus = true }, "say which: t, t2" },
	};
	_cleanup_(config_freep) struct config *c = parse_config(sites);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct tariff t;
		struct err err = { "" };

		assert_int_equal(config_tariff(c, &bad[i].pick, &t, &err), -EINVAL);
		if (!strstr(err.text, bad[i].words))
			fail_msg("'%s' lacks '%s'", err.text, bad[i].words);
	}
}

static void queue_and_qos_multiply_and_an_unstated_one_is_one(void **state)
{
	_cleanup_(config_freep) struct config *c =
		parse_config("[Cluster a]\nQueues=normal,fast\n[Queue fast]\nFactor=3\n"
			     "[Qos half]\nFactor=1/2\n[Qos free]\nFactor=0\n[Qos plain]\n");
	static const struct {
		struct config_pick pick;
		int64_t num, den; /* of 4 cores */
	} laws[] = {
		{ { .queue = "normal" }, 4, 1 },
		{ { .queue = "fast" }, 12, 1 },
		{ { .qos = "half" }, 2, 1 },
		{ { .queue = "fast", .qos = "half" }, 6, 1 },
		{ { .queue = "fast", .qos = "free" }, 0, 1 },
		{ { .queue = "fast", .qos = "plain" }, 12, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(laws); i++) {
		struct tariff t = find_tariff(c, laws[i].pick);
		struct tariff_request ask = { .ncpus = 4 };
		struct tariff_price p;

		assert_int_equal(tariff_price(&t, &ask, &p, NULL), 0);
		assert_int_equal(p.rate.num, laws[i].num);
		assert_int_equal(p.rate.den, laws[i].den);
	}
}

/* Fault by file and line, key, value and remedy. */
static void a_default_qos_that_does_not_exist_is_named_with_line_and_remedy(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "[Policy]\nTimeZone=UTC\nDefaultQos=norml\n[Qos normal]\n",
		  "controller.conf, line 3: [Policy] DefaultQos = norml: there is no QOS "
		  "'norml'; did you mean 'normal'?; add a [Qos norml] section, or name one "
		  "that exists" },
		{ "[Policy]\nDefaultQos=normal\n",
		  "controller.conf, line 2: [Policy] DefaultQos = normal: there is no QOS "
		  "'normal': this site has none; add a [Qos normal] section" },
	};
	_cleanup_(config_freep) struct config *c =
		parse_config("[Policy]\nDefaultQos=normal\n[Qos normal]\n");

	(void)state;
	assert_string_equal(config_qos_or_default(c, ""), "normal");
	assert_string_equal(config_qos_or_default(c, "high"), "high");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct config *no = NULL;
		struct err err = { "" };

		assert_int_equal(config_parse(bad[i].text, strlen(bad[i].text), &no, &err),
				 -EINVAL);
		if (!strstr(err.text, bad[i].words))
			fail_msg("'%s' lacks '%s'", err.text, bad[i].words);
	}
}

static void the_file_wins_over_its_profile(void **state)
{
	_cleanup_(config_freep) struct config *c = NULL;
	const struct charge_bundle *w;

	(void)state;
	assert_int_equal(setenv("REEVE_PROFILES", "units/profiles", 1), 0);
	c = parse_config("[Policy]\nProfile=bmrc\nPriorityWeightAge=7\n"
			 "TresWeights=cpu=2,mem=0.5/GB\n[Cluster bmrc]\nCoresPerNode=24\n");
	assert_int_equal(c->policy.weight_age, 7);
	assert_int_equal(c->policy.weight_fairshare, 100000000);
	assert_int_equal(c->policy.usage_half_life_s, 3600);
	assert_string_equal(c->policy.time_zone, "Europe/London");
	w = &c->policy.weights.per[AMOUNT_AS_WRITTEN];
	assert_int_equal(w->side[CHARGE_CORES].num, 1);
	assert_int_equal(w->side[CHARGE_CORES].den, 2);
	assert_int_equal(w->side[CHARGE_MEMORY].num, 2000000000);
	assert_int_equal(w->side[CHARGE_GPUS].num, 0);
	assert_int_equal(c->n_clusters, 1);
	assert_int_equal(config_cluster(c, "")->unit, TARIFF_CORE_HOURS);
}

static int64_t core_memory(const char *text)
{
	_cleanup_(config_freep) struct config *c = parse_config(text);

	return config_cluster(c, "")->bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY].num;
}

/* Wherever the key stands: before the amounts or behind them, for all clusters or for one. */
static void a_site_says_what_its_units_of_memory_mean(void **state)
{
	_cleanup_(config_freep) struct config *c = NULL;
	struct tariff t;

	(void)state;
	assert_int_equal(core_memory("[Cluster c]\n"), 4000000000);
	assert_int_equal(core_memory("[Cluster c]\n[Policy]\nMemoryUnit=binary\n"), 4LL << 30);
	assert_int_equal(core_memory("[Cluster c]\nBundleMemory=7M\nMemoryUnit=decimal\n"),
			 7000000);
	assert_int_equal(core_memory("[Cluster c]\nBundleMemory=7MB\nMemoryUnit=binary\n"),
			 7 << 20);
	assert_int_equal(core_memory("[Policy]\nMemoryUnit=binary\n[Cluster c]\n"
				     "BundleMemory=7MB\nMemoryUnit=as-written\n"),
			 7000000);
	assert_int_equal(core_memory("[Policy]\nMemoryUnit=decimal\n[Cluster c]\n"
				     "BundleMemory=7MiB\n"),
			 7 << 20);
	c = parse_config("[Cluster c]\nDefaultResources=vmem=1GB\nMaxResources=mem=2G\n"
			 "TresWeights=cpu=1,mem=2/GB\n[NodeType c/x]\nGpuBundleGpus=1\n"
			 "GpuBundleMemory=4.8GB\n[Policy]\nMemoryUnit=binary\n");
	t = find_tariff(c, (struct config_pick){ .node_type = "x" });
	assert_int_equal(config_cluster(c, "")->defaults.vmem_bytes, 1 << 30);
	assert_int_equal(config_cluster(c, "")->max.mem_bytes, 2LL << 30);
	assert_int_equal(t.weights.side[CHARGE_MEMORY].num, 1 << 29);
	assert_int_equal(t.bundle[CHARGE_POOL_GPU].side[CHARGE_MEMORY].num, 24LL << 30);
	assert_int_equal(t.bundle[CHARGE_POOL_GPU].side[CHARGE_MEMORY].den, 5);
}

/* The queue's weights before the cluster's before the policy's; UsageRule goes with them. */
static void weights_are_of_queue_cluster_or_policy(void **state)
{
	_cleanup_(config_freep) struct config *c = parse_config(
		"[Policy]\nTresWeights=cpu=1\nUsageRule=sum\n"
		"[Cluster a]\nQueues=normal,fast\nTresWeights=cpu=2\n"
		"[Cluster b]\nQueues=normal,fast\n[Queue fast]\nTresWeights=cpu=3\n");

	(void)state;
	assert_int_equal(find_tariff(c, (struct config_pick){ .queue = "fast" })
				 .weights.side[CHARGE_CORES]
				 .den,
			 3);
	assert_int_equal(find_tariff(c, (struct config_pick){ .cluster = "a" })
				 .weights.side[CHARGE_CORES]
				 .den,
			 2);
	assert_int_equal(find_tariff(c, (struct config_pick){ .cluster = "b" })
				 .weights.side[CHARGE_CORES]
				 .den,
			 1);
	assert_true(find_tariff(c, (struct config_pick){ .cluster = "b" }).is_sum);
}

/* 0, or why the program may not be run. */
static const char *program_fault(const char *path)
{
	static struct err err;

	err.text[0] = '\0';
	return config_check_program(path, &err) < 0 ? err.text : NULL;
}

static void a_hook_that_another_user_could_have_written_is_refused(void **state)
{
	char dir[] = "/tmp/reeve-hooks-XXXXXX", sub[64], path[96], link_path[96];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	snprintf(path, sizeof(path), "%s/hook", sub);
	snprintf(link_path, sizeof(link_path), "%s/link", dir);
	assert_int_equal(mkdir(sub, 0755), 0);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
	assert_int_equal(symlink(path, link_path), 0);
	assert_null(
		program_fault(path)); /* below /tmp, where users cannot move files of others */
	assert_null(program_fault(link_path));
	assert_int_equal(chmod(path, 0775), 0);
	assert_non_null(strstr(program_fault(path), "can be written by others"));
	assert_int_equal(chmod(path, 0644), 0);
	assert_non_null(strstr(program_fault(path), "is not a program"));
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(chmod(sub, 0777), 0);
	assert_non_null(strstr(program_fault(path), "/sub can be written by others"));
	assert_non_null(strstr(program_fault(link_path), "/sub can be written by others"));
	assert_int_equal(chmod(sub, 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_non_null(strstr(program_fault(path), "belongs to neither root nor"));
	}
	unlink(link_path);
	unlink(path);
	rmdir(sub);
	rmdir(dir);
}

static void a_hook_runs_for_the_events_that_it_names(void **state)
{
	struct config *c =
		parse_config("[Hooks]\nProgram=/bin/true\nEvents=job-ended , gpu-idle\n");

	(void)state;
	assert_int_equal(c->hooks.event_set,
			 1U << CONFIG_HOOK_JOB_ENDED | 1U << CONFIG_HOOK_GPU_IDLE);
	assert_int_equal(c->hooks.time_limit_s, 30);
	config_free(c);
	c = parse_config("");
	assert_null(c->hooks.program);
	config_free(c);
}

static void the_jobs_of_a_cluster_are_started_by_reeve_slurm_or_pbs(void **state)
{
	struct config *c = parse_config("[Cluster a]\n[Cluster b]\nEngine=slurm\n"
					"[Cluster c]\nEngine=pbs\n");
	struct err err = { "" };

	(void)state;
	assert_int_equal(config_cluster(c, "a")->engine, ENGINE_REEVE);
	assert_int_equal(config_cluster(c, "b")->engine, ENGINE_SLURM);
	assert_int_equal(config_cluster(c, "c")->engine, ENGINE_PBS);
	config_free(c);
	assert_true(config_parse("[Cluster a]\nEngine=lsf\n", 24, &c, &err) < 0);
	assert_non_null(strstr(err.text, "reeve"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_empty_file_is_one_cluster_with_a_bundle_of_one_core_and_4_gb),
		cmocka_unit_test(the_jobs_of_a_cluster_are_started_by_reeve_slurm_or_pbs),
		cmocka_unit_test(names_in_lists_are_whole_names),
		cmocka_unit_test(bundles_are_exact),
		cmocka_unit_test(a_password_in_the_configuration_is_refused_and_not_repeated),
		cmocka_unit_test(a_token_is_one_that_only_its_owner_and_group_know),
		cmocka_unit_test(a_certificate_has_a_key_that_others_cannot_read),
		cmocka_unit_test(a_contradictory_value_is_refused),
		cmocka_unit_test(a_hook_that_cannot_run_is_refused),
		cmocka_unit_test(the_tariff_is_of_cluster_node_type_model_and_queue),
		cmocka_unit_test(a_tariff_that_the_request_does_not_determine_is_refused),
		cmocka_unit_test(queue_and_qos_multiply_and_an_unstated_one_is_one),
		cmocka_unit_test(
			a_default_qos_that_does_not_exist_is_named_with_line_and_remedy),
		cmocka_unit_test(the_file_wins_over_its_profile),
		cmocka_unit_test(a_site_says_what_its_units_of_memory_mean),
		cmocka_unit_test(weights_are_of_queue_cluster_or_policy),
		cmocka_unit_test(a_hook_that_another_user_could_have_written_is_refused),
		cmocka_unit_test(a_hook_runs_for_the_events_that_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
