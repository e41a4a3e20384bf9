/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_examples - any bytes as a file of published examples: a refusal has words, and what is
 * read is computed under a small configuration without a crash or a leak.
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/features
 *
 * links: common/model/amount common/model/resources common/model/request common/model/gpus
 *
 * links: common/conf/conf common/conf/value common/nearest common/err
 *
 * links: controller/examples/examples controller/examples/check controller/examples/tree
 *
 * links: controller/examples/months controller/examples/figures controller/config/config
 *
 * links: controller/config/lookup controller/config/objects
 *
 * links: controller/config/keys controller/config/token controller/config/certificate common/token common/private
 *
 * links: controller/config/values controller/config/units
 *
 * links: controller/config/profiles
 *
 * links: controller/config/setting controller/config/places
 *
 * links: controller/config/consistency controller/config/hooks
 *
 * links: controller/config/tariff controller/config/profile controller/pricing/price
 *
 * links: controller/policy/charge/charge controller/policy/charge/tariff controller/policy/charge/tally
 *
 * links: controller/policy/placement/fit controller/policy/quota/window controller/policy/fairshare/fair_tree
 *
 * links: controller/policy/fairshare/shares controller/policy/fairshare/classic controller/policy/fairshare/fairshare
 *
 * links: controller/policy/fairshare/level common/wire/wire common/wire/json/load common/wire/doc common/wire/wire_usage common/wire/wire_scan
 *
 * links: common/wire/wire_request common/model/usage common/model/job common/model/gpu_use
 *
 * links: common/model/script common/utf8
 *
 * libs: -ljansson -lnettle -lm
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/examples/examples.h"

static const char site[] = "[Policy]\nQuota=window\nTresWeights=cpu=1,mem=1/GB\n"
			   "[Cluster c]\nQueues=normal,whole\nCoresPerNode=4\n"
			   "[NodeType c/t]\nGpuModel=v\nGpuBundleGpus=1\n[GpuModel v]\n"
			   "[Queue whole]\nExclusive=yes\nFactor=3\n";

static void check_figure(void *ctx, const struct example_figure *f)
{
	(void)ctx;
	if (!f->published || !f->here || !*f->what)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(examples_freep) struct examples *e = NULL;
	static struct config *c;
	char *exact = malloc(size ? size : 1);
	struct err err = { "" };
	int r;

	if (!c && config_parse(site, strlen(site), &c, &err) < 0)
		abort();
	memcpy(exact, data, size);
	r = examples_parse((const char *)exact, size, "fuzz", &e, &err);
	free(exact);
	if (r < 0 && !*err.text)
		abort();
	if (r == 0)
		examples_check(c, e, check_figure, NULL, &err);
	return 0;
}
