/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cost.c - prices a request by a profile; see cost.h. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "cli/offline/cost.h"
#include "cli/client/submit/submission.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/config/profile.h"
#include "controller/pricing/price.h"

static int read_nodes(const struct verb_call *call, int64_t *ret, struct err *err)
{
	const char *nodes = verb_value(call, "nodes");
	int r = nodes ? amount_parse_count(nodes, ret, err) : 0;

	if (r == 0 && nodes && *ret == 0)
		r = err_set(err, -EINVAL, "--nodes 0: a job has at least one node");
	return r;
}

/* Without a list of nodes, chunks may share nodes unless they are scattered. */
static int fill_request(const struct config_cluster *cl, struct request *r,
			struct price_query *q, struct err *err)
{
	int rc = price_fill_chunks(cl, r, err);

	q->res = r->res;
	q->is_exclusive = r->is_exclusive;
	if (r->select.is_scattered)
		q->spread = select_chunks(&r->select);
	price_fill(cl, &q->res);
	return rc;
}

/* ---- options that exclude each other ---- */

static int refuse_both(const char *option, const char *value, const char *other,
		       const char *stated, struct err *err)
{
	return err_set(err, -EINVAL, "--%s %.64s contradicts -l %s%.64s; state one of them",
		       option, value, other, stated);
}

/* Contradicting statements are refused, since either could be meant. */
static int check_options(const struct config *config, const struct price_query *q,
			 struct err *err)
{
	const char *type = q->pick.node_type, *model = q->pick.gpu_model;
	const struct config_cluster *cl = config_cluster(config, q->pick.cluster);
	char queue_name[REQUEST_NAME_MAX];
	const struct config_queue *queue;

	if (type && *q->res.node_type && strcasecmp(type, q->res.node_type) != 0)
		return refuse_both("node-type", type, "nodetype=", q->res.node_type, err);
	if (model && *q->res.gpu_model && strcasecmp(model, q->res.gpu_model) != 0)
		return refuse_both("gpu-model", model, "ngpus=", q->res.gpu_model, err);
	if (model && !q->res.ngpus)
		return err_set(err, -EINVAL,
			       "--gpu-model %.64s, but no GPUs are requested: add -l "
			       "ngpus=%.64s:1",
			       model, model);
	if (!cl)
		return 0;
	config_default_queue(cl, queue_name);
	queue = config_queue(config, *q->pick.queue ? q->pick.queue : queue_name);
	if (q->nodes && !q->is_exclusive && !(queue && queue->exclusive))
		return err_set(err, -EINVAL,
			       "--nodes is for whole nodes, and queue '%.64s' allocates "
			       "cores; leave it out, or add -l place=excl",
			       *q->pick.queue ? q->pick.queue : queue_name);
	return 0;
}

/* Without the cluster in the profile the price reports which clusters there are. */
static int encode_answer(const struct config *config, struct request *request,
			 struct price_query *q, json_t **ret, struct err *err)
{
	const struct config_cluster *cl = config_cluster(config, q->pick.cluster);
	struct tariff_price price;
	int r = 0;

	if (cl) /* else the price says which clusters there are */
		r = fill_request(cl, request, q, err);
	q->res = cl ? q->res : request->res;
	if (r >= 0)
		r = check_options(config, q, err);
	if (r >= 0)
		r = price_find(config, q, &price, err);
	return r < 0 ? r : price_encode(config, q, &price, ret, err);
}

/* ---- the request, in the site's units ---- */

/* A line of the script may name the cluster, whose memory units decide how amounts are read: then
 * the request is read a second time. */
static int read_request(const struct cli *c, const struct verb_call *call,
			const struct config *config, struct request *r, struct err *err)
{
	const char *typed = verb_value(call, "cluster");
	enum amount_units units =
		config_memory_unit(config, config_cluster(config, typed ? typed : ""));
	int rc;

	r->units = units;
	rc = submission_read_resources(c, call, r, err);
	units = config_memory_unit(config, config_cluster(config, r->cluster));
	if (rc < 0 || units == r->units)
		return rc;
	request_done(r);
	request_init(r);
	r->units = units;
	return submission_read_resources(c, call, r, err);
}

int cost_offline(const struct cli *c, const struct verb_call *call, struct request *r,
		 json_t **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *path = NULL;
	struct price_query q = { .pick = { .cluster = r->cluster,
					   .queue = r->queue,
					   .node_type = verb_value(call, "node-type"),
					   .gpu_model = verb_value(call, "gpu-model") } };
	int rc = profile_find(verb_value(call, "profile"), &path, err);

	if (rc >= 0)
		rc = read_nodes(call, &q.nodes, err);
	if (rc < 0)
		return rc;
	rc = config_load(path, &config, err);
	if (rc < 0)
		return rc == -EINVAL ? -EBADMSG : rc;
	rc = read_request(c, call, config, r, err);
	q.pick.qos = config_qos_or_default(config, r->qos); /* no account to have one */
	return rc < 0 ? rc : encode_answer(config, r, &q, ret, err);
}
