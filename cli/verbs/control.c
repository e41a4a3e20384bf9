/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control.c - `reeve cancel`, `suspend`, `resume`, `hold` and `release`: one request for each job
 * named. */
#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include "cli/client/each_job.h"
#include "common/err.h"
#include "common/wire/wire.h"

static const struct table_column columns[] = {
	{ "job", "JOB", CELL_FIGURE },
	{ "state", "STATE", CELL_TEXT },
	{ 0 },
};

static int request_state(struct cli *c, const struct each_job *how, struct job_id id,
			 struct table *row, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	const char *verb = how->ctx;
	char text[JOB_ID_TEXT_MAX];
	int r;

	if (asprintf(&path, "/v1/jobs/%s/%s", job_id_format_path(id, text), verb) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_ask(c, (struct http_call){ .method = "POST", .path = path }, &answer, err);
	if (r < 0)
		return r;
	table_row(row);
	table_text(row, "state", cli_text(answer, "state"));
	return 0;
}

static int send_control(const struct verb_call *call, void *ctx, struct err *err)
{
	const struct each_job how = { .columns = columns,
				      .send = request_state,
				      .ctx = (char *)(uintptr_t)call->verb->name };
	int r = cli_begin(ctx, call, err);

	return r < 0 ? r : each_job_run(call, ctx, &how, err);
}

#define CONTROL_VERB(word, line, more)                                                         \
	const struct verb cli_verb_##word = {                                                  \
		.name = #word,                                                                 \
		.args = "JOB...",                                                              \
		.help = line,                                                                  \
		.details = more,                                                               \
		.examples = "reeve " #word " 12\nreeve " #word " 12 13 14 --json",             \
		.min_args = 1,                                                                 \
		.max_args = -1,                                                                \
		.run = send_control,                                                           \
	}

CONTROL_VERB(cancel, "Cancel jobs",
	     "A queued job ends at once. The processes of a running job get TERM, and KILL\n"
	     "if they do not end. The exit status is that of the first job that could not be\n"
	     "cancelled.");
CONTROL_VERB(suspend, "Suspend running jobs",
	     "A suspended job releases its cores and keeps its memory and jobfs. While it is\n"
	     "suspended it is not charged, and its walltime stands still.");
CONTROL_VERB(resume, "Resume suspended jobs",
	     "A job continues as soon as its node has as many free cores as it requested.");
CONTROL_VERB(hold, "Hold queued jobs, so that they do not start",
	     "A held job waits until 'reeve release'. Holding an array (12) holds every task\n"
	     "that has not started, holding an array task (12[7]) only that one. Only\n"
	     "operators release a job that an operator holds. 'reeve job' shows who holds a\n"
	     "job, and since when.");
CONTROL_VERB(release, "Release held jobs, so that they may start",
	     "The exit status is that of the first job that could not be released.");
