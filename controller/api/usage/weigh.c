/* weigh.c - see weigh.h. */
#include "common/err.h"
#include "common/log.h"
#include "controller/api/usage/weigh.h"
#include "controller/sharetree/standing.h"

/* A gain that cannot be weighed is the fault of a tariff, not of the node: it is told, and the
 * node is not kept waiting. */
void weigh_gains(struct api *a, const struct sync_result *result)
{
	struct err err;

	for (size_t i = 0; i < result->n_gains; i++)
		if (standing_gain(a->c.standing, &result->gains[i], call_now_ns(), &err) < 0)
			log_line(LOG_ERR, "%s", err.text);
}

static int weigh_one(void *ctx, const struct store_charge *c, struct err *err)
{
	const struct api *a = ctx;

	return standing_charge(a->c.standing, c, call_now_ns(), err);
}

void weigh_adjustment(struct api *a, const struct store_adjustment *made)
{
	struct err err;

	if (store_adjustment_charges(a->c.store, made, weigh_one, a, &err) < 0)
		log_line(LOG_ERR, "adjustment %lld: %s", (long long)made->id, err.text);
}
