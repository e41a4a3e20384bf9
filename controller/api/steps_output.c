/* steps_output.c - GET /v1/jobs/ID/steps/output: what several steps print, as it comes, to
 * whoever started them together. */
#include <errno.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/api/call.h"
#include "controller/ledger/store_steps.h"

struct reader {
	struct api *api;
	struct exchange *x;
	struct store_steps_span span;
};

static json_t *encode_data(const struct store_steps_chunk *c)
{
	size_t size = BASE64_ENCODE_RAW_LENGTH(c->size);
	_cleanup_free_ char *text = malloc(size + 1);

	if (!text)
		return NULL;
	base64_encode_raw(text, c->size, c->data);
	return json_stringn(text, size);
}

static int add_chunk(void *ctx, const struct store_steps_chunk *c, struct err *err)
{
	json_t *j = json_pack("{s:I,s:s}", "step", (json_int_t)c->step, "stream",
			      c->stream == SYNC_ERR ? "err" : "out");

	if (!j || json_object_set_new(j, "data", encode_data(c)) < 0) {
		json_decref(j);
		return err_set(err, -ENOMEM, "out of memory");
	}
	return json_array_append_new(ctx, j) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* 1: there is something to say; 0: not yet. */
static int read_some(const struct reader *r, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	struct store_steps_span span = r->span;
	json_t *chunks = json_array();
	int rc;

	if (!doc || json_object_set_new(doc, "chunks", chunks) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	rc = store_steps_output(r->api->c.store, &span, add_chunk, chunks, err);
	if (rc < 0)
		return rc;
	if (json_object_set_new(doc, "next", json_integer(span.since)) < 0 ||
	    json_object_set_new(doc, "end", json_boolean(rc > 0)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(doc);
	return rc > 0 || json_array_size(chunks) > 0;
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
	struct poll_waiter w = { .kind = POLL_JOB, .wake = on_wake, .ctx = kept };
	bool is_one = r->span.first == r->span.last;
	int rc;

	if (!kept)
		return err_set(err, -ENOMEM, "out of memory");
	*kept = *r;
	w.deadline_ns = call_monotonic_ns() + wait_s * S_NS;
	call_step_key(r->span.job, is_one ? r->span.first : CALL_ANY_STEP, w.key);
	rc = poll_add(r->api->c.poll, &w, err);
	if (rc < 0)
		return rc;
	TAKE_PTR(kept);
	return CALL_HELD;
}

static int read_query(struct call *c, struct reader *r, int64_t *ret_wait_s, struct err *err)
{
	static const int64_t none = 0;
	const struct wire_int number = { 0, STORE_STEPS_MAX, &none };
	int rc = call_query_int(c, "first", number, &r->span.first, err);

	if (rc >= 0)
		rc = call_query_int(c, "last", number, &r->span.last, err);
	if (rc >= 0)
		rc = call_query_int(c, "since", (struct wire_int){ 0, INT64_MAX, &none },
				    &r->span.since, err);
	if (rc >= 0)
		rc = call_query_int(c, "wait", (struct wire_int){ 0, WAIT_MAX_S, &none },
				    ret_wait_s, err);
	if (rc < 0)
		return rc;
	if (r->span.first < 1 || r->span.last < r->span.first ||
	    r->span.last - r->span.first >= STORE_STEPS_OPEN_MAX)
		return err_set(err, -EINVAL, "first, last: not the numbers of 1 to %d steps",
			       STORE_STEPS_OPEN_MAX);
	return 0;
}

int route_step_output(struct call *c, struct err *err)
{
	struct reader r = { .api = c->api, .x = c->x, .span = { .job = c->id } };
	struct call_owned job;
	int64_t wait_s = 0;
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
