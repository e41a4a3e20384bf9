/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycles.c - runs one scheduling cycle over all clusters and wakes the nodes that it decided
 * about; see cycles.h. */
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/engine.h"
#include "common/stops/stops.h"
#include "controller/api/call.h"
#include "controller/api/prepare_cycle.h"
#include "controller/dispatch/cycle.h"
#include "controller/ledger/restored.h"
#include "controller/maintenance/cycles.h"
#include "controller/maintenance/start_by.h"

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

static void run_clusters(struct api *a)
{
	struct err err;

	if (waits_for_nodes(a))
		return;

	for (size_t i = 0; i < a->c.config->n_clusters; i++) {
		struct cycle_run run = { a->c.config->clusters[i]->name, api_now_ns(),
					 on_decision, a, a->accounts };
		int64_t given = a->counts.given, begun_ns = api_monotonic_ns();

		if (engine_is_foreign((enum engine)a->c.config->clusters[i]->engine))
			continue; /* slurmctld or pbs_sched decides there */
		if (cycle_run(a->c.cycle, &run, &err) < 0)
			log_line(LOG_ERR, "scheduling cycle of cluster %s: %s", run.cluster,
				 err.text);
		else
			start_by_check(a, run.cluster);
		log_cycle(a, run.cluster, a->counts.given - given,
			  api_monotonic_ns() - begun_ns);
	}
	start_by_plan(a);
}

/* A cycle takes at most half of the controller's time: the next one waits for as long as this
 * one took. Where tasks of an array started, the array's next tasks may get their rows. */
static int on_cycle(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("cycle");
	struct api *a = ctx;
	int64_t start_ns = api_monotonic_ns(), given = a->counts.given, end_ns;
	bool has_more_tasks = prepare_cycle(a);

	(void)source;
	(void)us;
	a->counts.cycles++;
	run_clusters(a);
	end_ns = api_monotonic_ns();
	a->cycle_due_ns = end_ns + (end_ns - start_ns);
	a->counts.cycle_ns += end_ns - start_ns;
	if (has_more_tasks && a->counts.given > given)
		api_request_cycle(a);
	return 0;
}

int cycles_open(struct api *a)
{
	int r = start_by_open(a);

	return r < 0 ? r
		     : sd_event_add_time(a->c.event, &a->cycle_source, CLOCK_MONOTONIC, 0, 1,
					 on_cycle, a);
}

void cycles_close(struct api *a)
{
	start_by_close(a);
	a->cycle_source = sd_event_source_disable_unref(a->cycle_source);
}
