/* SPDX-License-Identifier: GPL-2.0-or-later */
/* carry_out.c - writes what a pass decided to the ledger: suspensions and resumptions one by one as
 * desired states, all starts together in one transaction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/dispatch/carry_out.h"
#include "controller/dispatch/parts.h"
#include "controller/policy/placement/fit_chunks.h"

struct carrying {
	const struct carry_out_ask *ask;
	struct cycle_cluster *cl;
	struct store_allocation *starts;
	struct parts *parts; /* of each start */
	size_t n_starts;
};

static int64_t id_of(const struct carrying *y, int32_t number)
{
	return number < 0 ? 0 : schedule_job(y->cl->cluster.schedule, number)->id;
}

/* One event for each node of the job. Chunks on one node lie side by side. */
static void report_event(const struct carrying *y, const struct cycle_event *event,
			 int32_t number)
{
	const struct cycle_run *run = y->ask->run;
	const struct cluster *k = &y->cl->cluster;
	struct cycle_event e = *event;
	int32_t n_nodes;
	const int32_t *nodes = schedule_nodes(k->schedule, number, &n_nodes);

	if (!run->on_event)
		return;
	for (int32_t i = 0; nodes && i < n_nodes; i++) {
		if (i > 0 && nodes[i] == nodes[i - 1])
			continue;
		e.node = k->nodes[nodes[i]].name;
		e.is_further_node = i > 0;
		run->on_event(run->ctx, &e);
	}
}

/* ---- starts ---- */

/* A job and the node of each of its chunks, as the schedule has them. */
struct placement {
	int64_t job;
	const int32_t *nodes;
	size_t n;
};

static struct placement placement_of(const struct carrying *y, int32_t number)
{
	struct placement ret = { .job = id_of(y, number) };
	int32_t n;

	ret.nodes = schedule_nodes(y->cl->cluster.schedule, number, &n);
	ret.n = (size_t)n;
	return ret;
}

static int add_pending(struct carrying *y, const struct placement *at, struct err *err)
{
	struct pending_start p = { .job = at->job,
				   .since_ns = y->ask->run->now_ns,
				   .n = at->n };

	if (pending_start_find(&y->cl->pending, at->job))
		return 0;
	p.nodes = calloc(at->n, sizeof(*p.nodes));
	if (!p.nodes)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < at->n; i++)
		snprintf(p.nodes[i], sizeof(p.nodes[i]), "%s",
			 y->cl->cluster.nodes[at->nodes[i]].name);
	if (pending_start_add(&y->cl->pending, &p) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Adds a start to those that commit_starts() writes, and counts its parts as in use. The schedule
 * counts the cores of preempted jobs as free; the nodes (by the ledger) do so only when these jobs
 * are suspended: until then the start is pending. */
static int prepare_start(struct carrying *y, const struct placement *at, struct err *err)
{
	const struct cluster *k = &y->cl->cluster;
	const struct parts_ask ask = { order_find(&y->cl->order, at->job), at->nodes, at->n,
				       k->nodes, k->n_nodes };
	struct parts *p = &y->parts[y->n_starts];
	int r = parts_make(&ask, p);

	if (r < 0) {
		parts_done(p);
		return err_set(err, r, "the parts of job %lld: %s", (long long)at->job,
			       strerror(-r));
	}
	if (!fit_parts(p->nodes, p->want, p->n, ask.job->is_exclusive)) {
		parts_done(p);
		return add_pending(y, at, err);
	}
	y->starts[y->n_starts++] = (struct store_allocation){ .job = at->job,
							      .node = p->of[0].node,
							      .parts = p->n > 1 ? p->of : NULL,
							      .n_parts = p->n > 1 ? p->n : 0 };
	return 0;
}

/* Before the actions of the pass: the cores that became free are theirs. */
static int prepare_pending(struct carrying *y, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < y->cl->pending.n && r >= 0; i++) {
		int64_t job = y->cl->pending.of[i].job;
		struct placement at = placement_of(y, order_find(&y->cl->order, job)->number);

		r = prepare_start(y, &at, err);
	}
	return r;
}

static int commit_starts(struct carrying *y, struct err *err)
{
	int r;

	if (y->n_starts == 0)
		return 0;
	r = store_allocate(y->ask->cycle->store, y->starts, y->n_starts, y->ask->run->now_ns,
			   err);
	for (size_t i = 0; i < y->n_starts && r >= 0; i++) {
		int64_t job = y->starts[i].job;

		pending_start_drop(&y->cl->pending, job);
		report_event(y, &(struct cycle_event){ CYCLE_ALLOCATED, .job = job },
			     order_find(&y->cl->order, job)->number);
	}
	return r;
}

/* ---- suspensions and resumptions ---- */

/* STORE_TOO_LATE and the like (> 0) are no errors: the job has ended meanwhile. */
static int suspend_job(struct carrying *y, int32_t number, int64_t by, struct err *err)
{
	char reason[160], node[REQUEST_NAME_MAX];
	struct store_desired_change w = { .job = id_of(y, number),
					  .want = DESIRED_SUSPEND,
					  .reason = reason,
					  .now_ns = y->ask->run->now_ns,
					  .preempted_by = by,
					  .by_queue = true };
	int r;

	snprintf(reason, sizeof(reason), "preempted by job %lld", (long long)by);
	r = store_set_desired(y->ask->cycle->store, &w, node, err);
	if (r == 0)
		report_event(y,
			     &(struct cycle_event){ CYCLE_SUSPENDED, .job = w.job, .by = by },
			     number);
	return r < 0 ? r : 0;
}

/* The cores of a job that resumes are in use again: later starts of this pass cannot have them. */
static void count_cores(const struct cluster *k, int32_t number)
{
	const struct schedule_job *j = schedule_job(k->schedule, number);
	int32_t n, at = 0;
	const int32_t *nodes = schedule_nodes(k->schedule, number, &n);

	for (int32_t c = 0; c < j->n_chunks; c++)
		for (int32_t i = 0; i < j->chunks[c].n; i++)
			k->nodes[nodes[at++]].in_use.ncpus += j->chunks[c].cores;
}

static int resume_job(struct carrying *y, int32_t number, struct err *err)
{
	struct store_desired_change w = { .job = id_of(y, number),
					  .want = DESIRED_RUN,
					  .now_ns = y->ask->run->now_ns,
					  .by_queue = true };
	char node[REQUEST_NAME_MAX];
	int r = store_set_desired(y->ask->cycle->store, &w, node, err);

	count_cores(&y->cl->cluster, number);
	if (r == 0)
		report_event(y, &(struct cycle_event){ CYCLE_RESUMED, .job = w.job }, number);
	return r < 0 ? r : 0;
}

/* ---- all of it ---- */

static int carry_out_action(struct carrying *y, const struct schedule_action *a,
			    struct err *err)
{
	struct placement at;

	switch (a->what) {
	case SCHEDULE_START:
		at = placement_of(y, a->job);
		return prepare_start(y, &at, err);
	case SCHEDULE_RESUME:
		return resume_job(y, a->job, err);
	case SCHEDULE_SUSPEND:
		return suspend_job(y, a->job, id_of(y, a->by), err);
	}
	return 0;
}

static int carry_out_all(struct carrying *y, struct err *err)
{
	int r = prepare_pending(y, err);

	for (size_t i = 0; i < y->ask->n_actions && r >= 0; i++)
		r = carry_out_action(y, &y->ask->actions[i], err);
	return r < 0 ? r : commit_starts(y, err);
}

/* The schedule counts what it decided as done. The ledger may see it otherwise (a job has ended, a
 * start is pending), so the next cycle reads these jobs again. */
static void note_changes(const struct carry_out_ask *ask)
{
	struct cycle_cluster *cl = ask->cluster;
	const struct schedule *s = cl->cluster.schedule;
	size_t n_withdrawn;
	const int32_t *withdrawn = schedule_withdrawn(s, &n_withdrawn);

	for (size_t i = 0; i < ask->n_actions; i++)
		store_changes_add(&cl->changes, schedule_job(s, ask->actions[i].job)->id);
	for (size_t i = 0; i < n_withdrawn; i++)
		store_changes_add(&cl->changes, schedule_job(s, withdrawn[i])->id);
}

/* A job whose start was withdrawn in this pass is overdue from now on; at most 64 of them a cycle.
 * Only the rule that suspends withdraws any. */
static int set_overdue(const struct carrying *y, struct err *err)
{
	int64_t jobs[64];
	size_t n = 0, n_withdrawn;
	const int32_t *withdrawn = schedule_withdrawn(y->cl->cluster.schedule, &n_withdrawn);

	for (size_t i = 0; i < n_withdrawn && n < ARRAY_LEN(jobs); i++) {
		const struct order_job *o = order_find(&y->cl->order, id_of(y, withdrawn[i]));

		if (o && !o->due_ns)
			jobs[n++] = o->job;
	}
	return n ? store_set_due(y->ask->cycle->store, jobs, n, y->ask->run->now_ns, err) : 0;
}

int carry_out_pass(const struct carry_out_ask *ask, struct err *err)
{
	size_t most = ask->n_actions + ask->cluster->pending.n + 1;
	_cleanup_free_ struct store_allocation *starts = calloc(most, sizeof(*starts));
	_cleanup_free_ struct parts *parts = calloc(most, sizeof(*parts));
	struct carrying y = { ask, ask->cluster, starts, parts, 0 };
	int r;

	note_changes(ask);
	if (!starts || !parts)
		return err_set(err, -ENOMEM, "out of memory");
	r = carry_out_all(&y, err);
	for (size_t i = 0; i < y.n_starts; i++)
		parts_done(&parts[i]);
	return r < 0 ? r : set_overdue(&y, err);
}
