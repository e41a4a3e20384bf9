/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nice.c - `reeve nice`: lowers the priority of queued jobs; operators may also raise it. */
#include <errno.h>
#include <stdlib.h>
#include "cli/client/each_job.h"
#include "common/err.h"
#include "common/wire/wire.h"

static const struct table_column columns[] = {
	{ "job", "JOB", CELL_FIGURE },
	{ "nice", "NICE", CELL_COUNT },
	{ "site", "SITE", CELL_COUNT },
	{ 0 },
};

static const struct verb_option options[] = {
	{ "site", 0, NULL, "operators: set points that the site adds to the priority, instead",
	  NULL },
	{ 0 },
};

static int parse_points(const char *text, int64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return err_set(
			err, -EINVAL,
			"'%.32s' is not a whole number of points; write: reeve nice 1000 JOB",
			text);
	return 0;
}

struct points {
	const char *key; /* "nice", "site" */
	int64_t n;
};

static int send_points(struct cli *c, const struct each_job *how, struct job_id id,
		       struct table *row, struct err *err)
{
	const struct points *p = how->ctx;
	_cleanup_json_ json_t *body =
		json_pack("{s:s,s:I}", "schema", WIRE_SCHEMA, p->key, (json_int_t)p->n);
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	char text[JOB_ID_TEXT_MAX];
	int r;

	if (!body || asprintf(&path, "/v1/jobs/%s/priority", job_id_format_path(id, text)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_ask(c, (struct http_call){ .method = "POST", .path = path, .body = body },
		    &answer, err);
	if (r < 0)
		return r;
	table_row(row);
	table_int(row, p->key, p->n);
	return 0;
}

static int nice_jobs(const struct verb_call *call, void *ctx, struct err *err)
{
	struct points p = { .key = verb_count(call, "site") ? "site" : "nice" };
	const struct each_job how = {
		.columns = columns, .first = 1, .send = send_points, .ctx = &p
	};
	int r = parse_points(call->args[0], &p.n, err);

	if (r == 0)
		r = cli_begin(ctx, call, err);
	return r < 0 ? r : each_job_run(call, ctx, &how, err);
}

const struct verb cli_verb_nice = {
	.name = "nice",
	.args = "POINTS JOB...",
	.help = "Lower the priority of queued jobs",
	.details =
		"POINTS is subtracted from the priority that 'reeve prio' shows; 0 undoes it. It\n"
		"has no effect where the site starts jobs in order of submission. Operators may\n"
		"raise a priority by negative POINTS (reeve nice -- -1000 12), and may use\n"
		"--site.",
	.examples = "reeve nice 1000 12 13\nreeve nice --site 50000 14\nreeve nice 0 12",
	.options = options,
	.min_args = 2,
	.max_args = -1,
	.run = nice_jobs,
};
