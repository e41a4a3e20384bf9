/* stream - the output of a running job, followed live by long polls.
 *
 * One stream is one of a job's two outputs: it has a connection of its own, asks again from
 * where it is until the controller says that nothing more will come, and writes what comes to
 * a file descriptor. While the controller is away it keeps asking; the job runs on.
 */
#pragma once
#include "cli/cli.h"
#include "cli/output/writer.h"

struct stream;

struct stream_config {
	int64_t job;
	const char *name;     /* "out" or "err" */
	struct writer writer; /* of its own: only fd and label are set */
};

/* Called once: result 0 at the end of the stream, < 0 as in cli.h. Not from stream_open(). */
typedef void (*stream_done_fn)(void *ctx, int result, const struct err *err);

int stream_open(const struct cli *c, const struct stream_config *config, struct stream **ret,
		struct err *err);
struct stream *stream_close(struct stream *s);
DEFINE_CLEANUP(struct stream *, stream_close)

int stream_start(struct stream *s, stream_done_fn done, void *ctx, struct err *err);
int64_t stream_bytes(const struct stream *s); /* written so far */
