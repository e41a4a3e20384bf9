/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - queued and placed jobs as those of a schedule, and what nodes have in use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/time_units.h"
#include "controller/dispatch/cluster/cluster_impl.h"

static int64_t ns_to_s(int64_t ns)
{
	return ns / S_NS;
}

/* A model that no node has: one more than there are, so that it fits nowhere. */
static int32_t find_model(const struct cluster *k, const char *model)
{
	for (int m = 1; m <= k->n_models; m++)
		if (!strcmp(k->models[m], model))
			return m;
	return SCHEDULE_MODELS_MAX;
}

/* Only suspension looks at queues. */
static int32_t queue_of(const struct cluster_ask *a, int32_t queue)
{
	bool is_used = a->config->policy.scheduler == CONFIG_SCHEDULER_SUSPEND;

	return is_used && queue >= 0 ? queue : 0;
}

/* ---- queued jobs ---- */

static struct schedule_chunk make_chunk(const struct cluster *k, const struct resources *want)
{
	bool has_model = want->ngpus && *want->gpu_model;

	return (struct schedule_chunk){ .cores = want->ncpus,
					.mem_bytes = fit_memory(want),
					.jobfs_bytes = want->jobfs_bytes,
					.gpus = (int32_t)want->ngpus,
					.model = has_model ? find_model(k, want->gpu_model) : 0,
					.n = 1 };
}

/* Returns how many kinds of them. */
static int32_t make_chunks(const struct cluster *k, const struct order_job *o,
			   struct schedule_chunk ret[static SELECT_MAX])
{
	if (!o->select) {
		ret[0] = make_chunk(k, &o->want);
		return 1;
	}
	for (int32_t c = 0; c < o->select->n; c++) {
		struct resources one;

		select_chunk(&o->select->of[c], &o->want, &one);
		ret[c] = make_chunk(k, &one);
		ret[c].n = (int32_t)o->select->of[c].n;
	}
	return o->select->n;
}

static int note_pending(struct cluster *k, int64_t job)
{
	int64_t *jobs;

	for (size_t i = 0; i < k->n_pending; i++)
		if (k->pending[i] == job)
			return 0;
	jobs = realloc(k->pending, (k->n_pending + 1) * sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	k->pending = jobs;
	k->pending[k->n_pending++] = job;
	return 0;
}

/* A job with a pending start is in the schedule as running: its nodes are its own already. */
static int add_pending(struct cluster *k, const struct schedule_job *j,
		       const struct pending_start *in, int32_t *ret)
{
	_cleanup_free_ int32_t *nodes = calloc(in->n, sizeof(*nodes));
	const struct schedule_allocation h = { SCHEDULE_RUNNING, nodes, ns_to_s(in->since_ns) };

	if (!nodes || note_pending(k, j->id) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < in->n; i++)
		nodes[i] = cluster_find_node(k, in->nodes[i]);
	return schedule_add_allocated(k->schedule, j, &h, ret);
}

int cluster_jobs_add(struct cluster *k, const struct cluster_ask *a, struct order_job *o)
{
	const struct pending_start *pending = pending_start_find(a->pending, o->job);
	struct schedule_chunk chunks[SELECT_MAX];
	struct schedule_job j = { .id = o->job,
				  .queue = queue_of(a, o->queue),
				  .user = o->user,
				  .group = o->account,
				  .chunks = chunks,
				  .n_chunks = make_chunks(k, o, chunks),
				  .features = kinds_wanted(&k->kinds, &o->want),
				  .is_exclusive = o->is_exclusive,
				  .is_scattered = o->select && o->select->is_scattered,
				  .is_protected = pending != NULL,
				  .priority = o->priority,
				  .submit_s = ns_to_s(o->submitted_ns),
				  .limit_s = o->want.walltime_s ? o->want.walltime_s
								: PLACED_NO_LIMIT_S,
				  .overdue_since_s = ns_to_s(o->due_ns) };

	return pending ? add_pending(k, &j, pending, &o->number)
		       : schedule_add(k->schedule, &j, &o->number);
}

/* ---- placed jobs ---- */

/* A preempted job that its node has not suspended yet counts as suspended: its cores are the preemptor's,
 * whose start is pending. Without that pending start (the controller has restarted) it counts as
 * running until its node reports it suspended. */
static enum schedule_state state_of(const struct cluster_ask *a, const struct placed_job *p)
{
	if (p->desired != DESIRED_SUSPEND)
		return SCHEDULE_RUNNING;
	if (p->state == JOB_SUSPENDED)
		return SCHEDULE_SUSPENDED;
	return p->preempted_by && pending_start_find(a->pending, p->preempted_by)
		       ? SCHEDULE_SUSPENDED
		       : SCHEDULE_RUNNING;
}

static struct schedule_times times_of(const struct placed_job *p, int64_t now_ns)
{
	int64_t ran_ns = p->running_ns;

	if (p->at_ns && p->state == JOB_RUNNING && now_ns > p->at_ns)
		ran_ns += now_ns - p->at_ns;
	return (struct schedule_times){ ns_to_s(ran_ns), ns_to_s(p->suspended_ns),
					ns_to_s(now_ns) };
}

/* Where a job is: a chunk for each of its parts. A node that is gone has nothing in use. */
struct places {
	struct schedule_chunk *chunks;
	int32_t *nodes;
	int32_t n;
};

static void find_places(const struct cluster *k, const struct placed_job *p, struct places *ret)
{
	const struct placed_part *parts = placed_parts(p);
	int32_t model = p->model < 0 ? 0 : find_model(k, k->model_names.texts[p->model]);

	ret->n = 0;
	for (int32_t i = 0; i < p->n_parts; i++) {
		ret->nodes[ret->n] = cluster_node_at(k, parts[i].node);
		ret->chunks[ret->n] = parts[i].chunk;
		ret->chunks[ret->n].model = parts[i].chunk.gpus ? model : 0;
		ret->n += ret->nodes[ret->n] >= 0;
	}
}

static int add_at(struct cluster *k, const struct cluster_ask *a, struct placed_job *p,
		  const struct places *at)
{
	const struct schedule_times t = times_of(p, k->now_ns);
	struct schedule_allocation h = { state_of(a, p), at->nodes, t.now_s };
	struct schedule_job j = { .id = p->job,
				  .queue = queue_of(a, p->queue),
				  .user = p->user,
				  .group = p->account,
				  .chunks = at->chunks,
				  .n_chunks = at->n,
				  .is_exclusive = p->is_exclusive,
				  .submit_s = ns_to_s(p->submitted_ns),
				  .limit_s = p->limit_s,
				  .ran_s = t.ran_s,
				  .suspended_s = t.suspended_s,
				  .overdue_since_s = ns_to_s(p->due_ns) };
	int r;

	/* A job on the way from one state to another, or not on its node yet, is not suspended. */
	j.is_protected = p->state != JOB_RUNNING || p->desired != DESIRED_RUN;
	r = schedule_add_allocated(k->schedule, &j, &h, &p->number);
	if (r < 0)
		return r;
	p->held_as = h.state;
	/* A user or operator suspended it: the queue does not resume it. */
	if (h.state == SCHEDULE_SUSPENDED && !p->preempted_by)
		schedule_set_blocked(k->schedule, p->number, true);
	return 0;
}

static int add_placed(struct cluster *k, const struct cluster_ask *a, struct placed_job *p)
{
	struct schedule_chunk one_chunk;
	int32_t one_node;
	struct places at = { &one_chunk, &one_node, 0 };
	int r = 0;

	if (p->parts) {
		at.chunks = calloc((size_t)p->n_parts, sizeof(*at.chunks));
		at.nodes = calloc((size_t)p->n_parts, sizeof(*at.nodes));
	}
	if (at.chunks && at.nodes) {
		find_places(k, p, &at);
		r = at.n ? add_at(k, a, p, &at) : 0;
	}
	if (p->parts) {
		r = at.chunks && at.nodes ? r : -ENOMEM;
		free(at.chunks);
		free(at.nodes);
	}
	return r;
}

static int follow_placed(struct cluster *k, const struct cluster_ask *a, struct placed_job *p)
{
	struct schedule_times t;

	if (p->number >= 0 && p->held_as != state_of(a, p)) {
		schedule_remove(k->schedule, p->number);
		p->number = -1;
	}
	if (p->number < 0)
		return add_placed(k, a, p);
	t = times_of(p, k->now_ns);
	schedule_set_times(k->schedule, p->number, &t);
	return 0;
}

/* ---- what nodes have in use ---- */

struct counting {
	const struct cluster *k;
	bool *is_whole; /* by node: a job has all of it */
	bool has_models;
};

static void count_parts(const struct counting *c, const struct placed_job *p)
{
	const struct placed_part *parts = placed_parts(p);

	for (int32_t i = 0; i < p->n_parts; i++) {
		const struct schedule_chunk *chunk = &parts[i].chunk;
		int32_t at = cluster_node_at(c->k, parts[i].node);
		struct fit_node *n = at < 0 ? NULL : &c->k->nodes[at];

		if (!n)
			continue;
		n->in_use.ncpus += parts[i].frees_cores ? 0 : chunk->cores;
		n->in_use.mem_bytes += chunk->mem_bytes;
		n->in_use.jobfs_bytes += chunk->jobfs_bytes;
		n->in_use.ngpus += chunk->gpus;
		if (chunk->gpus && (p->is_several ? n->gpus.n > 0 : c->has_models))
			gpus_add(&n->gpus_in_use,
				 p->model < 0 ? "" : c->k->model_names.texts[p->model],
				 chunk->gpus);
		c->is_whole[at] |= p->is_exclusive;
	}
}

static void clear_node(struct fit_node *n)
{
	n->in_use.ncpus = n->in_use.mem_bytes = n->in_use.jobfs_bytes = n->in_use.ngpus = 0;
	n->gpus_in_use.n = 0;
}

static int count_used(struct cluster *k)
{
	_cleanup_free_ bool *is_whole = calloc(k->n_nodes + 1, sizeof(*is_whole));
	struct counting c = { k, is_whole, false };

	if (!is_whole)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_nodes; i++) {
		clear_node(&k->nodes[i]);
		c.has_models |= k->nodes[i].gpus.n > 0;
	}
	for (size_t i = 0; i < k->placed.n; i++)
		count_parts(&c, &k->placed.jobs[i]);
	for (size_t i = 0; i < k->n_nodes; i++) {
		if (!is_whole[i])
			continue;
		k->nodes[i].in_use = k->nodes[i].capacity;
		k->nodes[i].gpus_in_use = k->nodes[i].gpus;
	}
	return 0;
}

int cluster_jobs_follow(struct cluster *k, const struct cluster_ask *a)
{
	int r = 0;

	for (size_t i = 0; i < k->placed.n && r >= 0; i++)
		r = follow_placed(k, a, &k->placed.jobs[i]);
	return r < 0 ? r : count_used(k);
}
