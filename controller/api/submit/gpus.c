/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpus.c - a step of a submission: finds the full name of the GPU model that it requests.
 *
 * A model without its size ("a100") is the only one of that name that the cluster's nodes have,
 * or where no node reports any, that the configuration has weights for.
 */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/submit/submit.h"
#include "controller/ledger/nodes/kept.h"

static int match_nodes(struct call *c, const struct request *q,
		       char ret[static REQUEST_NAME_MAX], struct err *err)
{
	const struct fit_node *nodes;
	struct gpus_match m;
	size_t n;
	int r = store_kept_nodes(c->api->c.store, q->cluster, &nodes, &n, err);

	if (r < 0)
		return r;
	gpus_match_begin(&m, q->res.gpu_model);
	for (size_t i = 0; i < n; i++)
		for (int32_t k = 0; fit_is_kind(&nodes[i], &q->res) && k < nodes[i].gpus.n; k++)
			gpus_match_try(&m, nodes[i].gpus.of[k].model);
	return gpus_match_end(&m, "this cluster's nodes have", ret, err);
}

static int match_config(struct call *c, const struct request *q,
			char ret[static REQUEST_NAME_MAX], struct err *err)
{
	const struct config *config = c->api->c.config;
	struct gpus_match m;

	gpus_match_begin(&m, q->res.gpu_model);
	for (size_t i = 0; i < config->n_gpu_models; i++)
		gpus_match_try(&m, config->gpu_models[i]->name);
	return gpus_match_end(&m, "this site has weights for", ret, err);
}

/* A name that the cluster's Slurm has for GPUs of one model is that model. */
static void replace_gres(const struct call *c, struct request *q)
{
	const struct config *config = c->api->c.config;
	const struct config_cluster *cl = config_cluster(config, q->cluster);
	struct config_gres found;

	if (cl && config_gres(config, cl, q->res.gpu_model, &found) && !found.has_models)
		snprintf(q->res.gpu_model, sizeof(q->res.gpu_model), "%s",
			 found.type->gpu_model);
}

int submit_choose_gpus(struct call *c, struct submit_job *s, struct err *err)
{
	struct request *q = &s->request;
	char model[REQUEST_NAME_MAX] = "";
	int r;

	if (!q->res.ngpus || !*q->res.gpu_model)
		return 0;
	replace_gres(c, q);
	r = match_nodes(c, q, model, err);
	if (r == 1)
		r = match_config(c, q, model, err);
	if (r == -EINVAL)
		return call_refuse(c, 400, "unknown-gpu",
				   "'reeve nodes' lists the GPUs there are");
	if (r == 0)
		memcpy(q->res.gpu_model, model, sizeof(model));
	return r < 0 ? r : 0;
}
