/* output.c - GET /v1/jobs/ID/output: what a streamed job, or a step, prints, as it comes. */
#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/call.h"
#include "controller/ledger/store_steps.h"

struct reader {
	struct api *api;
	struct exchange *x;
	struct store_read what;
};

static json_t *encode(const struct store_text *t, int64_t next)
{
	_cleanup_free_ char *text = malloc(BASE64_ENCODE_RAW_LENGTH(t->size) + 1);

	if (!text)
		return NULL;
	base64_encode_raw(text, t->size, (const uint8_t *)t->data);
	text[BASE64_ENCODE_RAW_LENGTH(t->size)] = '\0';
	return json_pack("{s:s,s:s,s:I,s:b}", "schema", WIRE_SCHEMA, "data", text, "offset",
			 (json_int_t)next, "end", t->is_end);
}

/* 1: there is something to say; 0: not yet. `offset` of the answer is where to read on. */
static int read_some(const struct reader *r, json_t **ret, struct err *err)
{
	struct store_text t;
	int rc = store_output(r->api->c.store, r->what, &t, err);

	if (rc < 0)
		return rc;
	*ret = encode(&t, r->what.offset + (int64_t)t.size);
	free(t.data);
	if (!*ret)
		return err_set(err, -ENOMEM, "out of memory");
	return t.size > 0 || t.is_end;
}

static bool on_wake(void *ctx, enum poll_why why)
{
	struct reader *r = ctx;
	_cleanup_json_ json_t *doc = NULL;
	struct err err;
	int rc = read_some(r, &doc, &err);

	if (rc == 0 && why == POLL_WOKEN)
		return false;
	if (rc < 0)
		exchange_answer(r->x, (struct exchange_answer){ .status = 500 });
	else
		call_answer(r->api, r->x, doc, NULL);
	free(r);
	return true;
}

static int hold(const struct reader *r, int64_t wait_s, struct err *err)
{
	_cleanup_free_ struct reader *kept = malloc(sizeof(*kept));
	struct poll_waiter w = { .kind = POLL_JOB, .wake = on_wake };
	int rc;

	if (!kept)
		return err_set(err, -ENOMEM, "out of memory");
	*kept = *r;
	w.ctx = kept;
	w.deadline_ns = call_monotonic_ns() + wait_s * S_NS;
	call_step_key(r->what.job, r->what.step, w.key);
	rc = poll_add(r->api->c.poll, &w, err);
	if (rc < 0)
		return rc;
	TAKE_PTR(kept);
	return CALL_HELD;
}

static int read_query(struct call *c, struct reader *r, int64_t *ret_wait_s, struct err *err)
{
	static const int64_t none = 0;
	const char *stream = call_query_text(c, "stream");
	int rc;

	r->what.stream = stream && !strcmp(stream, "err") ? SYNC_ERR : SYNC_OUT;
	if (stream && r->what.stream == SYNC_OUT && strcmp(stream, "out") != 0)
		return err_set(err, -EINVAL, "stream=%.20s: it is out or err", stream);
	rc = call_query_int(c, "offset", (struct wire_int){ 0, INT64_MAX / 2, &none },
			    &r->what.offset, err);
	if (rc >= 0)
		rc = call_query_int(c, "wait", (struct wire_int){ 0, WAIT_MAX_S, &none },
				    ret_wait_s, err);
	if (rc >= 0)
		rc = call_query_int(c, "step", (struct wire_int){ 0, STORE_STEPS_MAX, &none },
				    &r->what.step, err);
	return rc;
}

int route_output(struct call *c, struct err *err)
{
	struct reader r = { .api = c->api, .x = c->x, .what = { .job = c->id } };
	struct call_owned job;
	int64_t wait_s;
	int rc = call_own_job(c, &job, err);

	if (rc >= 0)
		rc = read_query(c, &r, &wait_s, err);
	if (rc >= 0)
		rc = read_some(&r, &c->answer, err);
	if (rc != 0 || wait_s == 0)
		return rc < 0 ? rc : 0;
	json_decref(TAKE_PTR(c->answer));
	return hold(&r, wait_s, err);
}
