/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chunking.c - a step of a submission: finds out whether nodes of its cluster could ever hold
 * it.
 *
 * A request that no single node could hold is split into chunks for several nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/submit/submit.h"
#include "controller/ledger/nodes/kept.h"
#include "controller/policy/placement/fit.h"
#include "controller/policy/placement/fit_chunks.h"

bool submit_is_exclusive(const struct call *c, const struct request *q)
{
	const struct config_queue *queue = config_queue(c->api->c.config, q->queue);

	return q->is_exclusive || (queue && queue->exclusive);
}

struct known_nodes {
	const struct fit_node *at;
	size_t n;
};

static int split_request(const struct known_nodes *nodes, struct request *q,
			 char why[static FIT_WHY_MAX], struct err *err)
{
	struct select chunks = { .n = 0 };
	int r = fit_split(nodes->at, nodes->n, &q->res, &chunks, why);

	if (r != 0 || chunks.n == 0)
		return r;
	chunks.is_scattered = q->select.is_scattered;
	q->select = chunks;
	return select_total(&q->select, &q->res, err);
}

/* On copies, whose amounts in use grow. */
static int pack_chunks(const struct known_nodes *nodes, const struct fit_request *ask,
		       int64_t *ret_n, char why[static FIT_WHY_MAX], struct err *err)
{
	_cleanup_free_ struct fit_node *at = calloc(nodes->n + 1, sizeof(*at));
	int r = -ENOMEM;

	if (at && nodes->n)
		memcpy(at, nodes->at, nodes->n * sizeof(*at));
	if (at)
		r = fit_pack(at, nodes->n, ask, ret_n, why);
	return r < 0 ? err_set(err, r, "out of memory") : r;
}

/* Splits the request if need be. 1: the nodes could never hold it; `why` says how much they could. That does not depend on what the nodes
 * hold now, so the jobs that run are not summed up. */
static int find_nodes(const struct call *c, struct submit_job *s, char why[static FIT_WHY_MAX],
		      struct err *err)
{
	struct request *q = &s->request;
	const struct fit_request ask = { &q->res, &q->select, submit_is_exclusive(c, q) };
	struct known_nodes nodes;
	int r = store_kept_nodes(c->api->c.store, q->cluster, &nodes.at, &nodes.n, err);

	if (r < 0)
		return r;
	if (!fit_has_pids(nodes.at, nodes.n, &q->res, why))
		return 1;
	if (!q->select.n)
		r = split_request(&nodes, q, why, err);
	if (r != 0 || !q->select.n)
		return r;
	return pack_chunks(&nodes, &ask, &s->n_chunk_nodes, why, err);
}

int submit_split_chunks(struct call *c, struct submit_job *s, struct err *err)
{
	bool is_select = s->request.select.n > 0;
	char why[FIT_WHY_MAX];
	int r = find_nodes(c, s, why, err);

	if (r <= 0)
		return r;
	err_set(err, 0, "%s", why);
	return call_refuse(c, 400, "too-large",
			   is_select ? "request fewer or smaller chunks"
				     : "request at most what one node has, or what can be "
				       "divided evenly by several");
}

int submit_try_chunks(struct call *c, struct submit_job *s, struct err *err)
{
	char why[FIT_WHY_MAX];

	return find_nodes(c, s, why, err);
}
