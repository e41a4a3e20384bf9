/* SPDX-License-Identifier: GPL-2.0-or-later */
/* price - the price of a request under a configuration, and its document.
 *
 * The controller charges by it; `reeve cost --profile` shows the same without a controller.
 */
#pragma once
#include <jansson.h>
#include "controller/config/config.h"

struct err;

struct price_query {
	struct config_pick
		pick; /* cluster NULL or "": the first; wants_gpus follows from res */
	struct resources res;
	int64_t nodes; /* that the job occupies; 0: as many as the cores fill */
	/* Nodes that its chunks need at least, by what the nodes have. 0: not known. */
	int64_t spread;
	/* All cores of its nodes, if it is known which these are; 0: each has CoresPerNode. */
	int64_t node_cores;
	/* The request states place=excl: priced as on an exclusive queue. */
	bool is_exclusive;
};

/* Fills in the cluster's default for each resource that is not stated, and mem as its part of
 * vmem. */
void price_fill(const struct config_cluster *cl, struct resources *res);
/* The same for each chunk of a request in chunks, before price_fill(); sets q->res to the sums
 * of the chunks. -EINVAL, -ERANGE as request_total(). */
int price_fill_chunks(const struct config_cluster *cl, struct request *q, struct err *err);
/* Prices a request. A model may be named as the cluster's Slurm names it (GresName=). Memory counts as it is reserved (fit_memory()): vmem, or mem if no vmem
 * is stated.
 * GPUs are priced by the requested model: pick's, else that of res. One without its size
 * ("a100") is the only size that the configuration has; a part of a GPU ("a100_1g.5gb") is
 * priced on the type of node that has such GPUs ("a100-40"). Where any model may be allocated
 * and they have different weights, the price would depend on what happens to be free: that is
 * refused.
 * A requested type of node (res) is the one that is priced, where the cluster has types at all:
 * then it must be one of them.
 * Of whole nodes all cores count; memory and GPUs count as requested.
 * -EINVAL as config_tariff() and tariff_price(), also for a request that is too large to
 * charge. */
int price_find(const struct config *c, const struct price_query *q, struct tariff_price *ret,
	       struct err *err);
/* The document: rate, charge, unit, pool, decided_by, rule, sides, nodes (of chunks) ...:
 * docs/protocol.md, POST /v1/cost. Exact decimals are texts. -EINVAL: the charge of the
 * walltime is beyond what can be counted. */
int price_encode(const struct config *c, const struct price_query *q,
		 const struct tariff_price *p, json_t **ret, struct err *err);
