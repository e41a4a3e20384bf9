/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sums.c - sums up running jobs by account or user; see sums.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/top/draw/bar.h"
#include "cli/top/views/job_rows.h"
#include "cli/top/views/subjects.h"
#include "cli/top/views/sums.h"
#include "common/err.h"

const struct table_column top_sums_table[] = {
	{ "name", "NAME", CELL_TEXT },
	{ "jobs", "JOBS", CELL_COUNT },
	{ "ncpus", "CPUS", CELL_COUNT },
	{ "of_all_percent", "OF ALL", CELL_COUNT },
	{ "cpu_percent", "CPU", CELL_COUNT },
	{ "cores_idle", "IDLE", CELL_FIGURE },
	{ "mem_percent", "MEM", CELL_COUNT },
	{ "vmem_percent", "VMEM", CELL_COUNT },
	{ "ngpus", "GPUS", CELL_COUNT },
	{ "gpu_percent", "GPU", CELL_COUNT },
	{ "gpus_idle", "GPU IDLE", CELL_FIGURE },
	{ 0 },
};

/* clang-format off */
const struct top_column top_sums_columns[] = {
	{ "name", "NAME", 7, 24, 0, false, NULL },
	{ "jobs", "JOBS", 5, 7, 1, false, NULL },
	{ "ncpus", "CPUS", 5, 8, 0, false, NULL },
	{ "of_all_percent", "OF ALL", 7, 12, 5, true, NULL },
	{ "cpu_percent", "CPU", 4, 12, 1, true, NULL },
	{ "cores_idle", "IDLE", 5, 9, 1, false, NULL },
	{ "mem_percent", "MEM", 4, 12, 2, true, NULL },
	{ "vmem_percent", "VMEM", 5, 12, 3, true, NULL },
	{ "ngpus", "GPUS", 5, 6, 4, false, NULL },
	{ "gpu_percent", "GPU", 4, 12, 4, true, NULL },
	{ "gpus_idle", "GPU IDLE", 9, 9, 6, false, NULL },
	{ .name = NULL },
};
/* clang-format on */

/* Cores and GPUs in hundredths; a job without a measurement counts in neither side of a percentage. */
struct sum {
	char name[REQUEST_NAME_MAX];
	int64_t jobs, ncpus, ngpus;
	int64_t cores, cores_busy, gpus, gpus_busy, mem_of, mem, vmem_of, vmem;
};

struct sums {
	struct sum *of;
	size_t n;
};

static void sums_done(struct sums *s)
{
	free(s->of);
}

/* Few accounts run jobs at a time. NULL: no memory. */
static struct sum *find_sum(struct sums *s, const char *name)
{
	struct sum *more;

	for (size_t i = 0; i < s->n; i++)
		if (!strncmp(s->of[i].name, name, REQUEST_NAME_MAX - 1))
			return &s->of[i];
	more = reallocarray(s->of, s->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	s->of = more;
	more[s->n] = (struct sum){ .jobs = 0 };
	snprintf(more[s->n].name, sizeof(more->name), "%s", name);
	return &more[s->n++];
}

static void add_job(struct sum *s, const struct job_view *v)
{
	const struct resources *r = &v->requested;
	const struct usage *u = &v->usage;
	int64_t busy = top_cores_busy(v);

	s->jobs++;
	s->ncpus += r->ncpus;
	s->ngpus += r->ngpus;
	if (busy >= 0) {
		s->cores += r->ncpus * 100;
		s->cores_busy += busy;
	}
	if (usage_has(u, &u->gpu_busy_ns) && v->running_ns > 0 && r->ngpus > 0) {
		s->gpus += r->ngpus * 100;
		s->gpus_busy += (int64_t)((__int128)u->gpu_busy_ns * 100 / v->running_ns);
	}
	if (usage_has(u, &u->rss_bytes) && r->mem_bytes > 0) {
		s->mem_of += r->mem_bytes;
		s->mem += u->rss_bytes;
	}
	if (usage_has(u, &u->vmem_bytes) && r->vmem_bytes > 0) {
		s->vmem_of += r->vmem_bytes;
		s->vmem += u->vmem_bytes;
	}
}

static void put_percent(struct table *t, const char *column, int64_t used, int64_t of)
{
	if (of > 0)
		table_int(t, column, top_percent(used, of));
}

static void put_sum(struct table *t, const struct sum *s, int64_t all_ncpus)
{
	table_row(t);
	table_text(t, "name", *s->name ? s->name : NULL);
	table_int(t, "jobs", s->jobs);
	table_int(t, "ncpus", s->ncpus);
	put_percent(t, "of_all_percent", s->ncpus, all_ncpus);
	put_percent(t, "cpu_percent", s->cores_busy, s->cores);
	if (s->cores > 0)
		table_decimal(t, "cores_idle", 2, (double)(s->cores - s->cores_busy) / 100);
	put_percent(t, "mem_percent", s->mem, s->mem_of);
	put_percent(t, "vmem_percent", s->vmem, s->vmem_of);
	if (s->ngpus > 0)
		table_int(t, "ngpus", s->ngpus);
	put_percent(t, "gpu_percent", s->gpus_busy, s->gpus);
	if (s->gpus > 0)
		table_decimal(t, "gpus_idle", 2, (double)(s->gpus - s->gpus_busy) / 100);
}

int top_sums_rows(const struct top_docs *docs, const char *key, int64_t all_ncpus,
		  struct table *t, struct err *err)
{
	_cleanup_(sums_done) struct sums sums = { NULL, 0 };
	json_t *job;
	size_t i;

	json_array_foreach(json_object_get(docs->of[TOP_DOC_JOBS], "jobs"), i, job)
	{
		const char *name = cli_text(job, key);
		struct job_view v;
		struct sum *s;
		int r = job_view_read(job, &v, err);

		if (r < 0)
			return r;
		if (v.state != JOB_RUNNING)
			continue;
		s = find_sum(&sums, name ? name : "");
		if (!s)
			return err_set(err, -ENOMEM, "out of memory");
		add_job(s, &v);
	}
	for (i = 0; i < sums.n; i++)
		put_sum(t, &sums.of[i], all_ncpus);
	return 0;
}
