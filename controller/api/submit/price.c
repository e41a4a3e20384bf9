/* SPDX-License-Identifier: GPL-2.0-or-later */
/* price.c - a step of a submission: prices its request; and encodes the answer of
 * POST /v1/cost. */
#include "common/err.h"
#include "controller/api/submit/submit.h"
#include "controller/pricing/price.h"

static struct price_query price_query_of(const struct submit_job *s)
{
	const struct request *q = &s->request;

	return (struct price_query){
		.pick = { .cluster = q->cluster, .queue = q->queue, .qos = q->qos },
		.res = q->res,
		.spread = s->n_chunk_nodes,
		.is_exclusive = q->is_exclusive
	};
}

int submit_find_price(struct call *c, struct submit_job *s, struct err *err)
{
	const struct price_query query = price_query_of(s);

	return price_find(c->api->c.config, &query, &s->price, err);
}

int submit_encode_price(struct call *c, struct submit_job *s, struct err *err)
{
	const struct price_query query = price_query_of(s);

	return price_encode(c->api->c.config, &query, &s->price, &c->answer, err);
}
