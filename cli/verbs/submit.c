/* submit.c - `reeve submit`: submits a job and prints its number. */
#include <inttypes.h>
#include "cli/client/submission.h"
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
	  "wait until the job has ended, and exit with its status as 'reeve run'", NULL },
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

static int run_submit(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(request_done) struct request r;
	struct cli *c = ctx;
	int64_t job = 0;
	int rc;

	request_init(&r);
	rc = cli_begin(c, call, err);
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
		"The job starts in the directory of the submission, without a terminal and with\n"
		"/dev/null as its input. ncpus, vmem, jobfs and walltime must be stated unless\n"
		"the site has defaults; 'reeve cost' shows how a request is read.",
	.examples = "reeve submit -l ncpus=4,vmem=2GB,jobfs=500MB,walltime=0:10:00 job.sh\n"
		    "reeve submit -N test -l ncpus=1,vmem=1GB,jobfs=1MB,walltime=60 -- ./model "
		    "-n 5\n"
		    "reeve submit --env OMP_NUM_THREADS=4 job.sh input.dat\n"
		    "reeve submit -J 0-999%20 step.sh\n"
		    "reeve submit --after-ok 123,124[7] join.sh",
	.options = options,
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_submit,
};
