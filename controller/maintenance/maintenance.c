/* SPDX-License-Identifier: GPL-2.0-or-later */
/* maintenance.c - every few seconds checks nodes and suspended jobs, and removes from the
 * ledger what ended long ago; see maintenance.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/api/call.h"
#include "controller/api/jobs/suspended.h"
#include "controller/dispatch/cycle.h"
#include "controller/ledger/jobs/stored.h"
#include "controller/maintenance/allocations.h"
#include "controller/maintenance/cycles.h"
#include "controller/maintenance/lost_nodes.h"
#include "controller/maintenance/maintenance.h"
#include "controller/maintenance/warm.h"

#define PRUNE_AGAIN_US 100000	/* while there is more to remove: other work comes first */
#define PRUNE_USUAL_US 30000000 /* when there is nothing more to remove */

struct maintenance {
	struct api *api;
	struct lost_nodes lost;
	struct allocations *allocations; /* NULL: no hook wants to know */
	struct warm *warm;
	struct cycles *cycles;
	struct sd_event_source *check_source, *prune_source;
};

/* ---- removing what ended long ago ---- */

/* In small batches, so that neither a cycle nor a request waits for one. */
static int on_prune(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("prune");
	struct maintenance *m = ctx;
	const struct config *config = m->api->c.config;
	const struct store_retention keep = {
		.now_ns = api_now_ns(),
		.output_ns = config->keep_output_s * S_NS,
		.events_ns = config->keep_events_s * S_NS,
	};
	uint64_t pause_us = config->keep_output_s < 60 ? 1000000 : PRUNE_USUAL_US;
	struct err err = { "" };
	int r = store_prune(m->api->c.store, &keep, &err);

	(void)us;
	if (r < 0)
		log_line(LOG_ERR, "cannot remove what ended long ago: %s", err.text);
	sd_event_source_set_time_relative(source, r > 0 ? PRUNE_AGAIN_US : pause_us);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- nodes and suspended jobs ---- */

/* A cycle that holds back starts until preempted jobs have stopped is run again here, in case a
 * node never reports the stop. */
static int run_checks(struct maintenance *m, struct err *err)
{
	struct api *a = m->api;
	int64_t now_ns = api_now_ns();
	int r;

	if (cycle_may_start_by_time(a->c.cycle))
		api_request_cycle(a);
	r = suspended_check(a, now_ns, err);
	return r < 0 ? r : lost_nodes_check(&m->lost, a, now_ns, err);
}

static int on_check(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("checks");
	struct err err;

	(void)us;
	if (run_checks(ctx, &err) < 0)
		log_line(LOG_ERR, "cannot look for lost nodes: %s", err.text);
	sd_event_source_set_time_relative(source, LOST_NODES_CHECK_NS / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- open and close ---- */

struct maintenance *maintenance_close(struct maintenance *m)
{
	if (!m)
		return NULL;
	sd_event_source_disable_unref(m->check_source);
	sd_event_source_disable_unref(m->prune_source);
	allocations_close(m->allocations);
	warm_close(m->warm);
	cycles_close(m->cycles);
	free(m);
	return NULL;
}

int maintenance_open(struct api *a, struct maintenance **ret, struct err *err)
{
	_cleanup_(maintenance_closep) struct maintenance *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->api = a;
	lost_nodes_init(&m->lost, api_now_ns());
	r = cycles_open(a, &m->cycles);
	if (r >= 0)
		r = sd_event_add_time_relative(a->c.event, &m->check_source, CLOCK_MONOTONIC,
					       LOST_NODES_CHECK_NS / 1000, 0, on_check, m);
	if (r >= 0)
		r = sd_event_add_time_relative(a->c.event, &m->prune_source, CLOCK_MONOTONIC,
					       1000000, 0, on_prune, m);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	r = allocations_open(a, &m->allocations, err);
	if (r >= 0)
		r = warm_open(a, &m->warm, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

int maintenance_reload(struct maintenance *m, struct err *err)
{
	m->allocations = allocations_close(m->allocations);
	return allocations_open(m->api, &m->allocations, err);
}
