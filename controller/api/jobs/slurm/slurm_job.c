/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_job.c - finds the job that a path names by Slurm's id; see slurm_job.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "common/err.h"
#include "common/engine.h"
#include "controller/api/jobs/slurm/slurm_job.h"
#include "controller/api/jobs/slurm/slurm_pending.h"
#include "controller/ledger/jobs/slurm.h"

/* *ret NULL: the path has a number of the ledger. */
static int find_cluster(struct call *c, const struct config_cluster **ret, struct err *err)
{
	const struct config *config = c->api->c.config;
	const char *name = call_query_text(c, "cluster");
	const struct config_cluster *cl = name || config->n_clusters == 1
						  ? config_cluster(config, name ? name : "")
						  : NULL;

	*ret = cl && engine_is_foreign((enum engine)cl->engine) ? cl : NULL;
	if (*ret || !name)
		return 0;
	err_set(err, 0, "there is no cluster '%.63s' of Slurm or PBS here", name);
	return call_refuse(c, 400, "unknown-cluster", "GET /v1/cluster lists the clusters");
}

static int refuse_unknown(struct call *c, const struct config_cluster *cl, struct err *err)
{
	char id[PBS_ID_SHORT_MAX];

	return err_set(err, -ENOENT, "no agent of cluster '%s' has reported job %s", cl->name,
		       pbs_id_format(c->named.job, id));
}

static int find_pbs_job(struct call *c, const struct config_cluster *cl, struct err *err)
{
	int64_t job;
	int r;

	if (c->named.job > PBS_NUMBER_MAX)
		return 0; /* a number of the ledger */
	r = store_pbs_known(c->api->c.store, cl->name, c->named.job, &job, err);
	if (r == 0)
		return refuse_unknown(c, cl, err);
	if (r > 0)
		c->named.job = c->id = job;
	return r < 0 ? r : 0;
}

int slurm_job_find(struct call *c, struct err *err)
{
	const struct config_cluster *cl;
	int64_t job;
	int r = find_cluster(c, &cl, err);

	if (r < 0 || !cl)
		return r;
	if (cl->engine == ENGINE_PBS)
		return find_pbs_job(c, cl, err);
	if (c->named.job > SYNC_SLURM_ID_MAX)
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
		return refuse_unknown(c, cl, err);
	c->named.job = c->id = job;
	return 0;
}

bool slurm_job_is_pbs(const struct config *config, const char *cluster)
{
	const struct config_cluster *cl = config_cluster(config, cluster);

	return cl && cl->engine == ENGINE_PBS;
}

const char *slurm_job_id(const struct config *config, const char *cluster, int64_t job,
			 char buf[static PBS_ID_SHORT_MAX])
{
	if (slurm_job_is_pbs(config, cluster))
		return pbs_id_format(store_pbs_id(job), buf);
	snprintf(buf, PBS_ID_SHORT_MAX, "%" PRId64, store_slurm_id(job));
	return buf;
}
