/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - `reeve jobs`: lists jobs. */
#include <errno.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/output/table_format.h"
#include "cli/views/job_parts.h"
#include "cli/views/job_row.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"

#define LIMIT_ENDED 100 /* without --limit, where the list includes jobs that have ended */
#define PAGE_MAX 1000	/* jobs in one answer of the controller */

static const struct verb_option options[] = {
	{ "all", 'a', NULL, "include jobs that have ended", NULL },
	{ "state", 0, "STATE", "only jobs in this state",
	  "queued starting running suspended ending ended" },
	{ "user", 'u', "NAME", "only jobs of this user (operators)", NULL },
	{ "account", 'A', "NAME", "only jobs of this account", NULL },
	{ "node", 0, "NAME", "only jobs on this node", NULL },
	{ "array", 0, NULL, "one line for each array task that has started or is about to",
	  NULL },
	{ "of", 0, "JOB", "only tasks of this array", NULL },
	{ "limit", 0, "N",
	  "at most N jobs, newest first; 0: all; default: all, of those that have ended the "
	  "newest 100",
	  NULL },
	{ "before", 0, "JOB", "only jobs with a smaller number", NULL },
	{ 0 },
};

static const struct table_column columns[] = {
	{ "job", "JOB", CELL_FIGURE },
	{ "name", "NAME", CELL_TEXT },
	{ "user", "USER", CELL_TEXT },
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "cluster", "-CLUSTER", CELL_TEXT },
	{ "queue", "-QUEUE", CELL_TEXT },
	{ "qos", "-QOS", CELL_TEXT },
	{ "state", "STATE", CELL_TEXT },
	{ "result", "RESULT", CELL_TEXT },
	{ "node", "NODE", CELL_TEXT },
	{ "ncpus", "CPUS", CELL_COUNT },
	{ "ngpus", "-GPUS", CELL_COUNT },
	{ "gpu_model", "-GPU MODEL", CELL_TEXT },
	{ "gpu_busy_ns", "-GPU BUSY", CELL_DURATION_NS },
	{ "gpu_mem_peak_bytes", "-GPU MEM", CELL_BYTES },
	{ "gpu_idle_ns", "-GPU IDLE", CELL_DURATION_NS },
	{ "flag", "-FLAG", CELL_TEXT },
	{ "vmem_bytes", "VMEM", CELL_REQUEST },
	{ "vmem_peak_bytes", "PEAK", CELL_BYTES },
	{ "mem_bytes", "-MEM", CELL_REQUEST },
	{ "rss_peak_bytes", "-RESIDENT", CELL_BYTES },
	{ "jobfs_bytes", "-JOBFS", CELL_REQUEST },
	{ "jobfs_peak_bytes", "-JOBFS PEAK", CELL_BYTES },
	{ "walltime_s", "WALLTIME", CELL_SECONDS },
	{ "running_ns", "RUNNING", CELL_DURATION_NS },
	{ "suspended_ns", "-SUSPENDED", CELL_DURATION_NS },
	{ "cpu_ns", "-CPU TIME", CELL_DURATION_NS },
	{ "submitted_ns", "-SUBMITTED", CELL_TIME_NS },
	{ "started_ns", "-STARTED", CELL_TIME_NS },
	{ "ended_ns", "-ENDED", CELL_TIME_NS },
	{ "exit_code", "-EXIT", CELL_COUNT },
	{ "charge_requested_ms", "CHARGED", CELL_CHARGE_MS },
	{ "charge_used_ms", "-AS USED", CELL_CHARGE_MS },
	{ "unit", "-UNIT", CELL_TEXT },
	{ "note", "NOTE", CELL_TEXT },
	{ 0 },
};

/* 0 in the model means "not stated": then the cell stays empty. */
static void put_stated(struct table *t, const char *column, int64_t v)
{
	if (v > 0)
		table_int(t, column, v);
}

static void put_used(struct table *t, const char *column, const struct usage *u,
		     const int64_t *field)
{
	if (usage_has(u, field))
		table_int(t, column, *field);
}

static enum table_cell_tone tone_of(const struct job_view *v)
{
	if (job_view_is_bad(v))
		return TONE_BAD;
	return v->state == JOB_RUNNING ? TONE_GOOD
	       : v->state == JOB_ENDED ? TONE_DIM
				       : TONE_PLAIN;
}

/* A column that shows a cell of the answer as it is. */
struct cell {
	const char *column;
	enum job_row_cell from;
};

/* NOTE, the first of: the tasks of an array by state, what ended a bad job, why a queued job waits,
 * a condition that needs attention, the note of the node. */
static const char *note_of(const struct job_row *row, char *buf, size_t size)
{
	const struct job_view *v = &row->view;
	const char *why = job_row_text(row, JOB_ROW_WHY),
		   *note = job_row_text(row, JOB_ROW_NOTE);
	const char *flag = job_view_flag(v, buf, size);

	if (job_view_array(v, buf, size) && !why)
		return buf;
	if (v->end.kind != END_NONE && v->end.kind != END_EXITED)
		return reason_format_line(&v->end, buf, size);
	if (v->state == JOB_QUEUED && why)
		return why;
	return flag ? flag : note ? note : "";
}

static void put_texts(struct table *t, const struct job_row *row)
{
	static const struct cell cells[] = {
		{ "name", JOB_ROW_NAME },	{ "user", JOB_ROW_USER },
		{ "account", JOB_ROW_ACCOUNT }, { "cluster", JOB_ROW_CLUSTER },
		{ "queue", JOB_ROW_QUEUE },	{ "unit", JOB_ROW_UNIT },
		{ "qos", JOB_ROW_QOS }
	};
	const struct job_view *v = &row->view;
	char buf[REASON_TEXT_MAX], nodes[JOB_PARTS_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		table_text(t, cells[i].column, job_row_text(row, cells[i].from));
	table_text(t, "node", job_parts_nodes(v, nodes));
	table_text(t, "state", job_state_name(v->state));
	table_text(t, "result", v->end.kind != END_NONE ? job_view_result(v, buf) : NULL);
	table_text(t, "note", note_of(row, buf, sizeof(buf)));
	table_text(t, "flag", job_view_flag(v, buf, sizeof(buf)));
	table_tone(t, "flag", TONE_BAD);
	table_tone(t, "state", tone_of(v));
	table_tone(t, "result", tone_of(v));
}

static void put_job(struct table *t, const struct job_row *row)
{
	static const struct cell times[] = { { "submitted_ns", JOB_ROW_SUBMITTED_NS },
					     { "started_ns", JOB_ROW_STARTED_NS },
					     { "ended_ns", JOB_ROW_ENDED_NS } };
	const struct job_view *v = &row->view;
	const struct resources *r = &v->requested;
	const struct usage *u = &v->usage;

	table_row(t);
	table_text(t, "job", v->id);
	put_texts(t, row);
	put_stated(t, "ncpus", r->ncpus);
	put_stated(t, "ngpus", r->ngpus);
	put_stated(t, "vmem_bytes", r->vmem_bytes);
	put_stated(t, "mem_bytes", r->mem_bytes);
	put_stated(t, "jobfs_bytes", r->jobfs_bytes);
	put_stated(t, "walltime_s", r->walltime_s);
	put_used(t, "vmem_peak_bytes", u, &u->vmem_peak_bytes);
	put_used(t, "rss_peak_bytes", u, &u->rss_peak_bytes);
	put_used(t, "jobfs_peak_bytes", u, &u->jobfs_peak_bytes);
	put_used(t, "cpu_ns", u, &u->cpu_ns);
	put_used(t, "gpu_busy_ns", u, &u->gpu_busy_ns);
	put_used(t, "gpu_mem_peak_bytes", u, &u->gpu_mem_peak_bytes);
	put_used(t, "gpu_idle_ns", u, &u->gpu_idle_ns);
	table_text(t, "gpu_model", *r->gpu_model ? r->gpu_model : NULL);
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		put_stated(t, times[i].column, job_row_int(row, times[i].from));
	if (v->state != JOB_QUEUED && v->state != JOB_STARTING) {
		table_int(t, "running_ns", v->running_ns);
		table_int(t, "suspended_ns", v->suspended_ns);
	}
	if (v->end.kind != END_NONE)
		table_int(t, "exit_code", job_end_exit_code(&v->end));
	table_int(t, "charge_requested_ms", job_row_int(row, JOB_ROW_CHARGE_REQUESTED_MS));
	table_int(t, "charge_used_ms", job_row_int(row, JOB_ROW_CHARGE_USED_MS));
}

/* What was asked for, and how much of it has been shown. */
struct listing {
	struct cli *c;
	const struct verb_call *call;
	struct table *t;
	int64_t limit; /* INT64_MAX: none */
	int64_t n, last, next;
	bool has_parts; /* one answer did not hold all */
	char *ahead;	/* the path that was sent ahead; owned */
};

/* Those that have ended are as many as the past is long. */
static bool includes_ended(const struct verb_call *call)
{
	const char *state = verb_value(call, "state");

	return verb_count(call, "all") || (state && !strcmp(state, "ended"));
}

static int check_options(const struct verb_call *call, struct err *err)
{
	const char *of = verb_value(call, "of"), *before = verb_value(call, "before");
	const char *state = verb_value(call, "state");
	enum job_state known;
	int64_t n;

	if (state && job_state_parse(state, &known) < 0)
		return err_set(err, -EINVAL, "--state %.32s: write one of %s", state,
			       "queued, starting, running, suspended, ending, ended");
	if (of && (amount_parse_count(of, &n, NULL) < 0 || n < 1))
		return err_set(
			err, -EINVAL,
			"--of %.32s is not the number of an array; write the job number, 12",
			of);
	if (before && (amount_parse_count(before, &n, NULL) < 0 || n < 1))
		return err_set(
			err, -EINVAL,
			"--before %.32s is not a job number; write the last one that was shown",
			before);
	return 0;
}

static int read_limit(struct listing *l, struct err *err)
{
	const char *limit = verb_value(l->call, "limit");

	l->limit = includes_ended(l->call) ? LIMIT_ENDED : INT64_MAX;
	if (limit && (amount_parse_count(limit, &l->limit, NULL) < 0 || l->limit < 0))
		return err_set(err, -EINVAL, "--limit %.32s: write a whole number, 0 for all",
			       limit);
	if (l->limit == 0)
		l->limit = INT64_MAX;
	return 0;
}

/* Of the page behind job `next` (0: the first), with `n` jobs before it. Without --state and -a: "active", all that have not ended. */
static int make_path(const struct listing *l, int64_t n, int64_t next, char **path,
		     struct err *err)
{
	static const char *const keys[] = { "state", "user", "account", "node" };
	int64_t left = l->limit - n;
	char limit[24], before[24];
	int r = 0;

	snprintf(limit, sizeof(limit), "%lld", (long long)(left < PAGE_MAX ? left : PAGE_MAX));
	snprintf(before, sizeof(before), "%lld", (long long)next);
	*path = strdup("/v1/jobs?packed=1");
	if (!*path)
		return err_set(err, -ENOMEM, "out of memory");
	if (!verb_value(l->call, "state") && !verb_count(l->call, "all"))
		r = cli_query(path, "state", "active", err);
	if (r == 0 && verb_count(l->call, "array"))
		r = cli_query(path, "elements", "1", err);
	if (r == 0)
		r = cli_query(path, "array", verb_value(l->call, "of"), err);
	for (size_t i = 0; i < ARRAY_LEN(keys) && r == 0; i++)
		r = cli_query(path, keys[i], verb_value(l->call, keys[i]), err);
	if (r == 0)
		r = cli_query(path, "before", next ? before : verb_value(l->call, "before"),
			      err);
	return r < 0 ? r : cli_query(path, "limit", limit, err);
}

/* A list cut by --limit must not look complete; nor an empty one like a failure. */
static void print_rest(const struct listing *l)
{
	if (l->n && l->n >= l->limit)
		fprintf(stderr,
			"reeve jobs: %lld shown; there may be older ones: --limit 0 shows all, "
			"--before %lld the next\n",
			(long long)l->n, (long long)l->last);
	else if (!l->n && l->c->shows_hints)
		fprintf(stderr, "no jobs%s\n",
			verb_count(l->call, "all") ? ""
						   : " now; -a shows those that have ended");
}

/* Columns that leave room for NOTE, which says why a job waits, in 80 columns; all of them need WIDE. */
#define NARROW "job,name,user,state,node,ncpus,running_ns,note"
#define NARROW_ENDED "job,name,user,state,result,node,ncpus,running_ns,note"
#define WIDE 130

/* What fits into one answer is printed whole, as wide as it needs; more is printed page by page. */
static int print_page(struct listing *l, struct err *err)
{
	bool is_last = !l->next || l->n >= l->limit;
	struct table_format f = l->c->format;

	if (table_format_is_narrow(&f, WIDE))
		f.columns = includes_ended(l->call) ? NARROW_ENDED : NARROW;
	if (is_last && !l->has_parts)
		return table_print(l->t, &f, err);
	l->has_parts = true;
	return table_print_part(l->t, &f, is_last ? TABLE_LAST : TABLE_MORE, err);
}

/* People type "jobs 12" for "job 12". */
static int refuse_arguments(const struct verb_call *call, struct err *err)
{
	struct job_id id;

	if (call->n_args == 0)
		return 0;
	if (job_id_parse(call->args[0], &id, NULL) == 0)
		return err_set(err, -EINVAL,
			       "unexpected argument '%.40s'; 'reeve job %.40s' shows one job",
			       call->args[0], call->args[0]);
	return err_set(err, -EINVAL,
		       "unexpected argument '%.40s'; did you mean --account %.40s, or --user?",
		       call->args[0], call->args[0]);
}

static int put_page(struct listing *l, const json_t *answer, struct err *err)
{
	int64_t next = cli_int(answer, "next", 0);
	struct packed_rows rows;
	struct job_row job;
	int r = job_row_open(answer, &rows, err);

	if (r < 0)
		return r;
	while ((r = job_row_next(&rows, &job, err)) > 0) {
		put_job(l->t, &job);
		l->last = job.view.job;
		l->n++;
		job_row_done(&job);
	}
	if (r < 0)
		return r;
	if (next && l->next && next >= l->next)
		return err_set(err, -EPROTO, "the controller's pages of jobs do not end");
	l->next = next;
	return 0;
}

/* While this page is read and printed, the controller makes the next one: full pages are expected. */
static const char *guess_next_path(void *ctx, int64_t next)
{
	struct listing *l = ctx;
	struct err unused;

	free(l->ahead);
	l->ahead = NULL;
	if (l->limit - l->n <= PAGE_MAX ||
	    make_path(l, l->n + PAGE_MAX, next, &l->ahead, &unused) < 0)
		return NULL;
	return l->ahead;
}

static int get_page(struct listing *l, json_t **ret_answer, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	struct http_call call = { .method = "GET", .next_path = guess_next_path, .ctx = l };
	int r = make_path(l, l->n, l->next, &path, err);

	call.path = path;
	return r < 0 ? r : cli_ask(l->c, call, ret_answer, err);
}

/* Pages until the limit or the end: memory for one at a time. */
static int list_jobs(struct listing *l, struct err *err)
{
	int r;

	do {
		_cleanup_json_ json_t *answer = NULL;

		r = get_page(l, &answer, err);
		if (r == 0)
			r = put_page(l, answer, err);
		if (r == 0)
			r = print_page(l, err);
	} while (r == 0 && l->next && l->n < l->limit);
	return r;
}

static int run_jobs(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	struct listing l = { .c = ctx, .call = call };
	int r = refuse_arguments(call, err);

	if (r == 0)
		r = cli_begin(l.c, call, err);
	if (r == 0)
		r = check_options(call, err);
	if (r == 0)
		r = read_limit(&l, err);
	if (r == 0)
		r = table_new("jobs", columns, &t, err);
	l.t = t;
	if (r == 0)
		r = list_jobs(&l, err);
	if (r == 0)
		print_rest(&l);
	free(l.ahead);
	return r;
}

const struct verb cli_verb_jobs = {
	.name = "jobs",
	.args = "",
	.help = "List your jobs (operators: the jobs of all users)",
	.details =
		"Without -a, jobs that have not ended. An array is one line, and its NOTE counts\n"
		"its tasks by state; --array and --of show each task. RESULT is how a job ended.\n"
		"NOTE is why it waits, what killed it, or that its GPUs are idle (they did\n"
		"nothing for the site's GpuIdleMinutes). PEAK is the peak of vmem. An amount\n"
		"that was not measured is shown as -.",
	.examples = "reeve jobs\nreeve jobs -a --account physics -o job,user,result\n"
		    "reeve jobs --state queued --json\nreeve jobs --of 12 -a",
	.options = options,
	.max_args = -1, /* refused with what was meant */
	.run = run_jobs,
};
