/* snapshot.c - see snapshot.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/nodes/drain.h"
#include "controller/dispatch/held.h"
#include "controller/dispatch/kinds.h"
#include "controller/dispatch/snapshot.h"

/* A job without a walltime is taken to run for so long. */
#define NO_LIMIT_S (INT64_C(10) * 365 * DAY_S)

void snapshot_done(struct snapshot *s)
{
	schedule_free(s->schedule);
	free(s->nodes);
	free(s->jobs);
	names_done(&s->node_names);
	*s = (struct snapshot){ 0 };
}

struct snapshot_job *snapshot_find(const struct snapshot *s, int64_t job)
{
	size_t low = 0, high = s->n_jobs;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->jobs[mid].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->n_jobs && s->jobs[low].job == job ? &s->jobs[low] : NULL;
}

int32_t snapshot_node(const struct snapshot *s, const char *node)
{
	return names_find(&s->node_names, node);
}

static int64_t seconds(int64_t ns)
{
	return ns / S_NS;
}

/* ---- nodes ---- */

/* 0 is any. < 0: there are too many models. */
static int model_of(struct snapshot *s, const char *model)
{
	for (int m = 1; m <= s->n_models; m++)
		if (!strcmp(s->models[m], model))
			return m;
	if (s->n_models == SCHEDULE_MODELS_MAX)
		return -ENOSPC;
	snprintf(s->models[++s->n_models], REQUEST_NAME_MAX, "%s", model);
	return s->n_models;
}

/* Of those that are not clean none are given for now. Where a node tells no models, its GPUs
 * are of one without a name. */
static int add_gpus(struct snapshot *s, const struct fit_node *from, struct schedule_node *ret)
{
	if (from->gpus.n == 0 && from->capacity.ngpus > 0) {
		int m = model_of(s, "");

		if (m < 0)
			return m;
		ret->gpus[m] = (int16_t)from->capacity.ngpus;
	}
	for (int32_t i = 0; i < from->gpus.n; i++) {
		const struct gpus_of *g = &from->gpus.of[i];
		int m = model_of(s, g->model);
		int64_t left = g->n - gpus_count(&from->gpus_drained, g->model);

		if (m < 0)
			return m;
		ret->gpus[m] = (int16_t)(left > 0 ? left : 0);
	}
	return 0;
}

static int add_node(struct snapshot *s, const struct kinds *kinds, const struct fit_node *from)
{
	struct schedule_node n = { .cores = from->capacity.ncpus,
				   .mem_bytes = from->capacity.mem_bytes,
				   .jobfs_bytes = from->capacity.jobfs_bytes,
				   .features = kinds_of_node(kinds, from),
				   .is_open = from->open };
	int r = add_gpus(s, from, &n);

	if (r >= 0 && names_number(&s->node_names, from->name) < 0)
		r = -ENOMEM;
	return r < 0 ? r : schedule_add_node(s->schedule, &n);
}

static int add_nodes(struct snapshot *s, const struct kinds *kinds, struct err *err)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		int r = add_node(s, kinds, &s->nodes[i]);

		if (r < 0)
			return err_set(err, r, "node %s cannot be scheduled: %s",
				       s->nodes[i].name, strerror(-r));
	}
	return 0;
}

static uint32_t part_models(const struct snapshot *s)
{
	uint32_t parts = 0;

	for (int m = 1; m <= s->n_models; m++)
		if (gpus_is_part(s->models[m]))
			parts |= UINT32_C(1) << m;
	return parts;
}

/* Those that operators take out of use at a moment that is still to come. */
static int add_closing(void *ctx, const struct store_drain *d, struct err *err)
{
	struct snapshot *s = ctx;
	int32_t node = snapshot_node(s, d->node);

	(void)err;
	if (node < 0 || d->from_ns <= s->now_ns)
		return 0;
	schedule_set_closed(s->schedule, node, seconds(d->from_ns));
	s->has_closings = true;
	return 0;
}

/* ---- jobs ---- */

/* A model that no node has: one more than there are, so that it fits nowhere. */
static struct schedule_chunk chunk_of(const struct snapshot *s, const struct resources *want)
{
	struct schedule_chunk c = { .cores = want->ncpus,
				    .mem_bytes = fit_memory(want),
				    .jobfs_bytes = want->jobfs_bytes,
				    .gpus = (int32_t)want->ngpus,
				    .n = 1 };

	if (!*want->gpu_model || !want->ngpus)
		return c;
	c.model = SCHEDULE_MODELS_MAX;
	for (int m = 1; m <= s->n_models; m++)
		if (!strcmp(s->models[m], want->gpu_model))
			c.model = m;
	return c;
}

static struct schedule_chunk part_of(const struct snapshot *s, const struct store_allocated *p,
				     const struct store_part *part)
{
	struct resources share = p->want;

	share.ncpus = part->ncpus;
	share.vmem_bytes = part->vmem_bytes;
	share.mem_bytes = part->mem_bytes;
	share.jobfs_bytes = part->jobfs_bytes;
	share.ngpus = part->ngpus;
	return chunk_of(s, &share);
}

/* Returns how many kinds of them. */
static int32_t chunks_of(const struct snapshot *s, const struct order_job *o,
			 struct schedule_chunk ret[static SELECT_MAX])
{
	if (!o->select) {
		ret[0] = chunk_of(s, &o->job.want);
		return 1;
	}
	for (int32_t k = 0; k < o->select->n; k++) {
		struct resources one;

		select_chunk(&o->select->of[k], &o->job.want, &one);
		ret[k] = chunk_of(s, &one);
		ret[k].n = (int32_t)o->select->of[k].n;
	}
	return o->select->n;
}

static int64_t limit_of(const struct resources *want)
{
	return want->walltime_s ? want->walltime_s : NO_LIMIT_S;
}

static int note(struct snapshot *s, const struct snapshot_job *j)
{
	if (s->n_jobs == s->max_jobs) {
		size_t larger = s->max_jobs ? s->max_jobs * 2 : 64;
		struct snapshot_job *jobs = realloc(s->jobs, larger * sizeof(*jobs));

		if (!jobs)
			return -ENOMEM;
		s->jobs = jobs;
		s->max_jobs = larger;
	}
	s->jobs[s->n_jobs++] = *j;
	return 0;
}

/* Only suspension looks at queues. */
static int32_t queue_of(const struct snapshot_ask *a, int32_t queue)
{
	bool is_used = a->config->policy.scheduler == CONFIG_SCHEDULER_SUSPEND;

	return is_used && queue >= 0 ? queue : 0;
}

struct adding {
	const struct snapshot_ask *ask;
	struct snapshot *s;
	size_t n_queued; /* of the order, that are in */
	struct kinds kinds;
	struct held held;
};

/* One whose start was decided holds its nodes already. */
static int add_intent(struct adding *a, const struct schedule_job *j, const struct intent *in,
		      int32_t *ret)
{
	_cleanup_free_ int32_t *nodes = calloc(in->n, sizeof(*nodes));
	const struct schedule_held h = { SCHEDULE_RUNNING, nodes, seconds(in->since_ns) };

	if (!nodes)
		return -ENOMEM;
	for (size_t i = 0; i < in->n; i++)
		nodes[i] = snapshot_node(a->s, in->nodes[i]);
	return schedule_add_held(a->s->schedule, j, &h, ret);
}

static int add_queued(struct adding *a, const struct order_job *o)
{
	const struct intent *intent = intents_find(a->ask->intents, o->job.job);
	struct schedule_chunk chunks[SELECT_MAX];
	struct snapshot_job noted = { .job = o->job.job };
	struct schedule_job j = { .id = o->job.job,
				  .queue = queue_of(a->ask, o->queue),
				  .user = o->user,
				  .group = o->account,
				  .chunks = chunks,
				  .n_chunks = chunks_of(a->s, o, chunks),
				  .features = kinds_wanted(&a->kinds, &o->job.want),
				  .is_exclusive = o->job.is_exclusive,
				  .is_scattered = o->select && o->select->is_scattered,
				  .is_kept = intent != NULL,
				  .priority = o->priority,
				  .submit_s = seconds(o->submitted_ns),
				  .limit_s = limit_of(&o->job.want),
				  .due_s = seconds(o->due_ns) };
	int r = intent ? add_intent(a, &j, intent, &noted.number)
		       : schedule_add(a->s->schedule, &j, &noted.number);

	return r < 0 ? r : note(a->s, &noted);
}

/* Both come by number: those of the order that are before this one go in first. */
static int add_queued_before(struct adding *a, int64_t job)
{
	int r = 0;

	while (r >= 0 && a->n_queued < a->ask->order->n &&
	       a->ask->order->jobs[a->n_queued].job.job < job)
		r = add_queued(a, &a->ask->order->jobs[a->n_queued++]);
	return r;
}

/* One that was asked to give way, and will: its cores are those of the job that it was asked
 * for. Without that start (the controller was restarted) it runs until it is suspended. */
static enum schedule_state state_of(const struct snapshot_ask *a,
				    const struct store_allocated *p)
{
	if (p->wish != DESIRED_SUSPEND)
		return SCHEDULE_RUNNING;
	if (p->state == JOB_SUSPENDED)
		return SCHEDULE_SUSPENDED;
	return p->gave_way_to && intents_find(a->intents, p->gave_way_to) ? SCHEDULE_SUSPENDED
									  : SCHEDULE_RUNNING;
}

static int64_t ran_ns(const struct store_allocated *p, int64_t now_ns)
{
	int64_t ran = p->running_ns;

	if (p->at_ns && p->state == JOB_RUNNING && now_ns > p->at_ns)
		ran += now_ns - p->at_ns;
	return ran;
}

/* Where a job is: a chunk for each of its parts. */
struct places {
	struct schedule_chunk *chunks, one;
	int32_t *nodes, one_node;
	int32_t n;
};

/* A node that is gone holds nothing. */
static int find_places(const struct snapshot *s, const struct store_allocated *p,
		       struct places *ret)
{
	*ret = (struct places){ .one_node = snapshot_node(s, p->node) };
	ret->chunks = &ret->one;
	ret->nodes = &ret->one_node;
	if (p->n_parts == 0) {
		ret->one = chunk_of(s, &p->want);
		ret->n = ret->one_node >= 0;
		return 0;
	}
	ret->chunks = calloc(p->n_parts, sizeof(*ret->chunks));
	ret->nodes = calloc(p->n_parts, sizeof(*ret->nodes));
	if (!ret->chunks || !ret->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_parts; i++) {
		ret->nodes[ret->n] = snapshot_node(s, p->parts[i].node);
		ret->chunks[ret->n] = part_of(s, p, &p->parts[i]);
		ret->n += ret->nodes[ret->n] >= 0;
	}
	return 0;
}

static void places_done(struct places *p)
{
	if (p->chunks != &p->one)
		free(p->chunks);
	if (p->nodes != &p->one_node)
		free(p->nodes);
}

static int hold(struct adding *a, const struct store_allocated *p, const struct places *at,
		struct err *err)
{
	struct snapshot_job noted = { .job = p->job };
	struct schedule_held h = { state_of(a->ask, p), at->nodes, seconds(a->s->now_ns) };
	struct schedule_job j = { .id = p->job,
				  .queue = queue_of(a->ask,
						    order_queue(a->ask->config, p->queue)),
				  .user = names_number(a->ask->users, p->user),
				  .group = names_number(a->ask->accounts, p->account),
				  .chunks = at->chunks,
				  .n_chunks = at->n,
				  .is_exclusive = p->is_exclusive,
				  .submit_s = seconds(p->submitted_ns),
				  .limit_s = limit_of(&p->want),
				  .ran_s = seconds(ran_ns(p, a->s->now_ns)),
				  .suspended_s = seconds(p->suspended_ns),
				  .due_s = seconds(p->due_ns) };
	int r;

	if (j.user < 0 || j.group < 0)
		return err_set(err, -ENOMEM, "out of memory");
	/* Who is on the way from one state to the other, or not here yet, is let be. */
	j.is_kept = p->state != JOB_RUNNING || p->wish != DESIRED_RUN;
	r = schedule_add_held(a->s->schedule, &j, &h, &noted.number);
	if (r < 0)
		return err_set(err, r, "job %lld cannot be scheduled: %s", (long long)p->job,
			       strerror(-r));
	/* Somebody wished it: it goes on when they do. */
	if (h.state == SCHEDULE_SUSPENDED && !p->gave_way_to)
		schedule_set_held_back(a->s->schedule, noted.number, true);
	if (note(a->s, &noted) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_placed(void *ctx, const struct store_allocated *p, struct err *err)
{
	struct adding *a = ctx;
	_cleanup_(places_done) struct places at = { .n = 0,
						    .chunks = &at.one,
						    .nodes = &at.one_node };
	int r = add_queued_before(a, p->job);

	if (r >= 0)
		r = find_places(a->s, p, &at);
	if (r < 0)
		return err_set(err, r, "out of memory");
	if (at.n && p->n_parts == 0)
		held_add(&a->held, (size_t)at.one_node, p);
	for (size_t i = 0; i < p->n_parts && p->is_exclusive && i < (size_t)at.n; i++)
		a->held.is_whole[at.nodes[i]] = true;
	return at.n ? hold(a, p, &at, err) : 0;
}

static int make_schedule(const struct snapshot_ask *a, struct snapshot *s)
{
	static const enum schedule_rule rules[] = {
		[CONFIG_SCHEDULER_BACKFILL] = SCHEDULE_PRIORITY,
		[CONFIG_SCHEDULER_FIFO] = SCHEDULE_FIFO,
		[CONFIG_SCHEDULER_SUSPEND] = SCHEDULE_PREEMPT,
	};
	struct schedule_config c = { .rule = rules[a->config->policy.scheduler],
				     .late_s = a->config->policy.late_after_s,
				     .may_start = a->may_start,
				     .starts = a->starts,
				     .ctx = a->ctx };

	for (size_t i = 0; i < a->config->n_queues && i < SCHEDULE_QUEUES_MAX; i++)
		c.run_priority[i] = a->config->queues[i]->run_priority;
	for (size_t i = 0; i < s->n_nodes; i++)
		for (int32_t g = 0; g < s->nodes[i].gpus.n; g++)
			if (model_of(s, s->nodes[i].gpus.of[g].model) < 0)
				return -ENOSPC;
	c.parts = part_models(s);
	return schedule_new(&c, &s->schedule);
}

/* For tests: what the placed jobs hold must be what the ledger adds up. */
static int check(const struct snapshot_ask *a, const struct held *h, struct err *err)
{
	_cleanup_free_ struct fit_node *nodes = NULL;
	const char *node;
	size_t n;
	int r = store_nodes_in_use(a->store, a->cluster, &nodes, &n, err);

	if (r >= 0 && !held_is_same(h, nodes, n, &node)) {
		fprintf(stderr, "reeve: the queue has node %s otherwise than the ledger\n",
			node);
		abort();
	}
	return r;
}

static int add_all_placed(struct adding *a, struct err *err)
{
	int r = held_begin(a->s->nodes, a->s->n_nodes, &a->held);

	if (r < 0)
		return err_set(err, r, "out of memory");
	r = store_allocated(a->ask->store, a->ask->cluster, add_placed, a, err);
	held_end(&a->held);
	if (r >= 0 && a->ask->is_checked)
		r = check(a->ask, &a->held, err);
	held_done(&a->held);
	return r;
}

int snapshot_make(const struct snapshot_ask *a, struct fit_node *nodes, size_t n_nodes,
		  struct snapshot *ret, struct err *err)
{
	struct adding adding = { .ask = a, .s = ret };
	int r;

	*ret = (struct snapshot){ .nodes = nodes, .n_nodes = n_nodes, .now_ns = a->now_ns };
	r = make_schedule(a, ret);
	if (r < 0)
		return err_set(err, r, "cluster %s cannot be scheduled: %s", a->cluster,
			       r == -ENOSPC ? "it has more than 15 models of GPUs"
					    : strerror(-r));
	kinds_gather(&adding.kinds, a->order);
	r = add_nodes(ret, &adding.kinds, err);
	if (r >= 0)
		r = store_drains(a->store, add_closing, ret, err);
	if (r >= 0)
		r = add_all_placed(&adding, err);
	if (r < 0)
		return r;
	r = add_queued_before(&adding, INT64_MAX);
	return r < 0 ? err_set(err, r, "queued jobs cannot be scheduled: %s", strerror(-r)) : 0;
}
