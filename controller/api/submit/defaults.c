/* SPDX-License-Identifier: GPL-2.0-or-later */
/* defaults.c - a step of a submission: fills in cluster, queue, and the amounts that the
 * request leaves out; refuses amounts above the cluster's maximum for one job. */
#include <stdio.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/api/submit/submit.h"
#include "controller/pricing/price.h"

static int choose_cluster(struct call *c, struct submit_job *s, struct err *err)
{
	struct request *q = &s->request;
	const struct config_cluster *cl = config_cluster(c->api->c.config, q->cluster);

	if (!cl) {
		err_set(err, 0, "there is no cluster '%s' here", q->cluster);
		return call_refuse(c, 400, "unknown-cluster",
				   "name another with --cluster; GET /v1/cluster lists them");
	}
	snprintf(q->cluster, sizeof(q->cluster), "%s", cl->name);
	if (!*q->queue)
		config_default_queue(cl, q->queue);
	if (!config_has_queue(cl, q->queue)) {
		err_set(err, 0, "cluster '%s' has no queue '%s'; it has: %s", cl->name,
			q->queue, cl->queues);
		return call_refuse(c, 400, "unknown-queue", "name one of them with -q QUEUE");
	}
	s->cluster = cl;
	return 0;
}

static int64_t *amount_at(struct resources *r, const struct resource_def *d)
{
	return (int64_t *)((char *)r + d->offset);
}

static const char *format_amount(const struct resource_def *d, int64_t n, char *buf)
{
	if (d->kind == RESOURCE_BYTES)
		return amount_format_bytes_exact(n, buf);
	if (d->kind == RESOURCE_SECONDS)
		return amount_format_seconds(n, buf);
	snprintf(buf, AMOUNT_TEXT_MAX, "%lld", (long long)n);
	return buf;
}

int submit_check_bounds(struct call *c, struct submit_job *s, struct err *err)
{
	struct resources res = s->request.res, defaults = s->cluster->defaults,
			 max = s->cluster->max;

	for (const struct resource_def *d = request_resources; d->name; d++) {
		int64_t stated = *amount_at(&res, d), bound = *amount_at(&max, d);
		int64_t n = stated ? stated : *amount_at(&defaults, d);
		char asked[AMOUNT_TEXT_MAX], most[AMOUNT_TEXT_MAX];

		if (bound == 0 || n <= bound)
			continue;
		err_set(err, 0, "%s=%s is more than this cluster allows one job: %s", d->name,
			format_amount(d, n, asked), format_amount(d, bound, most));
		return call_refuse(c, 400, "too-large", "ask for less, or ask the operators");
	}
	return 0;
}

int submit_apply_defaults(struct call *c, struct submit_job *s, struct err *err)
{
	int r = choose_cluster(c, s, err);

	if (r >= 0)
		r = price_fill_chunks(s->cluster, &s->request, err);
	if (r >= 0)
		r = submit_check_bounds(c, s, err);
	if (r >= 0)
		price_fill(s->cluster, &s->request.res);
	return r;
}
