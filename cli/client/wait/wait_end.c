/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait_end.c - see wait_end.h. */
#include <inttypes.h>
#include "cli/client/wait/retry.h"
#include "cli/client/wait/wait_end.h"
#include "common/wire/wire.h"

#define FIRST_US (250 * 1000)
#define LONGEST_US (10 * 1000 * 1000)

void wait_end_tell(struct cli *c, const char *verb, const struct job_view *v)
{
	const json_t *array = json_object_get(v->j, "array");
	char text[REASON_TEXT_MAX];

	if (array) {
		c->exit_code = cli_int(array, "ended_well", 0) == cli_int(array, "n", -1)
				       ? CLI_OK
				       : CLI_FAILED;
		return;
	}
	c->exit_code = job_end_exit_code(&v->end);
	if (v->end.kind == END_EXITED)
		return;
	fprintf(stderr, "reeve %s: job %" PRId64 ": ", verb, v->job);
	cli_put(stderr, reason_format(&v->end, text, sizeof(text)));
	fputc('\n', stderr);
}

int wait_end(struct cli *c, const char *verb, int64_t job, struct err *err)
{
	static const bool never = false;
	int64_t pause_us = FIRST_US;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "?brief=1", job);
	for (;;) {
		const struct http_call call = { .method = "GET", .path = path };
		_cleanup_json_ json_t *answer = NULL;
		struct job_view v;

		r = retry_request(c, call, &never, &answer, err);
		if (r == 0)
			r = job_view_read(json_object_get(answer, "job"), &v, err);
		if (r == 0 && v.state == JOB_ENDED) {
			wait_end_tell(c, verb, &v);
			return 0;
		}
		if (r == 0)
			r = cli_pause(c, pause_us, err);
		if (r < 0)
			return r;
		pause_us = pause_us * 2 < LONGEST_US ? pause_us * 2 : LONGEST_US;
	}
}
