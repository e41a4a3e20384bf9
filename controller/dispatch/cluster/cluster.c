/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster.c - keeps nodes, placed jobs and the schedule of a cluster in step with the ledger. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/dispatch/cluster/cluster_impl.h"
#include "controller/ledger/nodes/drain.h"

/* Placements that are tried for one job, before the moments grow sparse (schedule.h). */
#define TRIES_MAX 8

void cluster_done(struct cluster *k)
{
	schedule_free(k->schedule);
	placed_done(&k->placed);
	free(k->nodes);
	free(k->node_at);
	free(k->pending);
	names_done(&k->node_names);
	names_done(&k->model_names);
	*k = (struct cluster){ 0 };
}

/* ---- nodes ---- */

static int number_nodes(struct cluster *k)
{
	for (size_t i = 0; i < k->n_nodes; i++)
		if (names_number(&k->node_names, k->nodes[i].name) < 0)
			return -ENOMEM;
	free(k->node_at);
	k->n_node_at = k->node_names.n;
	k->node_at = malloc((k->n_node_at + 1) * sizeof(*k->node_at));
	if (!k->node_at)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_node_at; i++)
		k->node_at[i] = -1;
	for (size_t i = 0; i < k->n_nodes; i++)
		k->node_at[names_find(&k->node_names, k->nodes[i].name)] = (int32_t)i;
	return 0;
}

int cluster_update_nodes(struct cluster *k, const struct cluster_ask *a,
			 const struct store_changes *since, struct err *err)
{
	struct fit_node *nodes = NULL;
	size_t n = 0;
	int r;

	if (k->schedule && !since->are_nodes_new)
		return 0;
	r = store_bare_nodes(a->store, a->cluster, &nodes, &n, err);
	if (r < 0)
		return r;
	free(k->nodes);
	k->nodes = nodes;
	k->n_nodes = n;
	return number_nodes(k) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* 0 is any. < 0: there are too many models. */
static int number_model(struct cluster *k, const char *model)
{
	for (int m = 1; m <= k->n_models; m++)
		if (!strcmp(k->models[m], model))
			return m;
	if (k->n_models == SCHEDULE_MODELS_MAX)
		return -ENOSPC;
	snprintf(k->models[++k->n_models], REQUEST_NAME_MAX, "%s", model);
	return k->n_models;
}

/* GPUs that are not clean are not allocated for now. Where a node tells no models, its GPUs are of
 * one without a name. */
static int add_gpus(struct cluster *k, const struct fit_node *from, struct schedule_node *ret)
{
	if (from->gpus.n == 0 && from->capacity.ngpus > 0) {
		int m = number_model(k, "");

		if (m < 0)
			return m;
		ret->gpus[m] = (int16_t)from->capacity.ngpus;
	}
	for (int32_t i = 0; i < from->gpus.n; i++) {
		const struct gpus_of *g = &from->gpus.of[i];
		int m = number_model(k, g->model);
		int64_t left = g->n - gpus_count(&from->gpus_drained, g->model);

		if (m < 0)
			return m;
		ret->gpus[m] = (int16_t)(left > 0 ? left : 0);
	}
	return 0;
}

static int add_node(struct cluster *k, const struct fit_node *from)
{
	struct schedule_node n = { .cores = from->capacity.ncpus,
				   .mem_bytes = from->capacity.mem_bytes,
				   .jobfs_bytes = from->capacity.jobfs_bytes,
				   .features = kinds_of_node(&k->kinds, from),
				   .is_open = from->open };
	int r = add_gpus(k, from, &n);

	return r < 0 ? r : schedule_add_node(k->schedule, &n);
}

static int add_nodes(struct cluster *k, struct err *err)
{
	for (size_t i = 0; i < k->n_nodes; i++) {
		int r = add_node(k, &k->nodes[i]);

		if (r < 0)
			return err_set(err, r, "node %s cannot be scheduled: %s",
				       k->nodes[i].name, strerror(-r));
	}
	return 0;
}

static uint32_t find_slices(const struct cluster *k)
{
	uint32_t parts = 0;

	for (int m = 1; m <= k->n_models; m++)
		if (gpus_is_part(k->models[m]))
			parts |= UINT32_C(1) << m;
	return parts;
}

/* Nodes that operators take out of use at a moment that is still to come. */
static int add_closing(void *ctx, const struct store_drain *d, struct err *err)
{
	struct cluster *k = ctx;
	int32_t node = cluster_find_node(k, d->node);

	(void)err;
	if (node < 0 || d->from_ns <= k->now_ns)
		return 0;
	schedule_set_closed(k->schedule, node, d->from_ns / S_NS);
	k->has_closings = true;
	return 0;
}

/* ---- the schedule made again, from memory ---- */

static int new_schedule(struct cluster *k, const struct cluster_ask *a)
{
	static const enum schedule_rule rules[] = {
		[CONFIG_SCHEDULER_BACKFILL] = SCHEDULE_PRIORITY,
		[CONFIG_SCHEDULER_FIFO] = SCHEDULE_FIFO,
		[CONFIG_SCHEDULER_SUSPEND] = SCHEDULE_PREEMPT,
	};
	struct schedule_config c = { .rule = rules[a->config->policy.scheduler],
				     .reserve_after_s = a->config->policy.late_after_s,
				     .tries_max = TRIES_MAX,
				     .may_start = a->may_start,
				     .on_start = a->on_start,
				     .ctx = a->ctx };

	k->n_models = 0;
	for (size_t i = 0; i < a->config->n_queues && i < SCHEDULE_QUEUES_MAX; i++)
		c.run_priority[i] = a->config->queues[i]->run_priority;
	for (size_t i = 0; i < k->n_nodes; i++)
		for (int32_t g = 0; g < k->nodes[i].gpus.n; g++)
			if (number_model(k, k->nodes[i].gpus.of[g].model) < 0)
				return -ENOSPC;
	c.slices = find_slices(k);
	k->schedule = schedule_free(k->schedule);
	return schedule_new(&c, &k->schedule);
}

static int make_schedule(struct cluster *k, const struct cluster_ask *a, struct err *err)
{
	int r = new_schedule(k, a);

	if (r < 0)
		return err_set(err, r, "cluster %s cannot be scheduled: %s", a->cluster,
			       r == -ENOSPC ? "it has more than 15 models of GPUs"
					    : strerror(-r));
	k->has_closings = false;
	k->n_pending = 0;
	if (a->kinds)
		k->kinds = *a->kinds;
	else
		kinds_gather(&k->kinds, a->order);
	r = add_nodes(k, err);
	if (r >= 0)
		r = store_drains(a->store, add_closing, k, err);
	for (size_t i = 0; i < a->order->n; i++)
		a->order->jobs[i].number = -1;
	for (size_t i = 0; i < k->placed.n; i++)
		k->placed.jobs[i].number = -1;
	if (r >= 0)
		schedule_edit_begin(k->schedule);
	return r;
}

/* ---- following ---- */

static void remove_number(struct schedule *s, int32_t *number)
{
	if (*number >= 0)
		schedule_remove(s, *number);
	*number = -1;
}

void cluster_remove_changed(struct cluster *k, const struct order *o,
			    const struct store_changes *since)
{
	schedule_edit_begin(k->schedule);
	for (size_t i = 0; i < since->n; i++) {
		int64_t job = since->jobs[i];
		struct order_job *queued = order_find(o, job);

		if (queued)
			remove_number(k->schedule, &queued->number);
		for (size_t p = placed_find(&k->placed, job);
		     p < k->placed.n && k->placed.jobs[p].job == job; p++)
			remove_number(k->schedule, &k->placed.jobs[p].number);
	}
}

/* Does the schedule have to be made again? */
static bool is_outdated(const struct cluster *k, const struct cluster_ask *a,
			const struct store_changes *since)
{
	if (!k->schedule || since->are_nodes_new || k->kinds.is_full)
		return true;
	for (size_t i = 0; i < since->n; i++) {
		const struct order_job *o = order_find(a->order, since->jobs[i]);

		if (o && !kinds_has(&k->kinds, &o->want))
			return true;
	}
	return false;
}

static int add_queued(struct cluster *k, const struct cluster_ask *a,
		      const struct store_changes *since)
{
	int r = 0;

	for (size_t i = 0; i < since->n && r >= 0; i++) {
		struct order_job *o = order_find(a->order, since->jobs[i]);

		if (o && o->number < 0)
			r = cluster_jobs_add(k, a, o);
	}
	return r;
}

static int add_all_queued(struct cluster *k, const struct cluster_ask *a)
{
	int r = 0;

	for (size_t i = 0; i < a->order->n && r >= 0; i++)
		r = cluster_jobs_add(k, a, &a->order->jobs[i]);
	return r;
}

/* Starts that were pending and are not any more: those jobs wait again. */
static int follow_pending(struct cluster *k, const struct cluster_ask *a)
{
	size_t n = 0, was = k->n_pending;
	int r = 0;

	for (size_t i = 0; i < was && r >= 0; i++) {
		struct order_job *o = order_find(a->order, k->pending[i]);
		bool is_pending = pending_start_find(a->pending, k->pending[i]) != NULL;

		if (o && is_pending) {
			k->pending[n++] = k->pending[i];
		} else if (o) {
			remove_number(k->schedule, &o->number);
			r = cluster_jobs_add(k, a, o);
		}
	}
	k->n_pending = n;
	return r;
}

static void set_priorities(struct cluster *k, const struct cluster_ask *a)
{
	for (size_t i = 0; a->is_ranked && i < a->order->n; i++)
		schedule_set_priority(k->schedule, a->order->jobs[i].number,
				      a->order->jobs[i].priority);
}

int cluster_update(struct cluster *k, const struct cluster_ask *a,
		   const struct store_changes *since, struct err *err)
{
	const struct placed_ask placed = { .store = a->store,
					   .config = a->config,
					   .cluster = a->cluster,
					   .users = a->users,
					   .accounts = a->accounts,
					   .nodes = &k->node_names,
					   .models = &k->model_names };
	bool is_new = is_outdated(k, a, since);
	int r = k->schedule ? placed_update(&placed, since, &k->placed, err)
			    : placed_make(&placed, &k->placed, err);

	k->now_ns = a->now_ns;
	if (r >= 0 && is_new)
		r = make_schedule(k, a, err);
	if (r < 0)
		return r;
	r = is_new ? 0 : follow_pending(k, a);
	if (r >= 0)
		r = is_new ? add_all_queued(k, a) : add_queued(k, a, since);
	if (r >= 0)
		r = cluster_jobs_follow(k, a);
	if (r >= 0)
		r = schedule_edit_end(k->schedule);
	if (r < 0)
		return err_set(err, r, "the jobs of cluster %s cannot be scheduled: %s",
			       a->cluster, strerror(-r));
	set_priorities(k, a);
	return 0;
}
