/* cost_offline.c - see cost_offline.h. */
#include <errno.h>
#include "cli/cost_offline.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/config/profile.h"
#include "controller/quote/quote.h"

static int read_nodes(const struct verb_call *call, int64_t *ret, struct err *err)
{
	const char *nodes = verb_value(call, "nodes");
	int r = nodes ? amount_parse_count(nodes, ret, err) : 0;

	if (r == 0 && nodes && *ret == 0)
		r = err_set(err, -EINVAL, "--nodes 0: a job holds at least one");
	return r;
}

/* Which nodes there are nobody knows here: chunks may share them unless they are scattered. */
static int fill(const struct config_cluster *cl, struct request *r, struct quote *q,
		struct err *err)
{
	int rc = quote_fill_chunks(cl, r, err);

	q->res = r->res;
	q->is_exclusive = r->is_exclusive;
	if (r->select.is_scattered)
		q->spread = select_chunks(&r->select);
	quote_fill(cl, &q->res);
	return rc;
}

static int answer(const struct config *config, struct request *request, struct quote *q,
		  json_t **ret, struct err *err)
{
	const struct config_cluster *cl = config_cluster(config, q->pick.cluster);
	struct tariff_price price;
	int r = 0;

	if (cl) /* else the price says which clusters there are */
		r = fill(cl, request, q, err);
	if (r >= 0)
		r = quote_price(config, q, &price, err);
	return r < 0 ? r : quote_encode(config, q, &price, ret, err);
}

int cost_offline(const struct verb_call *call, struct request *r, json_t **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *path = NULL;
	struct quote q = { .pick = { .cluster = r->cluster,
				     .queue = r->queue,
				     .node_type = verb_value(call, "node-type"),
				     .gpu_model = verb_value(call, "gpu-model") },
			   .res = r->res };
	int rc = profile_find(verb_value(call, "profile"), &path, err);

	if (rc >= 0)
		rc = read_nodes(call, &q.nodes, err);
	if (rc < 0)
		return rc;
	rc = config_load(path, &config, err);
	if (rc < 0)
		return rc == -EINVAL ? -EBADMSG : rc;
	return answer(config, r, &q, ret, err);
}
