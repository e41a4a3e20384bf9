/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_rows.c - puts jobs of an answer into the rows of a list; see job_rows.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/top/draw/bar.h"
#include "cli/top/views/job_rows.h"
#include "cli/views/job_parts.h"
#include "common/err.h"
#include "common/time_units.h"

#define ATTENTION_PERCENT 90	   /* of an amount that ends the job when it is exceeded */
#define IDLE_AFTER_NS (5 * MIN_NS) /* a job that starts reads files first */

const struct table_column top_job_columns[] = {
	{ "job", "JOB", CELL_FIGURE },
	{ "name", "NAME", CELL_TEXT },
	{ "user", "USER", CELL_TEXT },
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "queue", "QUEUE", CELL_TEXT },
	{ "state", "STATE", CELL_TEXT },
	{ "node", "NODE", CELL_TEXT },
	{ "letter", "MAP", CELL_TEXT },
	{ "cpus", "CORES", CELL_TEXT },
	{ "ncpus", "CPUS", CELL_COUNT },
	{ "cores_now", "NOW", CELL_FIGURE },
	{ "cores_idle", "IDLE", CELL_FIGURE },
	{ "cpu_percent", "CPU", CELL_COUNT },
	{ "mem_percent", "MEM", CELL_COUNT },
	{ "mem_peak_percent", "MEM PEAK", CELL_COUNT },
	{ "vmem_percent", "VMEM", CELL_COUNT },
	{ "vmem_peak_percent", "VMEM PEAK", CELL_COUNT },
	{ "jobfs_percent", "JOBFS", CELL_COUNT },
	{ "jobfs_peak_percent", "JOBFS PEAK", CELL_COUNT },
	{ "time_percent", "TIME", CELL_COUNT },
	{ "ngpus", "GPUS", CELL_COUNT },
	{ "gpu_percent", "GPU", CELL_COUNT },
	{ "mem_bytes", "REQUESTED MEM", CELL_REQUEST },
	{ "rss_bytes", "MEM NOW", CELL_BYTES },
	{ "rss_peak_bytes", "MEM PEAK", CELL_BYTES },
	{ "vmem_bytes", "REQUESTED VMEM", CELL_REQUEST },
	{ "vmem_now_bytes", "VMEM NOW", CELL_BYTES },
	{ "vmem_peak_bytes", "VMEM PEAK", CELL_BYTES },
	{ "jobfs_bytes", "REQUESTED JOBFS", CELL_REQUEST },
	{ "jobfs_now_bytes", "JOBFS NOW", CELL_BYTES },
	{ "jobfs_peak_bytes", "JOBFS PEAK", CELL_BYTES },
	{ "cpu_ns", "CPU TIME", CELL_DURATION_NS },
	{ "running_ns", "RUNNING", CELL_DURATION_NS },
	{ "walltime_s", "WALLTIME", CELL_SECONDS },
	{ "waited_ns", "WAITED", CELL_DURATION_NS },
	{ "note", "NOTE", CELL_TEXT },
	{ 0 },
};

/* clang-format off */
#define BARS \
	{ "cpu_percent", "CPU", 9, 10, 1, true, NULL }, \
	{ "mem_percent", "MEM", 9, 10, 2, true, "mem_peak_percent" }, \
	{ "vmem_percent", "VMEM", 9, 10, 2, true, "vmem_peak_percent" }, \
	{ "jobfs_percent", "JOBFS", 9, 10, 8, true, "jobfs_peak_percent" }, \
	{ "gpu_percent", "GPU", 9, 10, 3, true, NULL }, \
	{ "time_percent", "TIME", 9, 10, 4, true, NULL }

const struct top_column top_running_columns[] = {
	{ "job", "JOB", 4, 14, 0, false, NULL },
	{ "user", "USER", 6, 10, 3, false, NULL },
	{ "account", "ACCOUNT", 8, 12, 9, false, NULL },
	{ "name", "NAME", 10, 20, 5, false, NULL },
	{ "node", "NODE", 5, 16, 7, false, NULL },
	{ "ncpus", "CPUS", 5, 6, 4, false, NULL },
	{ "cores_now", "NOW", 4, 8, 10, false, NULL },
	{ "cores_idle", "IDLE", 5, 8, 6, false, NULL },
	BARS,
	{ "running_ns", "RUNNING", 8, 12, 11, false, NULL },
	{ "note", "NOTE", 16, 60, 12, false, NULL },
	{ .name = NULL },
};

const struct top_column top_node_job_columns[] = {
	{ "job", "JOB", 4, 14, 0, false, NULL },
	{ "letter", "MAP", 4, 4, 1, false, NULL },
	{ "user", "USER", 6, 10, 3, false, NULL },
	{ "account", "ACCOUNT", 8, 12, 9, false, NULL },
	{ "name", "NAME", 10, 20, 5, false, NULL },
	{ "ncpus", "CPUS", 5, 6, 4, false, NULL },
	{ "cpus", "CORES", 6, 12, 8, false, NULL },
	{ "cores_now", "NOW", 4, 8, 10, false, NULL },
	BARS,
	{ "note", "NOTE", 16, 60, 12, false, NULL },
	{ .name = NULL },
};

const struct top_column top_queued_columns[] = {
	{ "job", "JOB", 4, 14, 0, false, NULL },
	{ "user", "USER", 6, 10, 2, false, NULL },
	{ "account", "ACCOUNT", 8, 12, 8, false, NULL },
	{ "name", "NAME", 8, 16, 4, false, NULL },
	{ "queue", "QUEUE", 6, 10, 10, false, NULL },
	{ "ncpus", "CPUS", 5, 6, 3, false, NULL },
	{ "ngpus", "GPUS", 5, 6, 5, false, NULL },
	{ "vmem_bytes", "VMEM", 7, 10, 9, false, NULL },
	{ "walltime_s", "WALLTIME", 9, 12, 7, false, NULL },
	{ "waited_ns", "WAITED", 8, 12, 1, false, NULL },
	{ "note", "WHY", 24, 300, 1, false, NULL },
	{ .name = NULL },
};
/* clang-format on */

/* A job beyond the letters is '*'. */
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

char top_job_letter(size_t row)
{
	return row < sizeof(letters) - 1 ? letters[row] : '*';
}

int64_t top_cores_busy(const struct job_view *v)
{
	int64_t most = v->requested.ncpus * 100, busy;

	if (!usage_has(&v->usage, &v->usage.cpu_ns) || v->running_ns <= 0 ||
	    v->requested.ncpus <= 0)
		return -1;
	busy = (int64_t)((__int128)v->usage.cpu_ns * 100 / v->running_ns);
	return busy > most ? most : busy;
}

static void put_percent(struct table *t, const char *column, int64_t used, int64_t of)
{
	int percent = top_percent(used, of);

	if (percent >= 0)
		table_int(t, column, percent);
}

static void put_figure(struct table *t, const char *column, int64_t hundredths)
{
	if (hundredths >= 0)
		table_decimal(t, column, 2, (double)hundredths / 100);
}

/* An amount that ends the job when it is exceeded: what it has now, its peak, and the two in percent. */
struct bounded {
	const char *percent, *peak_percent, *requested, *now, *peak;
	int64_t of;
	const int64_t *now_field, *peak_field;
};

static void put_bounded(struct table *t, const struct usage *u, const struct bounded *b)
{
	if (b->of > 0)
		table_int(t, b->requested, b->of);
	if (usage_has(u, b->now_field)) {
		table_int(t, b->now, *b->now_field);
		put_percent(t, b->percent, *b->now_field, b->of);
	}
	if (usage_has(u, b->peak_field)) {
		table_int(t, b->peak, *b->peak_field);
		put_percent(t, b->peak_percent, *b->peak_field, b->of);
	}
	if (usage_has(u, b->now_field) &&
	    top_percent(*b->now_field, b->of) >= ATTENTION_PERCENT)
		table_tone(t, b->percent, TONE_BAD);
}

static void put_amounts(struct table *t, const struct job_view *v)
{
	const struct resources *r = &v->requested;
	const struct usage *u = &v->usage;
	const struct bounded amounts[] = {
		{ "mem_percent", "mem_peak_percent", "mem_bytes", "rss_bytes", "rss_peak_bytes",
		  r->mem_bytes, &u->rss_bytes, &u->rss_peak_bytes },
		{ "vmem_percent", "vmem_peak_percent", "vmem_bytes", "vmem_now_bytes",
		  "vmem_peak_bytes", r->vmem_bytes, &u->vmem_bytes, &u->vmem_peak_bytes },
		{ "jobfs_percent", "jobfs_peak_percent", "jobfs_bytes", "jobfs_now_bytes",
		  "jobfs_peak_bytes", r->jobfs_bytes, &u->jobfs_bytes, &u->jobfs_peak_bytes },
	};

	for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
		put_bounded(t, u, &amounts[i]);
	if (r->ngpus > 0) {
		table_int(t, "ngpus", r->ngpus);
		if (usage_has(u, &u->gpu_busy_ns) && v->running_ns > 0)
			put_percent(t, "gpu_percent", u->gpu_busy_ns / r->ngpus, v->running_ns);
	}
}

static void put_cores(struct table *t, const struct job_view *v, const struct top_rates *rates)
{
	int64_t busy = top_cores_busy(v), all = v->requested.ncpus * 100;

	if (v->requested.ncpus > 0)
		table_int(t, "ncpus", v->requested.ncpus);
	if (usage_has(&v->usage, &v->usage.cpu_ns))
		table_int(t, "cpu_ns", v->usage.cpu_ns);
	put_percent(t, "cpu_percent", busy, all);
	if (busy >= 0)
		put_figure(t, "cores_idle", all - busy);
	put_figure(t, "cores_now", top_rates_find(rates, v->job));
}

static void put_times(struct table *t, const struct job_view *v, int64_t now_ns)
{
	int64_t submitted_ns = cli_int(v->j, "submitted_ns", 0);

	if (v->requested.walltime_s > 0)
		table_int(t, "walltime_s", v->requested.walltime_s);
	if (v->state == JOB_QUEUED) {
		if (submitted_ns > 0 && now_ns > submitted_ns)
			table_int(t, "waited_ns", now_ns - submitted_ns);
		return;
	}
	table_int(t, "running_ns", v->running_ns);
	put_percent(t, "time_percent", v->running_ns / S_NS, v->requested.walltime_s);
	if (top_percent(v->running_ns / S_NS, v->requested.walltime_s) >= ATTENTION_PERCENT)
		table_tone(t, "time_percent", TONE_BAD);
}

/* The amount of which the job has most, where that is nearly all. */
static const char *word_limit(const struct job_view *v, char *buf, size_t size)
{
	const struct resources *r = &v->requested;
	const struct usage *u = &v->usage;
	const struct {
		const char *name;
		int64_t of;
		const int64_t *field;
	} amounts[] = {
		{ "vmem", r->vmem_bytes, &u->vmem_bytes },
		{ "mem", r->mem_bytes, &u->rss_bytes },
		{ "jobfs", r->jobfs_bytes, &u->jobfs_bytes },
	};

	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		int percent = usage_has(u, amounts[i].field)
				      ? top_percent(*amounts[i].field, amounts[i].of)
				      : -1;

		if (percent < ATTENTION_PERCENT)
			continue;
		snprintf(buf, size, "%d%% of its %s", percent, amounts[i].name);
		return buf;
	}
	return NULL;
}

/* Of a job that waits: why. Of one that runs: its state where that is another, then what needs attention. */
static const char *word_note(const struct job_view *v, char *buf, size_t size)
{
	const char *why = cli_text(v->j, "why"), *note = cli_text(v->j, "note"), *limit;
	int64_t busy = top_cores_busy(v), all = v->requested.ncpus * 100;

	if (v->state == JOB_QUEUED && job_view_array(v, buf, size) && !why)
		return buf;
	if (v->state == JOB_QUEUED)
		return why;
	if (v->state != JOB_RUNNING) {
		snprintf(buf, size, "%s%s%s", job_state_name(v->state), why ? ": " : "",
			 why ? why : "");
		return buf;
	}
	if (why)
		return why;
	if (job_view_flag(v, buf, size))
		return buf;
	limit = word_limit(v, buf, size);
	if (limit)
		return limit;
	if (busy < 0 || v->running_ns < IDLE_AFTER_NS || busy > all / 2)
		return note;
	snprintf(buf, size, "%" PRId64 ".%d of %" PRId64 " cores idle", (all - busy) / 100,
		 (int)((all - busy) % 100 / 10), v->requested.ncpus);
	return buf;
}

static void put_texts(struct table *t, const struct job_view *v)
{
	static const char *const keys[] = { "name", "user", "account", "queue", "cpus" };
	char buf[256], nodes[JOB_PARTS_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		table_text(t, keys[i], cli_text(v->j, keys[i]));
	table_text(t, "node", job_parts_nodes(v, nodes));
	table_text(t, "state", job_state_name(v->state));
	table_text(t, "note", word_note(v, buf, sizeof(buf)));
}

int top_job_rows(const struct top_docs *docs, bool is_placed, struct table *t, struct err *err)
{
	char letter[2] = "";
	json_t *job;
	size_t i;

	json_array_foreach(json_object_get(docs->of[TOP_DOC_JOBS], "jobs"), i, job)
	{
		struct job_view v;
		int r = job_view_read(job, &v, err);

		if (r < 0)
			return r;
		if (is_placed && (v.state == JOB_QUEUED || v.state == JOB_ENDED))
			continue;
		letter[0] = top_job_letter(table_size(t));
		table_row(t);
		table_text(t, "job", v.id);
		table_text(t, "letter", is_placed ? letter : NULL);
		put_texts(t, &v);
		put_cores(t, &v, &docs->rates);
		put_amounts(t, &v);
		put_times(t, &v, docs->at_ns);
	}
	return 0;
}
