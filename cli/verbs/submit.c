/* SPDX-License-Identifier: GPL-2.0-or-later */
/* submit.c - `reeve submit`: submits a job and prints its number. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "cli/client/submit/each_script.h"
#include "cli/client/submit/submission.h"
#include "cli/client/wait/wait_end.h"
#include "common/err.h"
#include "common/wire/wire.h"

static const struct verb_option options[] = {
	SUBMISSION_OPTIONS,
	{ "output", 'o', "FILE", "file for standard output; default: NAME.oJOB in the workdir",
	  NULL },
	{ "error", 'e', "FILE", "file for standard error; default: NAME.eJOB in the workdir",
	  NULL },
	{ "join", 'j', "oe", "write standard error into standard output", "oe" },
	{ "array", 'J', "FIRST-LAST[:STEP][%MOST]",
	  "one array task for each index, at most MOST of them at once; the variable "
	  "REEVE_ARRAY_INDEX has the index",
	  NULL },
	{ "depend", 'W', "depend=KIND:JOB[:JOB]...",
	  "wait for other jobs, as in PBS: afterok:1:2[7],afterany:3", NULL },
	{ "after-ok", 0, "JOB,...",
	  "start when these jobs have succeeded; end the job when one fails", NULL },
	{ "after-any", 0, "JOB,...", "start when these jobs have ended, in any way", NULL },
	{ "hold", 'h', NULL, "hold the job until 'reeve release'", NULL },
	{ "requeue", 'r', "y|n", "y: queue the job again when its node is lost; default: n",
	  "y n" },
	{ "wait", 0, NULL,
	  "wait until the job has ended, and exit with its status as 'reeve run'; of several "
	  "jobs the first status that is not 0",
	  NULL },
	{ "each", 0, NULL,
	  "each argument is a script, and a job with these options; none is submitted when one "
	  "of them cannot be read",
	  NULL },
	MAIL_OPTIONS,
	{ 0 },
};

static const struct table_column columns[] = {
	{ "job", "JOB", CELL_COUNT },
	{ 0 },
};

static int print_job(const struct cli *c, int64_t job, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_(table_freep) struct table *t = NULL;
	int r;

	if (c->format.output == TABLE_TABLE) {
		printf("%" PRId64 "\n", job);
		return 0;
	}
	if (c->format.output == TABLE_JSON) {
		doc = json_pack("{s:s,s:I}", "schema", WIRE_SCHEMA, "job", (json_int_t)job);
		return cli_print_document(c, doc, err);
	}
	r = table_new("jobs", columns, &t, err);
	if (r < 0)
		return r;
	table_row(t);
	table_int(t, "job", job);
	return table_print(t, &c->format, err);
}

/* ---- --each ---- */

static const struct table_column each_columns[] = {
	{ "job", "JOB", CELL_COUNT },
	{ "script", "SCRIPT", CELL_TEXT },
	{ 0 },
};

struct each_output {
	const struct cli *c;
	struct table *t;
};

/* For people at once, so that who interrupts knows what was submitted. */
static void put_each(void *ctx, const struct each_script *one)
{
	const struct each_output *to = ctx;

	if (to->c->format.output == TABLE_TABLE) {
		printf("%" PRId64 "\n", one->job);
		fflush(stdout);
		return;
	}
	table_row(to->t);
	table_int(to->t, "job", one->job);
	table_text(to->t, "script", one->path);
}

static int wait_each(struct cli *c, const struct each_script *jobs, int n, struct err *err)
{
	int first = c->exit_code, r = 0;

	for (int i = 0; i < n && r == 0; i++) {
		if (!jobs[i].job)
			continue;
		r = wait_end(c, "submit", jobs[i].job, err);
		first = first ? first : c->exit_code;
	}
	c->exit_code = first;
	return r;
}

static int run_each(struct cli *c, const struct verb_call *call, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	_cleanup_free_ struct each_script *jobs = NULL;
	struct each_output to = { .c = c };
	struct err unprinted;
	int r = table_new("jobs", each_columns, &t, err);

	to.t = t;
	if (r == 0)
		r = each_script_submit(c, call, (struct each_script_sink){ put_each, &to },
				       &jobs, err);
	if (c->format.output != TABLE_TABLE && jobs &&
	    table_print(t, &c->format, r < 0 ? &unprinted : err) < 0)
		r = r < 0 ? r : -EINVAL;
	if (r < 0 || !verb_count(call, "wait"))
		return r;
	fflush(stdout);
	return wait_each(c, jobs, call->n_args, err);
}

static int run_submit(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(request_done) struct request r;
	struct cli *c = ctx;
	int64_t job = 0;
	int rc;

	request_init(&r);
	rc = cli_begin(c, call, err);
	if (rc == 0 && verb_count(call, "each"))
		return run_each(c, call, err);
	if (rc == 0)
		rc = submission_read(c, call, &r, err);
	if (rc == 0)
		rc = submission_send(c, &r, &job, err);
	if (rc == 0 && r.is_immediate)
		rc = submission_wait_start(c, job, err);
	if (rc == 0)
		rc = print_job(c, job, err);
	if (rc < 0 || !verb_count(call, "wait"))
		return rc;
	fflush(stdout); /* who reads the number need not wait */
	return wait_end(c, "submit", job, err);
}

const struct verb cli_verb_submit = {
	.name = "submit",
	.args = "SCRIPT [ARG]... | -- COMMAND [ARG]...",
	.help = "Submit a job and print its number",
	.details =
		"SCRIPT is a file, or - for standard input. Its lines that begin with #REEVE or\n"
		"#PBS contain options (#REEVE -l ncpus=4); options given here take precedence.\n"
		"With --each, all arguments are scripts, and one number a line is printed.\n"
		"The job starts in the directory of the submission, without a terminal and with\n"
		"/dev/null as its input. ncpus, vmem, jobfs and walltime must be stated unless\n"
		"the site has defaults; 'reeve cost' shows how a request is read.",
	.examples = "reeve submit -l ncpus=4,vmem=2GB,jobfs=500MB,walltime=0:10:00 job.sh\n"
		    "reeve submit -N test -l ncpus=1,vmem=1GB,jobfs=1MB,walltime=60 -- ./model "
		    "-n 5\n"
		    "reeve submit --env OMP_NUM_THREADS=4 job.sh input.dat\n"
		    "reeve submit -J 0-999%20 step.sh\n"
		    "reeve submit --after-ok 123,124[7] join.sh\n"
		    "reeve submit --each -l walltime=1:00:00 case-*.sh",
	.options = options,
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_submit,
};
