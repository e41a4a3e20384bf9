/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exec_output.c - writes the output of the steps of one `reeve exec`; see exec_output.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/client/exec_output.h"
#include "common/err.h"

static void write_path(void *ctx, char buf[static FOLLOW_PATH_MAX])
{
	const struct exec_output *o = ctx;

	snprintf(buf, FOLLOW_PATH_MAX,
		 "/v1/jobs/%" PRId64 "/steps/output?first=%" PRId64 "&last=%" PRId64
		 "&since=%" PRId64 "&wait=%ld",
		 o->job, o->first, o->first + (int64_t)o->n - 1, o->since, FOLLOW_WAIT_S);
}

/* One chunk is output of one step and stream. -EPROTO: of a step that is not ours. */
static int take_chunk(struct exec_output *o, const json_t *chunk, struct err *err)
{
	const char *stream = cli_text(chunk, "stream");
	int64_t at = cli_int(chunk, "step", 0) - o->first;
	_cleanup_free_ uint8_t *data = NULL;
	size_t size = 0;
	int r;

	if (!stream || at < 0 || at >= (int64_t)o->n)
		return err_set(err, -EPROTO,
			       "the controller's answer has output of another step");
	r = follow_decode(json_object_get(chunk, "data"), &data, &size, err);
	if (r < 0)
		return r;
	return writer_write(&o->writers[at][strcmp(stream, "err") ? EXEC_OUT : EXEC_ERR], data,
			    size, err);
}

static int write_chunks(void *ctx, const json_t *answer, bool *ret_end, struct err *err)
{
	struct exec_output *o = ctx;
	const json_t *chunks = json_object_get(answer, "chunks");
	size_t n = json_array_size(chunks);

	for (size_t i = 0; i < n; i++) {
		int r = take_chunk(o, json_array_get(chunks, i), err);

		if (r < 0)
			return r;
	}
	o->since = cli_int(answer, "next", o->since);
	*ret_end = json_is_true(json_object_get(answer, "end"));
	return n > 0;
}

static void on_done(void *ctx, int result, const struct err *err)
{
	struct exec_output *o = ctx;

	o->done(o->ctx, result, err);
}

int exec_output_start(const struct cli *c, struct exec_output *o, struct err *err)
{
	const struct follow_config follow = { "exec", o, write_path, write_chunks, on_done };
	int r = follow_open(c, &follow, &o->follow, err);

	return r < 0 ? r : follow_start(o->follow, err);
}

void exec_output_done(struct exec_output *o)
{
	o->follow = follow_close(o->follow);
	for (size_t i = 0; i < o->n * EXEC_STREAMS; i++) {
		writer_finish(&o->writers[i / EXEC_STREAMS][i % EXEC_STREAMS], NULL);
		writer_done(&o->writers[i / EXEC_STREAMS][i % EXEC_STREAMS]);
	}
}
