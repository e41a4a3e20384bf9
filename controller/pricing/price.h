/* price - what a request costs under a configuration, and the document of that price.
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
	int64_t nodes; /* held; 0: as many as the cores fill */
	/* That chunks take, by what the nodes have: at least so many are held. 0: not known. */
	int64_t spread;
	/* The request states place=excl: priced as on an exclusive queue. */
	bool is_exclusive;
};

/* What is not stated takes the cluster's default, and mem its part of vmem. */
void price_fill(const struct config_cluster *cl, struct resources *res);
/* Of a request in chunks, before price_fill(): the same for each chunk, and the sums onto
 * q->res. -EINVAL, -ERANGE as request_total(). */
int price_fill_chunks(const struct config_cluster *cl, struct request *q, struct err *err);
/* Memory counts as it is reserved (fit_memory()): vmem, or mem where no vmem is stated.
 * A part of a GPU is priced on the type of node that has such GPUs: "a100_1g.5gb" on that of
 * "a100-40". GPUs are priced by the model asked for: pick's, else that of res; one without its
 * size
 * ("a100") is the only size that the configuration has. Where any may be given and the models
 * weigh differently, the price would depend on what happens to be free: that is refused.
 * A type of node that is asked for (res) is the one that is priced, where the cluster has types
 * at all: then it must be one of them.
 * Of whole nodes all cores count, memory and GPUs as asked for.
 * -EINVAL as config_tariff() and tariff_price() say it, also for what is too large to charge.
 */
int price_find(const struct config *c, const struct price_query *q, struct tariff_price *ret,
	       struct err *err);
/* rate, charge, unit, pool, decided_by, rule, sides, nodes (of chunks) ...:
 * docs/protocol.md, POST /v1/cost. Exact decimals are texts. -EINVAL: the charge of the
 * walltime is beyond what can be counted. */
int price_encode(const struct config *c, const struct price_query *q,
		 const struct tariff_price *p, json_t **ret, struct err *err);
