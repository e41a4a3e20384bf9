/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_config.c - any bytes as controller.conf: refused with a line and words, or a configuration whose clusters and queues can be found by their
 * names.
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/features
 *
 * links: common/model/amount common/model/resources common/model/request common/model/gpus
 *
 * links: common/conf/conf common/conf/value common/nearest common/err
 *
 * links: controller/config/config controller/config/lookup controller/config/objects
 *
 * links: controller/config/keys controller/config/token controller/config/certificate common/token common/private
 *
 * links: controller/config/values controller/config/units controller/config/profiles
 *
 * links: controller/config/setting controller/config/places controller/config/consistency controller/config/hooks
 *
 * links: controller/config/tariff controller/config/profile
 *
 * links: controller/policy/charge/charge controller/policy/charge/tariff controller/policy/charge/tally
 *
 * links: controller/policy/placement/fit controller/policy/quota/window
 *
 * links: controller/policy/fairshare/shares controller/policy/fairshare/fairshare
 *
 * links: common/utf8
 *
 * libs: -ljansson -lnettle -lm
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *exact = malloc(size ? size : 1);
	struct config *c = NULL;
	struct err err = { "" };
	int r;

	memcpy(exact, data, size);
	r = config_parse(exact, size, &c, &err);
	if (r > 0 || (r < 0) != !c || (r < 0 && !*err.text))
		abort();
	config_free(c);
	free(exact);
	return 0;
}
