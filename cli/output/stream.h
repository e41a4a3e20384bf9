/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream - follows one output of a job (standard output or error) and writes it.
 *
 * Each stream has a connection of its own, requests output from its offset until the controller
 * reports the end, and writes it to a file descriptor. While the controller cannot be reached it
 * retries; the job continues.
 */
#pragma once
#include "cli/cli.h"
#include "cli/output/writer.h"

struct stream;

struct stream_config {
	int64_t job;
	const char *name;     /* "out" or "err" */
	struct writer writer; /* only fd and label are set; the stream owns the rest */
};

/* Called once: result 0 at the end of the stream, < 0 as in cli.h. Not from stream_open(). */
typedef void (*stream_done_fn)(void *ctx, int result, const struct err *err);

int stream_open(const struct cli *c, const struct stream_config *config, struct stream **ret,
		struct err *err);
struct stream *stream_close(struct stream *s);
DEFINE_CLEANUP(struct stream *, stream_close)

int stream_start(struct stream *s, stream_done_fn done, void *ctx, struct err *err);
int64_t stream_bytes(const struct stream *s); /* written so far */
