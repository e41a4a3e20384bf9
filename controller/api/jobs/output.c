/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c - GET /v1/jobs/ID/output: the output of a streamed job or of a step, sent as it
 * arrives. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/api/jobs/jobs.h"
#include "controller/api/await.h"
#include "controller/ledger/steps/steps.h"

static json_t *encode_output(const struct store_text *t, int64_t next)
{
	_cleanup_doc_ struct doc d = doc_message();

	doc_bytes(&d, "data", t->data, t->size);
	doc_int(&d, "offset", next);
	doc_bool(&d, "end", t->is_end);
	return doc_take(&d);
}

/* 1: there is output or its end; 0: not yet. `offset` of the answer is where the next request
 * reads on. */
static int read_some(struct api *a, const void *ctx, json_t **ret, struct err *err)
{
	const struct store_read *what = ctx;
	struct store_text t;
	int r = store_output(a->c.store, *what, &t, err);

	if (r < 0)
		return r;
	*ret = encode_output(&t, what->offset + (int64_t)t.size);
	free(t.data);
	if (!*ret)
		return err_set(err, -ENOMEM, "out of memory");
	return t.size > 0 || t.is_end;
}

static int read_query(struct call *c, struct store_read *what, int64_t *ret_wait_s,
		      struct err *err)
{
	static const int64_t none = 0;
	const char *stream = call_query_text(c, "stream");
	int r;

	what->stream = stream && !strcmp(stream, "err") ? SYNC_ERR : SYNC_OUT;
	if (stream && what->stream == SYNC_OUT && strcmp(stream, "out") != 0)
		return err_set(err, -EINVAL, "stream=%.20s: it is out or err", stream);
	r = call_query_int(c, "offset", (struct wire_int){ 0, INT64_MAX / 2, &none },
			   &what->offset, err);
	if (r >= 0)
		r = await_query(c, ret_wait_s, err);
	if (r >= 0)
		r = call_query_int(c, "step", (struct wire_int){ 0, STORE_STEPS_MAX, &none },
				   &what->step, err);
	return r;
}

int route_output(struct call *c, struct err *err)
{
	struct store_read what = { .job = c->id };
	struct await w = { .read = read_some, .what = &what, .size = sizeof(what) };
	struct owned_job job;
	int r = owned_job_find(c, &job, err);

	if (r >= 0)
		r = read_query(c, &what, &w.wait_s, err);
	w.job = what.job;
	w.step = what.step;
	return r < 0 ? r : await_answer(c, &w, err);
}
