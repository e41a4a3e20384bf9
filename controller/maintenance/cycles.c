/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycles.c - runs one scheduling cycle over all clusters, slice by slice, and wakes the nodes that it decided
 * about; see cycles.h. */
#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/engine.h"
#include "common/stops/stops.h"
#include "controller/api/call.h"
#include "controller/api/prepare_cycle.h"
#include "controller/dispatch/cycle.h"
#include "controller/scheduler/schedule.h"
#include "controller/ledger/restored.h"
#include "controller/maintenance/cycles.h"
#include "controller/maintenance/start_by.h"

#define WORK_EVERY                                                                             \
	1024 /* units of a pass between two looks at the clock: some ten microseconds */

struct cycles {
	struct api *api;
	bool is_under_way;
	bool is_begun;	       /* the cycle of the cluster that it is at */
	bool has_more_tasks;   /* of arrays */
	size_t cluster;	       /* of the configuration */
	int64_t given;	       /* api_counts.given when it began */
	int64_t cluster_given; /* ... with this cluster */
	int64_t cluster_ns;    /* of the loop's time, for this cluster */
	int64_t until_ns;      /* CLOCK_MONOTONIC: the end of this slice */
};

/* A job on several nodes is announced once for each of them; only the first is logged, except that a
 * start is logged on each. */
static void on_decision(void *ctx, const struct cycle_event *n)
{
	struct api *a = ctx;

	api_wake_node(a, n->node);
	if (n->is_further_node && n->action != CYCLE_ALLOCATED)
		return;
	if (n->action == CYCLE_ALLOCATED)
		log_job(LOG_INFO, n->job, "give", "dispatched to node %s", n->node);
	else if (n->action == CYCLE_SUSPENDED)
		log_job(LOG_INFO, n->job, "suspend", "suspended on %s: preempted by job %lld",
			n->node, (long long)n->by);
	else
		log_job(LOG_INFO, n->job, "resume", "resumes on %s", n->node);
	a->counts.given += n->action == CYCLE_ALLOCATED && !n->is_further_node;
}

/* A job that is queued in a restored ledger may have run, and its node tells so when it is asked. */
static bool waits_for_nodes(struct api *a)
{
	struct err err;
	int r = store_restored_waits(a->c.store, &err);

	if (r < 0)
		log_line(LOG_ERR, "nodes that have not reported to the restored ledger: %s",
			 err.text);
	return r != 0;
}

static void log_cycle(struct api *a, const char *cluster, int64_t started, int64_t took_ns)
{
	struct cycle_summary s;

	cycle_summarize(a->c.cycle, cluster, &s);
	log_line(LOG_DEBUG,
		 "cluster %s: cycle in %.1f ms: %lld started; %zu queued, of which limits hold "
		 "back %zu and %zu wait for cores; %zu on nodes",
		 cluster, (double)took_ns / 1e6, (long long)started, s.queued, s.limited,
		 s.pending, s.allocated);
}

static bool has_time(void *ctx)
{
	const struct cycles *c = ctx;

	return api_monotonic_ns() < c->until_ns;
}

static void end_cluster(struct cycles *c, const char *cluster, int r, const struct err *err)
{
	struct api *a = c->api;
	struct cycle_summary s;

	if (r < 0)
		log_line(LOG_ERR, "scheduling cycle of cluster %s: %s", cluster, err->text);
	else
		start_by_check(a, cluster);
	cycle_summarize(a->c.cycle, cluster, &s);
	a->is_cycle_wanted |= s.is_dropped;
	log_cycle(a, cluster, a->counts.given - c->cluster_given, c->cluster_ns);
	c->is_begun = false;
	c->cluster++;
}

/* Begins with a cluster, or goes on with it. */
static void step_cluster(struct cycles *c, const char *cluster)
{
	const struct schedule_budget budget = { has_time, c, WORK_EVERY };
	struct api *a = c->api;
	const struct cycle_run run = { cluster, api_now_ns(), on_decision, a, a->accounts };
	int64_t begun_ns = api_monotonic_ns();
	struct err err = { "" };
	int r;

	if (!c->is_begun) {
		c->cluster_given = a->counts.given;
		c->cluster_ns = 0;
		r = cycle_begin(a->c.cycle, &run, &err);
	} else {
		r = cycle_go_on(a->c.cycle, cluster, &budget, &err);
	}
	c->is_begun = true;
	c->cluster_ns += api_monotonic_ns() - begun_ns;
	if (r <= 0)
		end_cluster(c, cluster, r, &err);
}

static void step_cycle(struct cycles *c)
{
	const struct config *config = c->api->c.config;

	if (c->cluster >= config->n_clusters) {
		start_by_plan(c->api);
		c->is_under_way = false;
	} else if (engine_is_foreign((enum engine)config->clusters[c->cluster]->engine)) {
		c->cluster++; /* slurmctld or pbs_sched decides there */
	} else {
		step_cluster(c, config->clusters[c->cluster]->name);
	}
}

static void begin_cycle(struct cycles *c)
{
	struct api *a = c->api;

	a->is_cycle_wanted = false;
	a->counts.cycles++;
	c->given = a->counts.given;
	c->has_more_tasks = prepare_cycle(a);
	c->cluster = 0;
	c->is_begun = false;
	c->is_under_way = !waits_for_nodes(a);
}

/* Where tasks of an array started, the array's next tasks may get their rows. */
static bool is_next_wanted(const struct cycles *c)
{
	return c->api->is_cycle_wanted ||
	       (c->has_more_tasks && c->api->counts.given > c->given);
}

/* Cycles take at most half of the controller's time: the next slice, and the next cycle, wait for as long as this
 * slice took. */
static int on_cycle(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("cycle");
	struct cycles *c = ctx;
	struct api *a = c->api;
	int64_t start_ns = api_monotonic_ns(), end_ns;

	(void)us;
	c->until_ns = start_ns + a->c.config->cycle_slice_ms * MS_NS;
	if (!c->is_under_way)
		begin_cycle(c);
	while (c->is_under_way && has_time(c))
		step_cycle(c);
	end_ns = api_monotonic_ns();
	a->counts.cycle_ns += end_ns - start_ns;
	a->cycle_due_ns = end_ns + (end_ns - start_ns);
	if (c->is_under_way) {
		sd_event_source_set_time(source, (uint64_t)a->cycle_due_ns / 1000);
		return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	if (is_next_wanted(c))
		api_request_cycle(a);
	return 0;
}

DEFINE_CLEANUP(struct cycles *, cycles_close)

int cycles_open(struct api *a, struct cycles **ret)
{
	_cleanup_(cycles_closep) struct cycles *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->api = a;
	r = start_by_open(a);
	if (r >= 0)
		r = sd_event_add_time(a->c.event, &a->cycle_source, CLOCK_MONOTONIC, 0, 1,
				      on_cycle, c);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

struct cycles *cycles_close(struct cycles *c)
{
	if (!c)
		return NULL;
	start_by_close(c->api);
	c->api->cycle_source = sd_event_source_disable_unref(c->api->cycle_source);
	free(c);
	return NULL;
}
