/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - `reeve job`: shows one job in full: request, use, charge, and its end. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/views/job_attempts.h"
#include "cli/client/job_fetch.h"
#include "cli/views/job_gpus.h"
#include "cli/views/job_parts.h"
#include "cli/views/job_series.h"
#include "cli/views/job_view.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/wire/wire.h"
#include "controller/policy/charge/tariff.h"
#include "controller/policy/efficiency/advice.h"

static const struct table_column columns[] = {
	{ "resource", "RESOURCE", CELL_TEXT }, { "requested", "REQUESTED", CELL_FIGURE },
	{ "used", "USED", CELL_FIGURE },       { "percent", "%", CELL_COUNT },
	{ "meaning", "MEANING", CELL_TEXT },   { 0 },
};

/* ---- the table of requested and used resources ---- */

struct line {
	const char *resource, *meaning;
	enum table_cell_kind kind;
	int64_t requested, used; /* -1: not stated, not measured */
	int64_t like; /* bytes are shown in its units; 0: in the units of `requested` */
};

/* USED in the units of the request (GB or GiB), so that the two can be compared. */
static const char *format_cell(const struct line *l, int64_t value,
			       char buf[static TABLE_CELL_MAX])
{
	if (l->kind == CELL_BYTES)
		return amount_format_bytes_like(value, l->like ? l->like : l->requested, buf);
	return table_format_cell(l->kind, value, buf);
}

static void put_line(struct table *t, const struct line *l)
{
	char buf[TABLE_CELL_MAX];

	table_row(t);
	table_text(t, "resource", l->resource);
	table_text(t, "meaning", l->meaning);
	if (l->requested > 0)
		table_text(t, "requested", format_cell(l, l->requested, buf));
	if (l->used >= 0)
		table_text(t, "used", format_cell(l, l->used, buf));
	if (l->requested > 0 && l->used >= 0)
		table_int(t, "percent", (int64_t)((__int128)l->used * 100 / l->requested));
	if (l->requested > 0 && l->used > l->requested)
		table_tone(t, "percent", TONE_BAD);
}

/* A job that has not run has no measurements and no charge. */
static bool has_run(const struct job_view *v)
{
	return v->state != JOB_QUEUED && v->state != JOB_STARTING;
}

static int64_t value_if_measured(const struct usage *u, const int64_t *field)
{
	return usage_has(u, field) ? *field : -1;
}

/* Two lines: cores busy on average (CPU time / running time), and CPU time of cores x running time.
 * Both are cut at the request: starting and ending a job takes CPU time outside its running time,
 * which could show more than all cores for a job of seconds. */
static void put_cpu(struct table *t, const struct job_view *v)
{
	const struct usage *u = &v->usage;
	int64_t cpu_ns = value_if_measured(u, &u->cpu_ns), hundredths;
	char buf[TABLE_CELL_MAX];
	struct line l = {
		"cpu time", "of cores x running time", CELL_DURATION_NS, -1, cpu_ns, 0
	};

	table_row(t);
	table_text(t, "resource", "ncpus");
	table_text(t, "meaning", "cores busy on average");
	snprintf(buf, sizeof(buf), "%" PRId64, v->requested.ncpus);
	table_text(t, "requested", v->requested.ncpus ? buf : NULL);
	if (cpu_ns >= 0 && v->running_ns > 0) {
		hundredths = (int64_t)((__int128)cpu_ns * 100 / v->running_ns);
		if (v->requested.ncpus > 0 && hundredths > v->requested.ncpus * 100)
			hundredths = v->requested.ncpus * 100;
		snprintf(buf, sizeof(buf), "%" PRId64 ".%02d", hundredths / 100,
			 (int)(hundredths % 100));
		table_text(t, "used", buf);
		if (v->requested.ncpus > 0)
			table_int(t, "percent", hundredths / v->requested.ncpus);
	}
	if (has_run(v) &&
	    !__builtin_mul_overflow(v->requested.ncpus, v->running_ns, &l.requested)) {
		if (l.requested > 0 && l.used > l.requested)
			l.used = l.requested;
		put_line(t, &l);
	}
}

/* GPUs busy on average, like put_cpu(). */
static void put_gpus(struct table *t, const struct job_view *v)
{
	const struct usage *u = &v->usage;
	int64_t n = v->requested.ngpus, hundredths;
	char buf[REQUEST_NAME_MAX + AMOUNT_TEXT_MAX];

	if (n <= 0)
		return;
	table_row(t);
	table_text(t, "resource", "ngpus");
	table_text(t, "meaning", "GPUs busy on average");
	snprintf(buf, sizeof(buf), "%s%s%" PRId64, v->requested.gpu_model,
		 *v->requested.gpu_model ? ":" : "", n);
	table_text(t, "requested", buf);
	if (!usage_has(u, &u->gpu_busy_ns) || v->running_ns <= 0)
		return;
	hundredths = (int64_t)((__int128)u->gpu_busy_ns * 100 / v->running_ns);
	snprintf(buf, sizeof(buf), "%" PRId64 ".%02d", hundredths / 100,
		 (int)(hundredths % 100));
	table_text(t, "used", buf);
	table_int(t, "percent", hundredths / n);
}

/* The other lines about GPUs. */
static void put_gpu_lines(struct table *t, const struct job_view *v)
{
	const struct usage *u = &v->usage;
	int64_t n = v->requested.ngpus, allocated_ns = -1;
	const struct line lines[] = {
		{ "gpus used", "GPUs that were used at all", CELL_COUNT, n,
		  value_if_measured(u, &u->gpus_used), 0 },
		{ "gpu time", "busy; of GPUs x running time", CELL_DURATION_NS,
		  __builtin_mul_overflow(n, v->running_ns, &allocated_ns) ? -1 : allocated_ns,
		  value_if_measured(u, &u->gpu_busy_ns), 0 },
		{ "gpu mem", "sum of the peaks; of all memory of its GPUs", CELL_BYTES,
		  job_gpus_memory(v), value_if_measured(u, &u->gpu_mem_peak_bytes), 0 },
		{ "gpu idle", "time since the GPU idle longest was last used", CELL_DURATION_NS,
		  -1, value_if_measured(u, &u->gpu_idle_ns), 0 },
	};

	put_gpus(t, v);
	for (size_t i = 0; i < ARRAY_LEN(lines) && n > 0 && has_run(v); i++)
		if (i < 3 || lines[i].used >= 0)
			put_line(t, &lines[i]);
}

static void put_lines(struct table *t, const struct job_view *v)
{
	const struct resources *r = &v->requested;
	const struct usage *u = &v->usage;
	bool ran = has_run(v);
	const struct line lines[] = {
		{ "vmem", "peak of the sum of virtual sizes", CELL_BYTES, r->vmem_bytes,
		  value_if_measured(u, &u->vmem_peak_bytes), resources_like(r, r->vmem_bytes) },
		{ "mem", "peak resident, without page cache", CELL_BYTES, r->mem_bytes,
		  value_if_measured(u, &u->rss_peak_bytes), resources_like(r, r->mem_bytes) },
		{ "mem+cache", "peak with page cache, which the kernel reclaims", CELL_BYTES,
		  -1, value_if_measured(u, &u->mem_peak_bytes),
		  resources_like(r, r->mem_bytes) },
		{ "jobfs", "peak of node-local disk", CELL_BYTES, r->jobfs_bytes,
		  value_if_measured(u, &u->jobfs_peak_bytes),
		  resources_like(r, r->jobfs_bytes) },
		{ "walltime", "running time, without suspension", CELL_SECONDS, r->walltime_s,
		  ran ? v->running_ns / S_NS : -1, 0 },
		{ "pids", "most processes and threads at once", CELL_COUNT, r->pids,
		  value_if_measured(u, &u->procs_peak), 0 },
	};

	put_cpu(t, v);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (lines[i].requested > 0 || lines[i].used >= 0 || (ran && i < 5))
			put_line(t, &lines[i]);
	put_gpu_lines(t, v);
}

/* Names the figures that are "-" because they were not measured. */
static void print_unmeasured(const struct job_view *v, FILE *to)
{
	const struct usage *u = &v->usage;
	const struct {
		const char *name;
		const int64_t *field;
	} figures[] = {
		{ "cpu time", &u->cpu_ns },	   { "vmem", &u->vmem_peak_bytes },
		{ "mem", &u->rss_peak_bytes },	   { "mem+cache", &u->mem_peak_bytes },
		{ "jobfs", &u->jobfs_peak_bytes }, { "pids", &u->procs_peak },
		{ "gpu busy", &u->gpu_busy_ns },   { "gpu mem", &u->gpu_mem_peak_bytes },
	};
	size_t n_figures = ARRAY_LEN(figures) - (v->requested.ngpus > 0 ? 0 : 2);
	int n = 0;

	if (!has_run(v))
		return;
	for (size_t i = 0; i < n_figures; i++)
		if (!usage_has(u, figures[i].field))
			fprintf(to, "%s%s", n++ ? ", " : "not measured (-): ", figures[i].name);
	if (n)
		fputc('\n', to);
}

static void print_cores(const struct job_view *v, FILE *to)
{
	const struct usage *u = &v->usage;

	if (u->n_cores <= 0 || v->running_ns <= 0)
		return;
	fputs("per core (busy):", to);
	for (int32_t i = 0; i < u->n_cores; i++)
		fprintf(to, " %d:%d%%", (int)u->cores[i].cpu,
			(int)((__int128)u->cores[i].ns * 100 / v->running_ns));
	fputc('\n', to);
}

/* ---- the lines above and below the table ---- */

static void print_pair(FILE *to, const char *title, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "%-11s", title);
	cli_put(to, text);
	fputc('\n', to);
}

static void print_time(FILE *to, const char *title, const json_t *j, const char *key)
{
	char buf[TABLE_CELL_MAX];
	int64_t at = cli_int(j, key, 0);

	if (at > 0)
		print_pair(to, title, table_format_cell(CELL_TIME_NS, at, buf));
}

static void print_head(const struct job_view *v, FILE *to)
{
	char result[JOB_VIEW_RESULT_MAX], suspended[TABLE_CELL_MAX];
	char array[JOB_VIEW_ARRAY_MAX], nodes[JOB_PARTS_TEXT_MAX];
	const char *name = cli_text(v->j, "name");

	fputs("job ", to);
	cli_put(to, v->id);
	fputs("  ", to);
	cli_put(to, name ? name : "");
	fprintf(to, "  %s", job_state_name(v->state));
	fprintf(to, v->end.kind != END_NONE ? ": %s\n" : "\n", job_view_result(v, result));
	print_pair(to, "user", cli_text(v->j, "user"));
	print_pair(to, "account", cli_text(v->j, "account"));
	print_pair(to, "cluster", cli_text(v->j, "cluster"));
	print_pair(to, "queue", cli_text(v->j, "queue"));
	print_pair(to, "QOS", cli_text(v->j, "qos"));
	print_pair(to, "node", job_parts_nodes(v, nodes));
	print_pair(to, "node type", v->requested.node_type);
	print_pair(to, "features", v->requested.features);
	print_pair(to, "pbs job", cli_text(v->j, "pbs_job"));
	if (cli_int(v->j, "slurm_job", 0))
		fprintf(to, "%-11s%" PRId64 "\n", "slurm job", cli_int(v->j, "slurm_job", 0));
	print_pair(to, "cores", cli_text(v->j, "cpus"));
	if (cli_int(v->j, "attempt", 1) > 1)
		fprintf(to, "%-11s%" PRId64 "\n", "attempt", cli_int(v->j, "attempt", 1));
	print_time(to, "submitted", v->j, "submitted_ns");
	print_time(to, "started", v->j, "started_ns");
	print_time(to, "ended", v->j, "ended_ns");
	if (v->suspended_ns > 0)
		print_pair(to, "suspended",
			   table_format_cell(CELL_DURATION_NS, v->suspended_ns, suspended));
	if (job_view_array(v, array, sizeof(array)))
		print_pair(to, "array", array);
	if (v->state == JOB_QUEUED)
		print_pair(to, "waits", cli_text(v->j, "why"));
	print_pair(to, "note", cli_text(v->j, "note"));
	print_pair(to, "quota", cli_text(v->j, "quota_note"));
	print_pair(to, "slurm", cli_text(v->j, "slurm_note"));
}

static void print_end(const struct job_view *v, FILE *to)
{
	char text[REASON_TEXT_MAX];

	if (v->end.kind == END_NONE)
		return;
	fputc('\n', to);
	cli_put(to, reason_format(&v->end, text, sizeof(text)));
	fputc('\n', to);
}

/* Nothing for a job that has not run: it has no charge yet. */
static void print_charge(const struct job_view *v, FILE *to)
{
	const char *rate = cli_text(v->j, "rate"), *unit = cli_text(v->j, "unit");
	const char *decided_by = cli_text(v->j, "decided_by"), *rule = cli_text(v->j, "rule");
	char requested[TABLE_CELL_MAX], used[TABLE_CELL_MAX];
	int64_t ms = cli_int(v->j, "charge_requested_ms", -1);

	if (ms < 0 || !has_run(v))
		return;
	fputs("\ncharged    ", to);
	fputs(table_format_cell(CELL_CHARGE_MS, ms, requested), to);
	fputc(' ', to);
	cli_put(to, unit ? tariff_amount_of(unit) : "equivalent hours");
	fprintf(to, " (%" PRId64 ".%03d s)", ms / 1000, (int)(ms % 1000));
	fputs(rate ? ": rate " : "", to);
	cli_put(to, rate ? rate : "");
	fputs(decided_by ? ", decided by " : "", to);
	cli_put(to, decided_by ? decided_by : "");
	fputs(rule && *rule ? "\nrule       " : "", to);
	cli_put(to, rule ? rule : "");
	ms = cli_int(v->j, "charge_used_ms", -1);
	if (ms >= 0)
		fprintf(to,
			"\nas used    %s (the cost of the smallest request that would have "
			"sufficed)",
			table_format_cell(CELL_CHARGE_MS, ms, used));
	ms = cli_int(v->j, "adjusted_ms", 0);
	if (ms)
		fprintf(to, "\nadjusted   %s by an operator; charged + adjusted counts",
			table_format_cell(CELL_CHARGE_MS, ms, used));
	fputc('\n', to);
}

static void print_advice(const struct job_view *v, FILE *to)
{
	struct advice_facts facts = { &v->requested, &v->usage, &v->end, v->running_ns,
				      cli_int(v->j, "slurm_job", 0) ? ENGINE_SLURM
				      : cli_text(v->j, "pbs_job")   ? ENGINE_PBS
								    : ENGINE_REEVE };
	char text[ADVICE_MAX];

	if (*advice_format(&facts, text))
		fprintf(to, "\n%s\n", text);
}

static int show_job(const struct cli *c, const struct job_view *v, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	FILE *to = c->format.to;
	int r = table_new("resources", columns, &t, err);

	if (r < 0)
		return r;
	put_lines(t, v);
	print_head(v, to);
	fputc('\n', to);
	r = table_print(t, &c->format, err);
	if (r < 0)
		return r;
	r = job_parts_show(c, v, err);
	if (r >= 0)
		r = job_gpus_show(c, v, err);
	if (r < 0)
		return r;
	print_cores(v, to);
	print_unmeasured(v, to);
	print_end(v, to);
	print_charge(v, to);
	job_attempts_print(v, to);
	print_advice(v, to);
	return 0;
}

/* ---- the verb ---- */

static int run_job(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	struct job_view v;
	struct cli *c = ctx;
	int r = cli_begin(c, call, err);

	if (r == 0 && verb_count(call, "series"))
		return job_series_show(c, call->args[0], err);
	if (r == 0)
		r = job_fetch(c, (struct job_fetch_query){ call->args[0], "" }, &answer, &v,
			      err);
	if (r < 0)
		return r;
	if (c->format.output != TABLE_TABLE)
		return cli_print_document(c, answer, err);
	return show_job(c, &v, err);
}

static const struct verb_option options[] = {
	{ "series", 0, NULL, "show how its use went over its time, at most 120 points", NULL },
	{ 0 },
};

const struct verb cli_verb_job = {
	.name = "job",
	.args = "JOB",
	.help = "Show one job: what it requested, used and cost, and how it ended",
	.details =
		"JOB is a number, 12[7] for task 7 of array 12, or CLUSTER:ID for a job of a\n"
		"Slurm cluster. A figure that was not measured is shown as -, and named below\n"
		"the table. With --csv and --output raw: one line for each value; its key is a\n"
		"path.",
	.examples =
		"reeve job 12\nreeve job 12[7]\nreeve job east:4711\nreeve job 12 --json | jq .job.usage\nreeve job 12 --series --csv",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_job,
};
