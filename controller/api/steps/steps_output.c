/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps_output.c - GET /v1/jobs/ID/steps/output: sends the output of several steps, as it
 * arrives, to the user who started them together. */
#include <errno.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/api/steps/steps.h"
#include "controller/api/await.h"
#include "controller/ledger/steps/steps.h"

static int add_chunk(void *ctx, const struct store_steps_chunk *c, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "step", c->step);
	doc_text(&d, "stream", sync_stream_name(c->stream));
	doc_bytes(&d, "data", c->data, c->size);
	if (json_array_append_new(ctx, doc_take(&d)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* 1: there is output, or all steps have ended; 0: not yet. */
static int read_some(struct api *a, const void *ctx, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	struct store_steps_span span = *(const struct store_steps_span *)ctx;
	json_t *chunks = json_array();
	int r;

	if (!doc || json_object_set_new(doc, "chunks", chunks) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = store_steps_output(a->c.store, &span, add_chunk, chunks, err);
	if (r < 0)
		return r;
	if (json_object_set_new(doc, "next", json_integer(span.since)) < 0 ||
	    json_object_set_new(doc, "end", json_boolean(r > 0)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(doc);
	return r > 0 || json_array_size(chunks) > 0;
}

static int read_query(struct call *c, struct store_steps_span *s, int64_t *ret_wait_s,
		      struct err *err)
{
	static const int64_t none = 0;
	const struct wire_int number = { 0, STORE_STEPS_MAX, &none };
	int r = call_query_int(c, "first", number, &s->first, err);

	if (r >= 0)
		r = call_query_int(c, "last", number, &s->last, err);
	if (r >= 0)
		r = call_query_int(c, "since", (struct wire_int){ 0, INT64_MAX, &none },
				   &s->since, err);
	if (r >= 0)
		r = await_query(c, ret_wait_s, err);
	if (r < 0)
		return r;
	if (s->first < 1 || s->last < s->first || s->last - s->first >= STORE_STEPS_OPEN_MAX)
		return err_set(err, -EINVAL, "first, last: not the numbers of 1 to %d steps",
			       STORE_STEPS_OPEN_MAX);
	return 0;
}

int route_step_output(struct call *c, struct err *err)
{
	struct store_steps_span span = { .job = c->id };
	struct await w = { .read = read_some, .what = &span, .size = sizeof(span) };
	struct owned_job job;
	int r = owned_job_find(c, &job, err);

	if (r >= 0)
		r = read_query(c, &span, &w.wait_s, err);
	w.job = span.job;
	w.step = span.first == span.last ? span.first : API_ANY_STEP;
	return r < 0 ? r : await_answer(c, &w, err);
}
