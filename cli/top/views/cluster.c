/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster.c - the view of a cluster: what of it is in use, and the list that was chosen. See subjects.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/top/draw/bar.h"
#include "cli/top/views/job_rows.h"
#include "cli/top/views/node_rows.h"
#include "cli/top/views/subjects.h"
#include "cli/top/views/sums.h"

static void add_meter(struct top_view *v, const char *name, enum table_cell_kind kind,
		      const char *key, const json_t *totals)
{
	int64_t of = cli_int(json_object_get(totals, "capacity"), key, 0);
	struct top_meter *m;

	if (of <= 0)
		return;
	m = top_view_meter(v, name, kind);
	m->of = of;
	m->used = cli_int(json_object_get(totals, "held"), key, -1);
}

static void add_counts(struct top_view *v, const json_t *totals)
{
	const json_t *jobs = json_object_get(totals, "jobs_by_state");
	int64_t drained = cli_int(totals, "drain", 0), lost = cli_int(totals, "lost", 0);
	int64_t suspended = cli_int(jobs, "suspended", 0);
	char more[64] = "", away[96] = "";

	if (drained)
		snprintf(away, sizeof(away), ", %" PRId64 " drained", drained);
	if (lost)
		snprintf(away + strlen(away), sizeof(away) - strlen(away),
			 ", %" PRId64 " not heard of", lost);
	if (suspended)
		snprintf(more, sizeof(more), ", %" PRId64 " suspended", suspended);
	top_view_fact(v, TOP_PLAIN,
		      "Jobs   %" PRId64 " running, %" PRId64 " queued%s;  nodes %" PRId64
		      " up%s",
		      cli_int(jobs, "running", 0), cli_int(jobs, "queued", 0), more,
		      cli_int(totals, "up", 0), away);
}

/* A list that was cut by the limit must not look complete. */
static void set_rest(struct top_view *v, const struct top_docs *docs, const char *of)
{
	size_t n = json_array_size(json_object_get(docs->of[TOP_DOC_JOBS], "jobs"));

	if (docs->limit > 0 && n >= (size_t)docs->limit)
		snprintf(v->rest, sizeof(v->rest),
			 "of the newest %zu %s jobs; -u, -A or --node choose others", n, of);
}

static int add_jobs(const struct top_docs *docs, bool is_queue, struct top_view *v,
		    struct err *err)
{
	int r = table_new("jobs", top_job_columns, &v->list, err);

	v->usual = is_queue ? (struct top_sort){ "waited_ns", true }
			    : (struct top_sort){ "ncpus", true };
	v->empty =
		is_queue ? "no queued job that you may see" : "no running job that you may see";
	set_rest(v, docs, is_queue ? "queued" : "running");
	return r < 0 ? r : top_job_rows(docs, !is_queue, v->list, err);
}

static int add_sums(const struct top_docs *docs, const char *key, int64_t all_ncpus,
		    struct top_view *v, struct err *err)
{
	int r = table_new("rows", top_sums_table, &v->list, err);

	v->usual = (struct top_sort){ "cores_idle", true };
	v->empty = "no running job that you may see";
	set_rest(v, docs, "running");
	return r < 0 ? r : top_sums_rows(docs, key, all_ncpus, v->list, err);
}

static int add_nodes(const struct top_docs *docs, struct top_view *v, struct err *err)
{
	int64_t left_out = cli_int(docs->of[TOP_DOC_NODES], "left_out", 0);
	int r = table_new("nodes", top_nodes_table, &v->list, err);

	v->usual = (struct top_sort){ "node", false };
	v->empty = "no node has reported to the controller yet";
	if (left_out > 0)
		snprintf(v->rest, sizeof(v->rest), "%" PRId64 " more nodes; --node shows one",
			 left_out);
	if (r == 0)
		top_nodes_rows(docs, v->list);
	return r;
}

int top_cluster_view(const struct top_ask *ask, const struct top_docs *docs, struct top_view *v,
		     struct err *err)
{
	const json_t *totals = json_object_get(docs->of[TOP_DOC_NODES], "totals");
	int64_t all = cli_int(json_object_get(totals, "capacity"), "ncpus", 0);

	snprintf(v->title, sizeof(v->title), "cluster%s%s%s%s", *ask->user ? ", user " : "",
		 ask->user, *ask->account ? ", account " : "", ask->account);
	add_meter(v, "Cores", CELL_COUNT, "ncpus", totals);
	add_meter(v, "Memory", CELL_BYTES, "mem_bytes", totals);
	add_meter(v, "GPUs", CELL_COUNT, "ngpus", totals);
	add_meter(v, "Jobfs", CELL_BYTES, "jobfs_bytes", totals);
	add_counts(v, totals);
	v->list_name = top_tab_names[ask->tab];
	switch (ask->tab) {
	case TOP_NODES:
		return add_nodes(docs, v, err);
	case TOP_ACCOUNTS:
		return add_sums(docs, "account", all, v, err);
	case TOP_USERS:
		return add_sums(docs, "user", all, v, err);
	default:
		return add_jobs(docs, ask->tab == TOP_QUEUED, v, err);
	}
}
