/* SPDX-License-Identifier: GPL-2.0-or-later */
/* carry_out.c - writes what a pass decided to the ledger: suspensions and resumptions one by one as
 * desired states, up to STARTS_TOGETHER starts in one transaction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/dispatch/carry_out.h"
#include "controller/dispatch/parts.h"
#include "controller/policy/placement/fit_chunks.h"

#define STARTS_TOGETHER 128

struct carry_out {
	struct carry_out_ask ask;
	struct cycle_cluster *cl;
	size_t at;	   /* the next action */
	size_t pending_at; /* the next pending start, of those that there were at the beginning */
	size_t n_pending;
	int64_t *pending; /* their jobs */
	struct store_allocation starts[STARTS_TOGETHER];
	struct parts parts[STARTS_TOGETHER]; /* of each start */
	size_t n_starts;
};

static int64_t id_of(const struct carry_out *y, int32_t number)
{
	return number < 0 ? 0 : schedule_job(y->cl->cluster.schedule, number)->id;
}

/* One event for each node of the job. Chunks on one node lie side by side. */
static void report_event(const struct carry_out *y, const struct cycle_event *event,
			 int32_t number)
{
	const struct cycle_run *run = y->ask.run;
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

static struct placement placement_of(const struct carry_out *y, int32_t number)
{
	struct placement ret = { .job = id_of(y, number) };
	int32_t n;

	ret.nodes = schedule_nodes(y->cl->cluster.schedule, number, &n);
	ret.n = (size_t)n;
	return ret;
}

static int add_pending(struct carry_out *y, const struct placement *at, struct err *err)
{
	struct pending_start p = { .job = at->job, .since_ns = y->ask.run->now_ns, .n = at->n };

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

/* 0: the job has no whole nodes. */
static int64_t count_node_cores(const struct parts *p, const struct order_job *job)
{
	int64_t n = 0;

	for (size_t i = 0; job->is_exclusive && i < p->n; i++)
		n += p->nodes[i]->capacity.ncpus;
	return n;
}

/* Adds a start to those that commit_starts() writes, and counts its parts as in use. The schedule
 * counts the cores of preempted jobs as free; the nodes (by the ledger) do so only when these jobs
 * are suspended: until then the start is pending. */
static int prepare_start(struct carry_out *y, const struct placement *at, struct err *err)
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
	y->starts[y->n_starts++] =
		(struct store_allocation){ .job = at->job,
					   .node = p->of[0].node,
					   .parts = p->n > 1 ? p->of : NULL,
					   .n_parts = p->n > 1 ? p->n : 0,
					   .node_cores = count_node_cores(p, ask.job) };
	return 0;
}

static int compare_numbers(const void *key, const void *element)
{
	int64_t x = *(const int64_t *)key, y = *(const int64_t *)element;

	return (x > y) - (x < y);
}

static int compare_node_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct fit_node *)node)->name);
}

/* The nodes as they are now, by name. */
struct nodes_now {
	struct fit_node *of; /* NULL: none has changed since the cycle began */
	size_t n;
};

static bool is_open(const struct nodes_now *now, const char *name)
{
	const struct fit_node *n;

	if (!now->of)
		return true;
	n = bsearch(name, now->of, now->n, sizeof(*now->of), compare_node_name);
	return n && n->open;
}

static bool are_open(const struct nodes_now *now, const struct store_allocation *a)
{
	if (!a->n_parts)
		return is_open(now, a->node);
	for (size_t i = 0; i < a->n_parts; i++)
		if (!is_open(now, a->parts[i].node))
			return false;
	return true;
}

static void drop_starts(struct carry_out *y)
{
	while (y->n_starts > 0)
		parts_done(&y->parts[--y->n_starts]);
}

/* Leaves out starts that the ledger has overtaken since the cycle began. */
static int check_starts(struct carry_out *y, struct err *err)
{
	const struct store_changes *since = store_changes_sort(&y->cl->changes);
	_cleanup_free_ struct fit_node *nodes = NULL;
	struct nodes_now now = { 0 };
	size_t n = 0;
	int r = 0;

	if (since->are_nodes_new)
		r = store_bare_nodes(y->ask.cycle->store, y->cl->name, &nodes, &now.n, err);
	if (r < 0)
		return r;
	now.of = nodes;
	for (size_t i = 0; i < y->n_starts; i++) {
		struct store_allocation a = y->starts[i];
		struct parts p = y->parts[i];

		if ((since->n &&
		     bsearch(&a.job, since->jobs, since->n, sizeof(a.job), compare_numbers)) ||
		    !are_open(&now, &a)) {
			parts_done(&p);
			continue;
		}
		y->starts[n] = a;
		y->parts[n++] = p;
	}
	y->n_starts = n;
	return 0;
}

static int commit_starts(struct carry_out *y, struct err *err)
{
	int r = y->n_starts ? check_starts(y, err) : 0;

	if (r < 0 || y->n_starts == 0)
		return r;
	r = store_allocate(y->ask.cycle->store, y->starts, y->n_starts, y->ask.run->now_ns,
			   err);
	for (size_t i = 0; i < y->n_starts && r >= 0; i++) {
		int64_t job = y->starts[i].job;

		pending_start_drop(&y->cl->pending, job);
		report_event(y, &(struct cycle_event){ CYCLE_ALLOCATED, .job = job },
			     order_find(&y->cl->order, job)->number);
	}
	drop_starts(y);
	return r;
}

/* Before the actions of the pass: the cores that became free are theirs. */
static int start_pending(struct carry_out *y, int64_t job, struct err *err)
{
	struct placement at = placement_of(y, order_find(&y->cl->order, job)->number);

	return prepare_start(y, &at, err);
}

/* ---- suspensions and resumptions ---- */

/* STORE_TOO_LATE and the like (> 0) are no errors: the job has ended meanwhile. */
static int suspend_job(struct carry_out *y, int32_t number, int64_t by, struct err *err)
{
	char reason[160], node[REQUEST_NAME_MAX];
	struct store_desired_change w = { .job = id_of(y, number),
					  .want = DESIRED_SUSPEND,
					  .reason = reason,
					  .now_ns = y->ask.run->now_ns,
					  .preempted_by = by,
					  .by_queue = true };
	int r;

	snprintf(reason, sizeof(reason), "preempted by job %lld", (long long)by);
	r = store_set_desired(y->ask.cycle->store, &w, node, err);
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

static int resume_job(struct carry_out *y, int32_t number, struct err *err)
{
	struct store_desired_change w = { .job = id_of(y, number),
					  .want = DESIRED_RUN,
					  .now_ns = y->ask.run->now_ns,
					  .by_queue = true };
	char node[REQUEST_NAME_MAX];
	int r = store_set_desired(y->ask.cycle->store, &w, node, err);

	count_cores(&y->cl->cluster, number);
	if (r == 0)
		report_event(y, &(struct cycle_event){ CYCLE_RESUMED, .job = w.job }, number);
	return r < 0 ? r : 0;
}

/* ---- all of it ---- */

static int carry_out_action(struct carry_out *y, const struct schedule_action *a,
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
static int set_overdue(const struct carry_out *y, struct err *err)
{
	int64_t jobs[64];
	size_t n = 0, n_withdrawn;
	const int32_t *withdrawn = schedule_withdrawn(y->cl->cluster.schedule, &n_withdrawn);

	for (size_t i = 0; i < n_withdrawn && n < ARRAY_LEN(jobs); i++) {
		const struct order_job *o = order_find(&y->cl->order, id_of(y, withdrawn[i]));

		if (o && !o->due_ns)
			jobs[n++] = o->job;
	}
	return n ? store_set_due(y->ask.cycle->store, jobs, n, y->ask.run->now_ns, err) : 0;
}

struct carry_out *carry_out_free(struct carry_out *y)
{
	if (!y)
		return NULL;
	drop_starts(y);
	free(y->pending);
	free(y);
	return NULL;
}

static int note_pending(struct carry_out *y)
{
	const struct pending_start_list *all = &y->cl->pending;

	y->pending = calloc(all->n + 1, sizeof(*y->pending));
	if (!y->pending)
		return -ENOMEM;
	y->n_pending = all->n;
	for (size_t i = 0; i < all->n; i++)
		y->pending[i] = all->of[i].job;
	return 0;
}

int carry_out_new(const struct carry_out_ask *ask, struct carry_out **ret, struct err *err)
{
	_cleanup_(carry_out_freep) struct carry_out *y = calloc(1, sizeof(*y));

	if (!y)
		return err_set(err, -ENOMEM, "out of memory");
	y->ask = *ask;
	y->cl = ask->cluster;
	if (note_pending(y) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(y);
	return 0;
}

static bool has_time(const struct schedule_budget *b)
{
	return !b || b->has_time(b->ctx);
}

/* One pending start, action or commit. 1: there is more. */
static int carry_out_next(struct carry_out *y, struct err *err)
{
	int r = 0;

	if (y->n_starts == STARTS_TOGETHER)
		r = commit_starts(y, err);
	else if (y->pending_at < y->n_pending)
		r = start_pending(y, y->pending[y->pending_at++], err);
	else if (y->at < y->ask.n_actions)
		r = carry_out_action(y, &y->ask.actions[y->at++], err);
	else
		return commit_starts(y, err);
	return r < 0 ? r : 1;
}

int carry_out_go_on(struct carry_out *y, const struct schedule_budget *b, struct err *err)
{
	int r;

	do
		r = carry_out_next(y, err);
	while (r > 0 && has_time(b));
	if (r != 0)
		return r < 0 ? r : 1;
	note_changes(&y->ask);
	return set_overdue(y, err);
}
