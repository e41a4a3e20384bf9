/* job.c - one job in full: what was asked, used, charged, and how it ended. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/views/job_attempts.h"
#include "cli/client/job_fetch.h"
#include "cli/views/job_gpus.h"
#include "cli/views/job_parts.h"
#include "cli/views/job_view.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/wire/wire.h"
#include "controller/policy/efficiency/advice.h"

static const struct table_column columns[] = {
	{ "resource", "RESOURCE", CELL_TEXT }, { "requested", "REQUESTED", CELL_FIGURE },
	{ "used", "USED", CELL_FIGURE },       { "percent", "%", CELL_COUNT },
	{ "meaning", "MEANING", CELL_TEXT },   { 0 },
};

/* ---- requested against used ---- */

struct line {
	const char *resource, *meaning;
	enum table_cell_kind kind;
	int64_t requested, used; /* -1: not stated, not measured */
};

/* Bytes of one line in one family of units: that of the request. */
static const char *format(const struct line *l, int64_t value, char buf[static TABLE_CELL_MAX])
{
	if (l->kind == CELL_BYTES && l->requested > 0)
		return amount_format_bytes_like(value, l->requested, buf);
	return table_format_cell(l->kind, value, buf);
}

static void put_line(struct table *t, const struct line *l)
{
	char buf[TABLE_CELL_MAX];

	table_row(t);
	table_text(t, "resource", l->resource);
	table_text(t, "meaning", l->meaning);
	if (l->requested > 0)
		table_text(t, "requested", format(l, l->requested, buf));
	if (l->used >= 0)
		table_text(t, "used", format(l, l->used, buf));
	if (l->requested > 0 && l->used >= 0)
		table_int(t, "percent", (int64_t)((__int128)l->used * 100 / l->requested));
	if (l->requested > 0 && l->used > l->requested)
		table_tone(t, "percent", TONE_BAD);
}

/* Before it runs there is nothing to measure and nothing to charge. */
static bool has_run(const struct job_view *v)
{
	return v->state != JOB_QUEUED && v->state != JOB_STARTING;
}

static int64_t measured(const struct usage *u, const int64_t *field)
{
	return usage_has(u, field) ? *field : -1;
}

/* Cores: cpu time against what the cores could have given while the job ran; the number of
 * cores that were busy on average has two decimals. Starting and ending a job takes cpu time
 * outside its running time: of a job of seconds it could show more than all cores. */
static void put_cpu(struct table *t, const struct job_view *v)
{
	const struct usage *u = &v->usage;
	int64_t cpu_ns = measured(u, &u->cpu_ns), hundredths;
	char buf[TABLE_CELL_MAX];
	struct line l = { "cpu time", "on a core; of cores x running time", CELL_DURATION_NS,
			  -1, cpu_ns };

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

/* GPUs: as cores, the number that were busy on average. */
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

/* Used beside allocated GPUs. */
static void put_gpu_lines(struct table *t, const struct job_view *v)
{
	const struct usage *u = &v->usage;
	int64_t n = v->requested.ngpus, held_ns = -1;
	const struct line lines[] = {
		{ "gpus used", "GPUs that did anything at all", CELL_COUNT, n,
		  measured(u, &u->gpus_used) },
		{ "gpu time", "busy; of GPUs x running time", CELL_DURATION_NS,
		  __builtin_mul_overflow(n, v->running_ns, &held_ns) ? -1 : held_ns,
		  measured(u, &u->gpu_busy_ns) },
		{ "gpu mem", "sum of the peaks; of all memory of its GPUs", CELL_BYTES,
		  job_gpus_memory(v), measured(u, &u->gpu_mem_peak_bytes) },
		{ "gpu idle", "since the one idle longest last did anything", CELL_DURATION_NS,
		  -1, measured(u, &u->gpu_idle_ns) },
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
		  measured(u, &u->vmem_peak_bytes) },
		{ "mem", "peak resident, without page cache", CELL_BYTES, r->mem_bytes,
		  measured(u, &u->rss_peak_bytes) },
		{ "mem+cache", "peak with page cache, which the kernel takes back", CELL_BYTES,
		  -1, measured(u, &u->mem_peak_bytes) },
		{ "jobfs", "peak of node-local disk", CELL_BYTES, r->jobfs_bytes,
		  measured(u, &u->jobfs_peak_bytes) },
		{ "walltime", "running, without suspension", CELL_SECONDS, r->walltime_s,
		  ran ? v->running_ns / S_NS : -1 },
		{ "pids", "most processes and threads at once", CELL_COUNT, r->pids,
		  measured(u, &u->procs_peak) },
	};

	put_cpu(t, v);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (lines[i].requested > 0 || lines[i].used >= 0 || (ran && i < 5))
			put_line(t, &lines[i]);
	put_gpu_lines(t, v);
}

/* What is "-" and not explained by the job's state was not measured: say which. */
static void tell_unmeasured(const struct job_view *v, FILE *to)
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

static void tell_cores(const struct job_view *v, FILE *to)
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

/* ---- the words around it ---- */

static void tell_pair(FILE *to, const char *title, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "%-11s", title);
	cli_put(to, text);
	fputc('\n', to);
}

static void tell_time(FILE *to, const char *title, const json_t *j, const char *key)
{
	char buf[TABLE_CELL_MAX];
	int64_t at = cli_int(j, key, 0);

	if (at > 0)
		tell_pair(to, title, table_format_cell(CELL_TIME_NS, at, buf));
}

static void tell_head(const struct job_view *v, FILE *to)
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
	tell_pair(to, "user", cli_text(v->j, "user"));
	tell_pair(to, "account", cli_text(v->j, "account"));
	tell_pair(to, "cluster", cli_text(v->j, "cluster"));
	tell_pair(to, "queue", cli_text(v->j, "queue"));
	tell_pair(to, "QOS", cli_text(v->j, "qos"));
	tell_pair(to, "node", job_parts_nodes(v, nodes));
	tell_pair(to, "node type", v->requested.node_type);
	tell_pair(to, "features", v->requested.features);
	tell_pair(to, "cores", cli_text(v->j, "cpus"));
	if (cli_int(v->j, "attempt", 1) > 1)
		fprintf(to, "%-11s%" PRId64 "\n", "attempt", cli_int(v->j, "attempt", 1));
	tell_time(to, "submitted", v->j, "submitted_ns");
	tell_time(to, "started", v->j, "started_ns");
	tell_time(to, "ended", v->j, "ended_ns");
	if (v->suspended_ns > 0)
		tell_pair(to, "suspended",
			  table_format_cell(CELL_DURATION_NS, v->suspended_ns, suspended));
	if (job_view_array(v, array, sizeof(array)))
		tell_pair(to, "array", array);
	if (v->state == JOB_QUEUED)
		tell_pair(to, "waits", cli_text(v->j, "why"));
	tell_pair(to, "note", cli_text(v->j, "note"));
	tell_pair(to, "quota", cli_text(v->j, "quota_note"));
}

static void tell_end(const struct job_view *v, FILE *to)
{
	char text[REASON_TEXT_MAX];

	if (v->end.kind == END_NONE)
		return;
	fputc('\n', to);
	cli_put(to, reason_format(&v->end, text, sizeof(text)));
	fputc('\n', to);
}

static void tell_charge(const struct job_view *v, FILE *to)
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
	cli_put(to, unit ? unit : "equivalent");
	fprintf(to, " hours (%" PRId64 ".%03d s)", ms / 1000, (int)(ms % 1000));
	fputs(rate ? ": rate " : "", to);
	cli_put(to, rate ? rate : "");
	fputs(decided_by ? ", decided by " : "", to);
	cli_put(to, decided_by ? decided_by : "");
	fputs(rule && *rule ? "\nrule       " : "", to);
	cli_put(to, rule ? rule : "");
	ms = cli_int(v->j, "charge_used_ms", -1);
	if (ms >= 0)
		fprintf(to,
			"\nas used    %s (what the smallest request that served it would have "
			"cost)",
			table_format_cell(CELL_CHARGE_MS, ms, used));
	ms = cli_int(v->j, "adjusted_ms", 0);
	if (ms)
		fprintf(to, "\nadjusted   %s by hand: what counts is both together",
			table_format_cell(CELL_CHARGE_MS, ms, used));
	fputc('\n', to);
}

static void tell_advice(const struct job_view *v, FILE *to)
{
	struct advice_facts facts = { &v->requested, &v->usage, &v->end, v->running_ns };
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
	tell_head(v, to);
	fputc('\n', to);
	r = table_print(t, &c->format, err);
	if (r < 0)
		return r;
	r = job_parts_show(c, v, err);
	if (r >= 0)
		r = job_gpus_show(c, v, err);
	if (r < 0)
		return r;
	tell_cores(v, to);
	tell_unmeasured(v, to);
	tell_end(v, to);
	tell_charge(v, to);
	job_attempts_tell(v, to);
	tell_advice(v, to);
	return 0;
}

/* ---- the verb ---- */

static int job(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	struct job_view v;
	struct cli *c = ctx;
	int r = cli_begin(c, call, err);

	if (r == 0)
		r = job_fetch(c, (struct job_fetch_query){ call->args[0], "" }, &answer, &v,
			      err);
	if (r < 0)
		return r;
	if (c->format.output != TABLE_TABLE)
		return cli_print_document(c, answer, err);
	return show_job(c, &v, err);
}

const struct verb cli_verb_job = {
	.name = "job",
	.args = "JOB",
	.help = "Show one job: what it requested, used and cost, and how it ended",
	.details = "With --csv and --output raw: one line for each figure, its key is a path.",
	.examples = "reeve job 12\nreeve job 12[7]\nreeve job 12 --json | jq .job.usage",
	.min_args = 1,
	.max_args = 1,
	.run = job,
};
