/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream.c - follows one output of a job by long polls, and writes it; see stream.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/client/follow.h"
#include "cli/output/stream.h"
#include "common/err.h"

struct stream {
	struct stream_config config;
	struct follow *follow;
	int64_t offset;
	stream_done_fn done;
	void *ctx;
};

static void write_path(void *ctx, char buf[static FOLLOW_PATH_MAX])
{
	const struct stream *s = ctx;

	snprintf(buf, FOLLOW_PATH_MAX,
		 "/v1/jobs/%" PRId64 "/output?stream=%s&offset=%" PRId64 "&wait=%ld",
		 s->config.job, s->config.name, s->offset, FOLLOW_WAIT_S);
}

static int write_output(void *ctx, const json_t *answer, bool *ret_end, struct err *err)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct stream *s = ctx;
	size_t size = 0;
	int r = follow_decode(json_object_get(answer, "data"), &data, &size, err);

	if (r >= 0)
		r = writer_write(&s->config.writer, data, size, err);
	if (r < 0)
		return r;
	s->offset += (int64_t)size;
	*ret_end = json_is_true(json_object_get(answer, "end"));
	return size > 0;
}

static void on_done(void *ctx, int result, const struct err *err)
{
	struct stream *s = ctx;

	s->done(s->ctx, result, err);
}

int stream_open(const struct cli *c, const struct stream_config *config, struct stream **ret,
		struct err *err)
{
	_cleanup_(stream_closep) struct stream *s = calloc(1, sizeof(*s));
	const struct follow_config follow = { "run", s, write_path, write_output, on_done };
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->config = *config;
	r = follow_open(c, &follow, &s->follow, err);
	if (r == 0)
		*ret = TAKE_PTR(s);
	return r;
}

struct stream *stream_close(struct stream *s)
{
	if (!s)
		return NULL;
	follow_close(s->follow);
	writer_done(&s->config.writer);
	free(s);
	return NULL;
}

int stream_start(struct stream *s, stream_done_fn done, void *ctx, struct err *err)
{
	s->done = done;
	s->ctx = ctx;
	return follow_start(s->follow, err);
}

int64_t stream_bytes(const struct stream *s)
{
	return s->offset;
}
