/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why.c - GET /v1/jobs/ID/why: why a job waits, was suspended or ended, and its latest start.
 */
#include <errno.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/api/jobs/jobs.h"
#include "controller/api/call.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/jobs/describe_queue.h"
#include "controller/api/jobs/slurm/slurm_pending.h"
#include "controller/api/authz.h"
#include "controller/ledger/archive/archive.h"
#include "controller/dispatch/forecast.h"
#include "controller/dispatch/why.h"

static int add_forecast(const struct call *c, const struct store_job *row, json_t *answer)
{
	int64_t now_s = api_now_ns() / S_NS, at_s = 0;
	json_t *forecast;

	switch (dispatch_start(c->api->c.cycle, row->cluster, row->job, &at_s)) {
	case DISPATCH_START_NONE:
		return 0;
	case DISPATCH_START_PENDING:
		return json_object_set_new(answer, "forecast_pending", json_true());
	case DISPATCH_START_KNOWN:
		break;
	}
	forecast = json_pack("{s:I,s:I,s:s}", "starts_in_s",
			     (json_int_t)(at_s > now_s ? at_s - now_s : 0), "starts_at_ns",
			     (json_int_t)(at_s * S_NS), "sure", DISPATCH_SURE);
	return json_object_set_new(answer, "forecast", forecast);
}

/* The forecast is the one estimate of this document. */
static int leave_estimate_out(const struct call *c, const struct store_job *row)
{
	char why[DISPATCH_WHY_MAX];

	describe_reason(c->api, row, DISPATCH_WHY_REASON, why);
	return json_object_set_new(json_object_get(c->answer, "job"), "why", json_string(why));
}

static int answer_why(void *ctx, const struct store_job *row, struct err *err)
{
	struct call *c = ctx;
	int r = 0;

	if (!authz_sees_job(c, row->uid, row->account))
		return store_no_job(c->api->c.store, row->job, err);
	c->answer = wire_new();
	if (!c->answer || json_object_set_new(c->answer, "job", describe_job(c->api, row)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (row->is_array && c->named.index != JOB_ID_NO_INDEX)
		return describe_queue_folded(c->api, c->named,
					     json_object_get(c->answer, "job"), err);
	if (row->state == JOB_QUEUED && !row->is_withheld)
		r = add_forecast(c, row, c->answer);
	if (r >= 0 && (json_object_get(c->answer, "forecast") ||
		       json_object_get(c->answer, "forecast_pending")))
		r = leave_estimate_out(c, row);
	return r < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int route_why(struct call *c, struct err *err)
{
	if (c->pending)
		return slurm_pending_answer_why(c, err);
	return store_job(c->api->c.store, c->id, answer_why, c, err);
}
