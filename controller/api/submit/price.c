/* price.c - a step of a submission: what its request is charged, and the answer of
 * POST /v1/cost. */
#include "common/err.h"
#include "controller/api/submit/submit.h"
#include "controller/pricing/quote.h"

static struct quote quote_of(const struct submit_job *s)
{
	const struct request *q = &s->request;

	return (struct quote){
		.pick = { .cluster = q->cluster, .queue = q->queue, .qos = q->qos },
		.res = q->res,
		.spread = s->n_chunk_nodes,
		.is_exclusive = q->is_exclusive
	};
}

int submit_find_price(struct call *c, struct submit_job *s, struct err *err)
{
	const struct quote quote = quote_of(s);

	return quote_price(c->api->c.config, &quote, &s->price, err);
}

int submit_encode_price(struct call *c, struct submit_job *s, struct err *err)
{
	const struct quote quote = quote_of(s);

	return quote_encode(c->api->c.config, &quote, &s->price, &c->answer, err);
}
