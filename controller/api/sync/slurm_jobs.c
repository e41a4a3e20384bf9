/* slurm_jobs.c - admits the sender, stores the document in one transaction, updates the share tree; see slurm_jobs.h. */
#include <stddef.h>
#include "common/err.h"
#include "common/model/engine.h"
#include "controller/api/sync/slurm.h"
#include "controller/api/sync/slurm_jobs.h"
#include "controller/api/usage/share_update.h"
#include "controller/ledger/slurm/batch.h"

int route_slurm_admit(struct call *c, const char *cluster, const struct config_cluster **ret,
		      struct err *err)
{
	const struct config *config = c->api->c.config;
	const struct config_cluster *cl = config_cluster(config, cluster);

	if (!cl || cl->engine != ENGINE_SLURM) {
		err_set(err, 0, "there is no cluster '%.63s' with Engine=slurm here", cluster);
		return call_refuse(
			c, 400, "unknown-cluster",
			"correct Cluster= in reeve-slurm.conf, or Engine= of the [Cluster] in "
			"controller.conf");
	}
	if (!config_is_slurm_user(config, cl, c->user)) {
		err_set(err, 0, "user '%s' may not tell of the jobs of cluster '%s'", c->user,
			cl->name);
		return call_refuse(c, 403, NULL,
				   "SlurmUser= of the [Cluster] in controller.conf names the "
				   "users who may");
	}
	*ret = cl;
	return 0;
}

static int store_batch(struct call *c, const struct slurm_batch *b,
		       const struct config_cluster *cl, struct store_slurm_result *ret,
		       struct err *err)
{
	struct slurm_pricing pricing = { .api = c->api };
	const struct store_slurm_from from = {
		.now_ns = api_now_ns(),
		.forgotten_ns = cl->slurm_forgotten_s * S_NS,
		.lost_ns = c->api->c.config->node_lost_s * S_NS,
		.price = slurm_find_price,
		.ctx = &pricing,
	};

	return store_slurm_batch(c->api->c.store, b, &from, ret, err);
}

int route_slurm_jobs(struct call *c, struct err *err)
{
	_cleanup_(slurm_batch_freep) struct slurm_batch *b = NULL;
	_cleanup_(store_slurm_result_done) struct store_slurm_result result = { 0 };
	const struct config_cluster *cl;
	int r = slurm_batch_decode(c->body, &b, err);

	if (r >= 0)
		r = route_slurm_admit(c, b->cluster, &cl, err);
	if (r >= 0)
		r = store_batch(c, b, cl, &result, err);
	if (r < 0)
		return r;
	share_update_usage(c->api, &result.changes);
	return slurm_batch_encode_answer(&result.answer, &c->answer, err);
}
