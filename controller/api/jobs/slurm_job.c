/* slurm_job.c - finds the job that a path names by Slurm's id; see slurm_job.h. */
#include <errno.h>
#include <stddef.h>
#include "common/err.h"
#include "common/model/engine.h"
#include "controller/api/jobs/slurm_job.h"
#include "controller/api/jobs/slurm_pending.h"
#include "controller/ledger/jobs/slurm.h"

/* *ret NULL: the path has a number of the ledger. */
static int find_cluster(struct call *c, const struct config_cluster **ret, struct err *err)
{
	const struct config *config = c->api->c.config;
	const char *name = call_query_text(c, "cluster");
	const struct config_cluster *cl = name || config->n_clusters == 1
						  ? config_cluster(config, name ? name : "")
						  : NULL;

	*ret = cl && cl->engine == ENGINE_SLURM ? cl : NULL;
	if (*ret || !name)
		return 0;
	err_set(err, 0, "there is no cluster '%.63s' of Slurm here", name);
	return call_refuse(c, 400, "unknown-cluster", "GET /v1/cluster lists the clusters");
}

int slurm_job_find(struct call *c, struct err *err)
{
	const struct config_cluster *cl;
	int64_t job;
	int r = find_cluster(c, &cl, err);

	if (r < 0 || !cl || c->named.job > SYNC_SLURM_ID_MAX)
		return r;
	c->pending = slurm_pending_find(c->api->slurm_pending, cl->name, c->named.job);
	c->pending_cluster = cl;
	r = store_slurm_known(c->api->c.store, cl->name, c->named.job, &job, err);
	if (r < 0)
		return r;
	if (r == 0 && c->pending) {
		c->named.job = c->id = 0; /* it has no row in the ledger */
		return 0;
	}
	if (r == 0)
		return err_set(err, -ENOENT, "no agent of cluster '%s' has reported job %lld",
			       cl->name, (long long)c->named.job);
	c->named.job = c->id = job;
	return 0;
}
