/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hold.c - POST /v1/jobs/ID/hold and /release: keeps queued jobs from starting, and ends that.
 */
#include <errno.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/api/jobs/jobs.h"
#include "controller/api/call.h"
#include "controller/ledger/jobs/hold.h"

static int refuse_hold(struct call *c, int outcome, struct err *err)
{
	char id[JOB_ID_TEXT_MAX];
	struct store_held held = { 0 };

	job_id_format(c->named, id);
	switch (outcome) {
	case STORE_NOT_HELD:
		err_set(err, 0, "job %s is not held", id);
		return call_refuse(c, 409, "not-held", "reeve job says what it waits for");
	case STORE_HELD_ABOVE:
		if (store_held(c->api->c.store, c->id, &held, err) < 0)
			return -EIO;
		err_set(err, 0, "job %s is held by operator %s", id, held.author);
		return call_refuse(c, 403, "not-permitted", "ask them to release it");
	default:
		err_set(err, 0, "job %s is not queued any more", id);
		return call_refuse(c, 409, "too-late", "a running job can be suspended");
	}
}

static int answer_hold(struct call *c, const char *word, struct err *err)
{
	char id[JOB_ID_TEXT_MAX];

	log_job(LOG_INFO, c->id, word, "by %s", c->user);
	api_wake_job(c->api, c->id);
	api_request_cycle(c->api);
	c->answer =
		json_pack("{s:s,s:I,s:s,s:s}", "schema", WIRE_SCHEMA, "job", (json_int_t)c->id,
			  "id", job_id_format(c->named, id), "state", word);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* An operator who holds a job of their own holds it as a user, and can release it as one. */
static struct store_hold hold_of(const struct call *c, const struct owned_job *job)
{
	bool is_above = c->is_operator && job->uid != c->who.uid;

	return (struct store_hold){ c->id, api_now_ns(),
				    is_above ? STORE_HOLD_OPERATOR : STORE_HOLD_USER, c->user };
}

int route_hold(struct call *c, struct err *err)
{
	struct owned_job job;
	struct store_hold h;
	int r = owned_job_find(c, &job, err);

	if (r < 0)
		return r;
	h = hold_of(c, &job);
	r = store_hold(c->api->c.store, &h, err);
	if (r != 0)
		return r < 0 ? r : refuse_hold(c, r, err);
	return answer_hold(c, "held", err);
}

int route_release(struct call *c, struct err *err)
{
	struct owned_job job;
	struct store_hold h;
	int r = owned_job_find(c, &job, err);

	if (r < 0)
		return r;
	h = hold_of(c, &job);
	if (c->is_operator)
		h.kind = STORE_HOLD_OPERATOR;
	r = store_release(c->api->c.store, &h, err);
	if (r != 0)
		return r < 0 ? r : refuse_hold(c, r, err);
	return answer_hold(c, "released", err);
}
