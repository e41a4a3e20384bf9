/* api.c - the api's own life, the scheduling cycle and silent nodes. See api.h. */
#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/usage/metrics_usage.h"
#include "controller/api/call.h"
#include "controller/api/accounts/declared.h"
#include "controller/api/jobs/parts.h"
#include "controller/api/jobs/suspended.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/submit/batch.h"
#include "controller/api/sync/told.h"
#include "controller/http/server.h"
#include "controller/api/turn.h"
#include "controller/hooks/hooks.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/jobs/stored.h"
#include "controller/dispatch/cycle.h"

#define CHECK_NS (5 * S_NS) /* between calls of api_check_nodes(), about */

static void on_told(void *ctx, const struct cycle_news *n)
{
	struct api *a = ctx;

	call_wake_node(a, n->node);
	if (n->is_more && n->did != CYCLE_GAVE)
		return;
	if (n->did == CYCLE_GAVE)
		log_job(LOG_INFO, n->job, "give", "given to node %s", n->node);
	else if (n->did == CYCLE_SUSPENDED)
		log_job(LOG_INFO, n->job, "suspend", "gives its cores on %s to job %lld",
			n->node, (long long)n->by);
	else
		log_job(LOG_INFO, n->job, "resume", "goes on, on %s", n->node);
	a->counts.given += n->did == CYCLE_GAVE && !n->is_more;
}

static void run_cycle(struct api *a)
{
	struct err err;

	for (size_t i = 0; i < a->c.config->n_clusters; i++) {
		struct cycle_run run = { a->c.config->clusters[i]->name, call_now_ns(), on_told,
					 a, a->accounts };

		if (cycle_run(a->c.cycle, &run, &err) < 0)
			log_line(LOG_ERR, "scheduling cycle of cluster %s: %s", run.cluster,
				 err.text);
	}
}

/* A cycle takes at most half of the controller's time: the next one waits as long as this one
 * took. Elements of arrays get their rows before it; where some of them started, others may. */
static int on_cycle(sd_event_source *source, uint64_t us, void *ctx)
{
	struct api *a = ctx;
	int64_t start_ns = call_monotonic_ns(), given = a->counts.given, end_ns;
	bool is_waiting = turn_take(a);

	(void)source;
	(void)us;
	a->counts.cycles++;
	run_cycle(a);
	end_ns = call_monotonic_ns();
	a->cycle_due_ns = end_ns + (end_ns - start_ns);
	a->counts.cycle_ns += end_ns - start_ns;
	if (is_waiting && a->counts.given > given)
		api_want_cycle(a);
	return 0;
}

static int open_hooks(struct api *a, struct err *err)
{
	const struct hooks_config c = { .event = a->c.event,
					.config = &a->c.config->hooks,
					.store = a->c.store,
					.describe = describe_job_number,
					.ctx = a };

	return hooks_open(&c, &a->hooks, err);
}

#define PRUNE_AGAIN_US 100000	/* while there is more: others come first */
#define PRUNE_USUAL_US 30000000 /* between looks */

/* Small batches, so that neither a cycle nor an exchange waits for one. */
static int on_prune(sd_event_source *source, uint64_t us, void *ctx)
{
	struct api *a = ctx;
	const struct config *config = a->c.config;
	const struct store_retention keep = {
		.now_ns = call_now_ns(),
		.output_ns = config->keep_output_s * S_NS,
		.events_ns = config->keep_events_s * S_NS,
	};
	uint64_t pause_us = config->keep_output_s < 60 ? 1000000 : PRUNE_USUAL_US;
	struct err err = { "" };
	int r = store_prune(a->c.store, &keep, &err);

	(void)us;
	if (r < 0)
		log_line(LOG_ERR, "removing what ended long ago: %s", err.text);
	sd_event_source_set_time_relative(source, r > 0 ? PRUNE_AGAIN_US : pause_us);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int open_timers(struct api *a, struct err *err)
{
	int r = sd_event_add_time(a->c.event, &a->cycle_source, CLOCK_MONOTONIC, 0, 1, on_cycle,
				  a);

	if (r >= 0)
		r = sd_event_add_time_relative(a->c.event, &a->prune_source, CLOCK_MONOTONIC,
					       1000000, 0, on_prune, a);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

int api_open(const struct api_config *c, struct api **ret, struct err *err)
{
	_cleanup_(api_closep) struct api *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->c = *c;
	a->listening_ns = a->checked_ns = call_now_ns();
	store_set_max_requeues(c->store, c->config->max_requeues);
	store_set_max_stored(c->store, c->config->max_stored_per_user);
	store_set_gpu_idle(c->store, config_gpu_idle_ns(c->config));
	r = declared_open(a, err);
	if (r >= 0)
		r = open_hooks(a, err);
	if (r >= 0)
		r = open_timers(a, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

struct api *api_close(struct api *a)
{
	if (!a)
		return NULL;
	a->hooks = hooks_close(a->hooks);
	a->metrics_usage = metrics_usage_free(a->metrics_usage);
	sd_event_source_disable_unref(a->cycle_source);
	sd_event_source_disable_unref(a->prune_source);
	submit_batches_close(a->batches);
	told_free(a->told);
	declared_close(a);
	free(a);
	return NULL;
}

static int add_node(void *ctx, const struct store_node *n, struct err *err)
{
	(void)err;
	server_add_node(ctx, n->address);
	return 0;
}

int api_set_server(struct api *a, struct server *s, struct err *err)
{
	a->server = s;
	for (size_t i = 0; i < a->c.config->n_nodes; i++)
		if (a->c.config->nodes[i]->address)
			server_add_node(s, a->c.config->nodes[i]->address);
	return store_nodes(a->c.store, add_node, s, err);
}

static int lose_jobs(struct api *a, int64_t now, struct err *err)
{
	struct store_lost_result lost;
	int r;

	lost.n_lost = 0;
	r = store_lose_jobs(a->c.store, now, &lost, err);
	for (int64_t i = 0; i < lost.n_lost && r >= 0; i++)
		r = parts_wake(a, lost.jobs[i], err);
	if (r < 0 || !lost.n_lost)
		return r;
	log_line(LOG_WARNING, "%lld job%s ended with lost nodes, %lld of them queued again",
		 (long long)lost.n_lost, lost.n_lost == 1 ? "" : "s",
		 (long long)lost.n_requeued);
	api_want_cycle(a);
	return 0;
}

/* While connections are refused or dropped that may be nodes', their silence is ours. Since
 * when nothing was. */
static void hold_for_refusals(struct api *a, int64_t now, int64_t silence)
{
	struct server_counts n = { 0 };

	if (a->server)
		server_get_counts(a->server, &n);
	if (n.shed_nodes != a->shed) {
		log_limited(&a->hold_log, LOG_WARNING,
			    "no node is taken for lost until %lld s after the last: %lld "
			    "connections that may be nodes' were refused (%s)",
			    (long long)(silence / S_NS), (long long)(n.shed_nodes - a->shed),
			    n.shed_from);
		a->listening_ns = now;
		a->is_holding = true;
	}
	a->shed = n.shed_nodes;
	if (!a->is_holding || now - a->listening_ns < silence)
		return;
	a->is_holding = false;
	log_line(LOG_NOTICE,
		 "no connection was refused for %lld s: silent nodes are lost again",
		 (long long)(silence / S_NS));
}

/* Nodes were not heard of while the controller was not there to hear them: before it led, or
 * while it was stopped, or its machine was, or it refused to hear them. Nor is a clock that was
 * set any measure of silence. How long nodes can have been silent, as far as we know. */
static int64_t listened_ns(struct api *a, int64_t now, int64_t silence)
{
	int64_t gap = now - a->checked_ns;

	a->checked_ns = now;
	if (gap < 0 || gap > CHECK_NS + silence / 2)
		a->listening_ns = now;
	hold_for_refusals(a, now, silence);
	return now - a->listening_ns;
}

int api_check_nodes(struct api *a, struct err *err)
{
	int64_t now = call_now_ns(), silence = a->c.config->node_lost_s * S_NS;
	int n;

	if (cycle_is_holding(a->c.cycle))
		api_want_cycle(a);
	n = suspended_check(a, now, err);
	if (n < 0)
		return n;
	if (listened_ns(a, now, silence) < silence)
		return 0;
	n = store_lose(a->c.store, now - silence, now, err);
	if (n < 0)
		return n;
	if (n > 0)
		log_line(LOG_WARNING, "%d node%s not heard of for %lld s: lost", n,
			 n == 1 ? "" : "s", (long long)a->c.config->node_lost_s);
	return lose_jobs(a, now, err);
}
