/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node.c - the view of a node: its amounts, which job has which core, its GPUs, and its jobs. See subjects.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/top/views/job_rows.h"
#include "cli/top/views/node_rows.h"
#include "cli/top/views/subjects.h"
#include "common/err.h"
#include "common/time_units.h"

#define CORES_MAX 4096

/* ---- the map of cores ---- */

/* Marks "0-3,8" in the map; what is not such a list is passed over. */
static void mark_cores(const char *cpus, char mark, char *map, int n)
{
	while (cpus && *cpus) {
		char *end;
		long first = strtol(cpus, &end, 10), last = first;

		if (end == cpus)
			return;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long i = first < 0 ? 0 : first; i <= last && i < n; i++)
			map[i] = mark;
		cpus = *end == ',' ? end + 1 : NULL;
	}
}

/* The largest number of a core that a job has, so that the map has room for machines that number their cores with gaps. */
static int find_last_core(const json_t *jobs)
{
	int last = -1;
	json_t *job;
	size_t i;

	json_array_foreach(jobs, i, job)
	{
		const char *cpus = cli_text(job, "cpus");
		const char *at = cpus ? cpus + strlen(cpus) : NULL;
		int core;

		while (at && at > cpus && at[-1] >= '0' && at[-1] <= '9')
			at--;
		core = at ? atoi(at) : -1;
		last = core > last && core < CORES_MAX ? core : last;
	}
	return last;
}

static bool is_placed(const json_t *job)
{
	const char *state = cli_text(job, "state");

	return state && strcmp(state, "queued") != 0 && strcmp(state, "ended") != 0;
}

/* "aaaabb.." in groups of 8. */
static void add_core_map(const struct top_ask *ask, const json_t *jobs, const json_t *node,
			 struct top_view *v)
{
	char map[CORES_MAX + 1], grouped[CORES_MAX + CORES_MAX / 8 + 2], *to = grouped;
	int64_t ncpus = cli_int(json_object_get(node, "capacity"), "ncpus", 0);
	int n = find_last_core(jobs) + 1;
	size_t i, at = 0;
	json_t *job;

	n = ncpus > n ? (int)(ncpus > CORES_MAX ? CORES_MAX : ncpus) : n;
	if (n <= 0)
		return;
	memset(map, '.', (size_t)n);
	json_array_foreach(jobs, i, job)
	{
		const char *first = cli_text(job, "node");

		if (!is_placed(job))
			continue;
		/* `cpus` of a job on several nodes are those of its first. */
		if (first && !strcmp(first, ask->node))
			mark_cores(cli_text(job, "cpus"), top_job_letter(at), map, n);
		at++;
	}
	for (int k = 0; k < n; k++) {
		if (k && k % 8 == 0)
			*to++ = ' ';
		*to++ = map[k];
	}
	*to = '\0';
	top_view_fact(v, TOP_PLAIN, "Map    %s", grouped);
	top_view_fact(v, TOP_DIM,
		      "       of cores: MAP names the job; . is free, or not yours to see");
}

/* ---- GPUs ---- */

static int64_t gpu_busy_percent(const json_t *use, const json_t *job)
{
	int64_t running_ns = cli_int(job, "running_ns", 0),
		busy_ns = cli_int(use, "busy_ns", -1);

	return busy_ns < 0 || running_ns <= 0 ? -1
					      : (int64_t)((__int128)busy_ns * 100 / running_ns);
}

/* The job that has this GPU, with its use of it. */
static const json_t *find_gpu_job(const json_t *jobs, const char *uuid, const json_t **ret_use)
{
	json_t *job, *use;
	size_t i, k;

	json_array_foreach(jobs, i, job)
	{
		json_array_foreach(json_object_get(job, "gpus"), k, use)
		{
			const char *is = cli_text(use, "uuid");

			if (is && !strcmp(is, uuid) && is_placed(job)) {
				*ret_use = use;
				return job;
			}
		}
	}
	return NULL;
}

static void add_gpu(const json_t *gpu, const json_t *jobs, struct top_view *v)
{
	const char *uuid = cli_text(gpu, "uuid"), *model = cli_text(gpu, "model");
	const json_t *use = NULL, *job = uuid ? find_gpu_job(jobs, uuid, &use) : NULL;
	const char *simulated =
		json_is_true(json_object_get(gpu, "simulated")) ? " (simulated)" : "";
	const char *drained = json_is_true(json_object_get(gpu, "drained")) ? ", drained" : "";
	int64_t percent = job ? gpu_busy_percent(use, job) : -1;
	char busy[32] = "";

	if (percent >= 0)
		snprintf(busy, sizeof(busy), ", %" PRId64 "%% busy", percent);
	if (job)
		top_view_fact(v, TOP_PLAIN, "GPU    %s%s: job %s of %s%s%s",
			      model ? model : "?", simulated, cli_text(job, "id") ?: "?",
			      cli_text(job, "user") ?: "?", busy, drained);
	else
		top_view_fact(v, TOP_PLAIN, "GPU    %s%s: no job that you may see%s",
			      model ? model : "?", simulated, drained);
}

/* ---- the view ---- */

static void add_meter(struct top_view *v, const char *name, enum table_cell_kind kind,
		      const char *key, const json_t *node)
{
	int64_t of = cli_int(json_object_get(node, "capacity"), key, 0);
	struct top_meter *m;

	if (of <= 0)
		return;
	m = top_view_meter(v, name, kind);
	m->of = of;
	m->used = cli_int(json_object_get(node, "held"), key, -1);
}

static void add_head(const struct top_ask *ask, const struct top_docs *docs, const json_t *node,
		     struct top_view *v)
{
	int64_t heard_ns = cli_int(node, "last_ns", 0);
	const char *state = cli_text(node, "state"), *topology = cli_text(node, "topology");
	char note[512];

	snprintf(v->title, sizeof(v->title), "node %s, %s, heard %" PRId64 " s ago", ask->node,
		 state ? state : "?",
		 docs->at_ns > heard_ns ? (docs->at_ns - heard_ns) / S_NS : 0);
	add_meter(v, "Cores", CELL_COUNT, "ncpus", node);
	add_meter(v, "Memory", CELL_BYTES, "mem_bytes", node);
	add_meter(v, "GPUs", CELL_COUNT, "ngpus", node);
	add_meter(v, "Jobfs", CELL_BYTES, "jobfs_bytes", node);
	if (topology)
		top_view_fact(v, TOP_PLAIN, "Node   %s; vmem tier %" PRId64, topology,
			      cli_int(node, "tier", 0));
	if (top_nodes_note(node, note, sizeof(note)))
		top_view_fact(v, TOP_BAD, "Note   %s", note);
}

int top_node_view(const struct top_ask *ask, const struct top_docs *docs, struct top_view *v,
		  struct err *err)
{
	const json_t *node = top_nodes_find(docs, ask->node), *gpu;
	json_t *jobs = json_object_get(docs->of[TOP_DOC_JOBS], "jobs");
	int r = table_new("jobs", top_job_columns, &v->list, err);
	size_t i;

	if (r < 0)
		return r;
	if (!node)
		return err_set(err, -EPROTO, "the controller's answer lacks node %s",
			       ask->node);
	add_head(ask, docs, node, v);
	add_core_map(ask, jobs, node, v);
	json_array_foreach(json_object_get(node, "gpus"), i, gpu) add_gpu(gpu, jobs, v);
	v->list_name = "jobs";
	v->usual = (struct top_sort){ "job", true };
	v->empty = "no job on this node that you may see";
	if (docs->limit > 0 && json_array_size(jobs) >= (size_t)docs->limit)
		snprintf(v->rest, sizeof(v->rest), "the newest %" PRId64 " jobs", docs->limit);
	return top_job_rows(docs, true, v->list, err);
}
