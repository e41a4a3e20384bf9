/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - the view of a job: requested against used, core by core and GPU by GPU, and its steps. See subjects.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/top/draw/bar.h"
#include "cli/top/views/job_rows.h"
#include "cli/top/views/subjects.h"
#include "cli/views/job_parts.h"
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

/* Steps, and the parts of a job on several nodes, as rows of one list. */
static const struct table_column steps_table[] = {
	{ "step", "STEP", CELL_TEXT },	      { "node", "NODE", CELL_TEXT },
	{ "state", "STATE", CELL_TEXT },      { "cpus", "CORES", CELL_TEXT },
	{ "ncpus", "CPUS", CELL_COUNT },      { "cpu_percent", "CPU", CELL_COUNT },
	{ "mem_percent", "MEM", CELL_COUNT }, { "vmem_percent", "VMEM", CELL_COUNT },
	{ "result", "RESULT", CELL_TEXT },    { 0 },
};

/* clang-format off */
const struct top_column top_steps_columns[] = {
	{ "step", "STEP", 6, 8, 0, false, NULL },
	{ "node", "NODE", 5, 24, 0, false, NULL },
	{ "state", "STATE", 6, 10, 0, false, NULL },
	{ "cpus", "CORES", 5, 16, 5, false, NULL },
	{ "ncpus", "CPUS", 5, 6, 4, false, NULL },
	{ "cpu_percent", "CPU", 4, 12, 1, true, NULL },
	{ "mem_percent", "MEM", 4, 12, 2, true, NULL },
	{ "vmem_percent", "VMEM", 4, 12, 2, true, NULL },
	{ "result", "RESULT", 8, 200, 3, false, NULL },
	{ .name = NULL },
};
/* clang-format on */

static int64_t if_measured(const struct usage *u, const int64_t *field)
{
	return usage_has(u, field) ? *field : -1;
}

/* ---- meters ---- */

static void add_cores(struct top_view *v, const struct job_view *job,
		      const struct top_rates *rates)
{
	int64_t now = top_rates_find(rates, job->job), busy = top_cores_busy(job);
	struct top_meter *m = top_view_meter(v, "Cores", CELL_FIGURE);

	m->of = job->requested.ncpus * 100;
	m->used = busy;
	if (now >= 0)
		snprintf(m->note, sizeof(m->note), "busy on average; now %" PRId64 ".%02d",
			 now / 100, (int)(now % 100));
	else if (busy >= 0)
		snprintf(m->note, sizeof(m->note), "busy on average");
}

struct amount {
	const char *name;
	int64_t of, now, peak; /* 0: not requested; below 0: not measured */
};

static void add_amount(struct top_view *v, const struct resources *r, const struct amount *a)
{
	struct top_meter *m;

	if (a->of <= 0 && a->now < 0 && a->peak < 0)
		return;
	m = top_view_meter(v, a->name, CELL_BYTES);
	m->of = a->of > 0 ? a->of : -1;
	m->like = resources_like(r, a->of);
	m->used = a->now;
	m->peak = a->peak;
}

static void add_amounts(struct top_view *v, const struct job_view *job)
{
	const struct resources *r = &job->requested;
	const struct usage *u = &job->usage;
	bool is_over = job->state == JOB_ENDED; /* then what it has now says nothing */
	const struct amount amounts[] = {
		{ "Mem", r->mem_bytes, is_over ? -1 : if_measured(u, &u->rss_bytes),
		  if_measured(u, &u->rss_peak_bytes) },
		{ "Vmem", r->vmem_bytes, is_over ? -1 : if_measured(u, &u->vmem_bytes),
		  if_measured(u, &u->vmem_peak_bytes) },
		{ "Jobfs", r->jobfs_bytes, is_over ? -1 : if_measured(u, &u->jobfs_bytes),
		  if_measured(u, &u->jobfs_peak_bytes) },
	};

	for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
		add_amount(v, r, &amounts[i]);
}

static void add_time(struct top_view *v, const struct job_view *job)
{
	struct top_meter *m = top_view_meter(v, "Time", CELL_SECONDS);
	char buf[TABLE_CELL_MAX];

	m->of = job->requested.walltime_s > 0 ? job->requested.walltime_s : -1;
	m->used = job->running_ns / S_NS;
	if (job->suspended_ns > 0)
		snprintf(m->note, sizeof(m->note), "and %s suspended",
			 table_format_cell(CELL_DURATION_NS, job->suspended_ns, buf));
}

static void add_gpu_meters(struct top_view *v, const struct job_view *job)
{
	const struct resources *r = &job->requested;
	const struct usage *u = &job->usage;
	struct top_meter *m;

	if (r->ngpus <= 0)
		return;
	m = top_view_meter(v, "GPUs", CELL_FIGURE);
	m->of = r->ngpus * 100;
	if (usage_has(u, &u->gpu_busy_ns) && job->running_ns > 0)
		m->used = (int64_t)((__int128)u->gpu_busy_ns * 100 / job->running_ns);
	snprintf(m->note, sizeof(m->note), "%.40s%sbusy on average", r->gpu_model,
		 *r->gpu_model ? " " : "");
}

/* ---- lines ---- */

static void add_core_line(struct top_view *v, const struct job_view *job)
{
	const struct usage *u = &job->usage;
	char text[4096];
	size_t n = 0;

	if (u->n_cores <= 0 || job->running_ns <= 0)
		return;
	for (int32_t i = 0; i < u->n_cores && n < sizeof(text) - 24; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %d:%d%%",
				      (int)u->cores[i].cpu,
				      (int)((__int128)u->cores[i].ns * 100 / job->running_ns));
	top_view_fact(v, TOP_PLAIN, "By core%s", text);
}

static void add_gpu_lines(struct top_view *v, const struct job_view *job)
{
	json_t *gpu;
	size_t i;

	json_array_foreach(json_object_get(job->j, "gpus"), i, gpu)
	{
		const char *uuid = cli_text(gpu, "uuid"), *model = cli_text(gpu, "model");
		int64_t busy_ns = cli_int(gpu, "busy_ns", -1),
			mem = cli_int(gpu, "mem_peak_bytes", -1);
		char busy[32] = "busy -", peak[TABLE_CELL_MAX] = "-";

		if (busy_ns >= 0 && job->running_ns > 0)
			snprintf(busy, sizeof(busy), "busy %d%%",
				 (int)((__int128)busy_ns * 100 / job->running_ns));
		if (mem >= 0)
			table_format_cell(CELL_BYTES, mem, peak);
		top_view_fact(v, TOP_PLAIN, "GPU    %s %s%s: %s, peak of memory %s",
			      model ? model : "?", uuid ? uuid : "",
			      json_is_true(json_object_get(gpu, "simulated")) ? " (simulated)"
									      : "",
			      busy, peak);
	}
}

/* The sentence about the end of a job has lines of its own: a process each. */
static void add_end(struct top_view *v, const struct job_view *job)
{
	char text[REASON_TEXT_MAX], *line, *rest = text;

	if (job->end.kind == END_NONE)
		return;
	reason_format(&job->end, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (*line)
			top_view_fact(v, job_view_is_bad(job) ? TOP_BAD : TOP_PLAIN, "%s",
				      line);
}

static void add_lines(struct top_view *v, const struct job_view *job)
{
	const char *why = cli_text(job->j, "why"), *note = cli_text(job->j, "note");
	const char *account = cli_text(job->j, "account"), *queue = cli_text(job->j, "queue");
	const char *cores = cli_text(job->j, "cpus");
	char nodes[JOB_PARTS_TEXT_MAX], array[JOB_VIEW_ARRAY_MAX], flag[64];
	const char *node = job_parts_nodes(job, nodes);

	top_view_fact(v, TOP_PLAIN, "User   %s, account %s, queue %s",
		      cli_text(job->j, "user") ?: "?", account ? account : "-",
		      queue ? queue : "-");
	if (node)
		top_view_fact(v, TOP_PLAIN, "Node   %s%s%s", node, cores ? ", cores " : "",
			      cores ? cores : "");
	if (job_view_array(job, array, sizeof(array)))
		top_view_fact(v, TOP_PLAIN, "Array  %s", array);
	if (why)
		top_view_fact(v, TOP_PLAIN, "Why    %s", why);
	if (note)
		top_view_fact(v, TOP_PLAIN, "Note   %s", note);
	if (job_view_flag(job, flag, sizeof(flag)))
		top_view_fact(v, TOP_BAD, "Note   %s", flag);
	add_core_line(v, job);
	add_gpu_lines(v, job);
	add_end(v, job);
}

/* ---- the list ---- */

static void put_percent(struct table *t, const char *column, int64_t used, int64_t of)
{
	int percent = top_percent(used, of);

	if (percent >= 0)
		table_int(t, column, percent);
}

static int put_part(struct table *t, const json_t *part, struct err *err)
{
	int64_t ncpus = cli_int(part, "ncpus", 0), ran_ns = cli_int(part, "running_ns", 0);
	const json_t *doc = json_object_get(part, "usage");
	struct usage u = { 0 };

	if (json_is_object(doc) && wire_decode_usage(doc, "usage", &u, err) < 0)
		return err_prefix(err, -EPROTO, "the controller's answer cannot be read");
	table_row(t);
	table_text(t, "step", "job");
	table_text(t, "node", cli_text(part, "node"));
	table_text(t, "state", cli_text(part, "state"));
	table_text(t, "cpus", cli_text(part, "cpus"));
	table_text(t, "result", cli_text(json_object_get(part, "end"), "line"));
	if (ncpus > 0)
		table_int(t, "ncpus", ncpus);
	if (usage_has(&u, &u.cpu_ns) && ncpus > 0)
		put_percent(t, "cpu_percent", u.cpu_ns / ncpus, ran_ns);
	if (usage_has(&u, &u.rss_bytes))
		put_percent(t, "mem_percent", u.rss_bytes, cli_int(part, "mem_bytes", 0));
	if (usage_has(&u, &u.vmem_bytes))
		put_percent(t, "vmem_percent", u.vmem_bytes, cli_int(part, "vmem_bytes", 0));
	return 0;
}

static void put_step(struct table *t, const json_t *step)
{
	const char *text = cli_text(step, "text");
	int64_t number = cli_int(step, "step", 0), status = cli_int(step, "exit_status", -1);
	char buf[32];

	table_row(t);
	snprintf(buf, sizeof(buf), "%" PRId64, number);
	table_text(t, "step", buf);
	table_text(t, "node", cli_text(step, "node"));
	table_text(t, "state", cli_text(step, "state"));
	if (status >= 0) {
		snprintf(buf, sizeof(buf), "exit %" PRId64, status);
		table_text(t, "result", buf);
	} else if (cli_int(step, "signal", 0) > 0) {
		snprintf(buf, sizeof(buf), "signal %" PRId64, cli_int(step, "signal", 0));
		table_text(t, "result", buf);
	} else {
		table_text(t, "result", text);
	}
}

static int add_list(const struct top_docs *docs, const struct job_view *job, struct top_view *v,
		    struct err *err)
{
	json_t *one;
	size_t i;
	int r = table_new("steps", steps_table, &v->list, err);

	v->list_name = "steps";
	v->usual = (struct top_sort){ "step", true };
	v->empty = "no steps: 'reeve exec' starts a command in a job that runs";
	json_array_foreach(json_object_get(job->j, "parts"), i, one)
	{
		if (r == 0)
			r = put_part(v->list, one, err);
	}
	json_array_foreach(json_object_get(docs->of[TOP_DOC_STEPS], "steps"), i, one)
	{
		if (r == 0)
			put_step(v->list, one);
	}
	return r;
}

int top_job_view(const struct top_ask *ask, const struct top_docs *docs, struct top_view *v,
		 struct err *err)
{
	char result[JOB_VIEW_RESULT_MAX];
	const char *name;
	struct job_view job;
	int r = job_view_read(json_object_get(docs->of[TOP_DOC_JOB], "job"), &job, err);

	(void)ask;
	if (r < 0)
		return r;
	name = cli_text(job.j, "name");
	snprintf(v->title, sizeof(v->title), "job %s %s, %s%s%s", job.id, name ? name : "",
		 job_state_name(job.state), job.end.kind != END_NONE ? ": " : "",
		 job.end.kind != END_NONE ? job_view_result(&job, result) : "");
	add_cores(v, &job, &docs->rates);
	add_amounts(v, &job);
	add_time(v, &job);
	add_gpu_meters(v, &job);
	add_lines(v, &job);
	return add_list(docs, &job, v, err);
}
