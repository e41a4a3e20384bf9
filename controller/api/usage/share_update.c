/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share_update.c - adds usage deltas and adjustments to the share tree; see share_update.h. */
#include "common/err.h"
#include "common/log.h"
#include "controller/api/usage/share_update.h"
#include "controller/sharetree/sharetree.h"

/* A usage delta that cannot be added is the fault of a tariff, not of the node: the node gets
 * its answer all the same. */
void share_update_usage(struct api *a, const struct sync_result *result)
{
	struct err err;

	for (size_t i = 0; i < result->n_deltas; i++)
		if (sharetree_add_delta(a->c.sharetree, &result->deltas[i], api_now_ns(),
					&err) < 0)
			log_line(LOG_ERR, "%s", err.text);
}

static int add_charge(void *ctx, const struct store_charge *c, struct err *err)
{
	const struct api *a = ctx;

	return sharetree_charge(a->c.sharetree, c, api_now_ns(), err);
}

void share_update_adjustment(struct api *a, const struct store_adjustment *made)
{
	struct err err;

	if (store_adjustment_charges(a->c.store, made, add_charge, a, &err) < 0)
		log_line(LOG_ERR, "adjustment %lld: %s", (long long)made->id, err.text);
}
