/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prepare_cycle.c - resolves dependencies and expands arrays, and wakes the waiters of the
 * jobs; see prepare_cycle.h. */
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/api/call.h"
#include "controller/api/prepare_cycle.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/depend.h"

/* Of the event loop for the dependents of one cycle; the next cycle continues. */
#define DEPENDENCIES_NS (20 * MS_NS)

static void on_resolved(void *ctx, const struct store_resolved *what)
{
	if (what->text)
		log_job(LOG_INFO, what->job, "ended", "%s", what->text);
	else
		log_job(LOG_INFO, what->job, "depend", "its dependencies are met");
	api_wake_job(ctx, what->job);
}

bool prepare_cycle(struct api *a)
{
	STOPS_IN("cycle: dependencies");
	const struct store_resolve how = { api_now_ns(), DEPENDENCIES_NS, on_resolved, a };
	struct err err;
	int r = store_resolve(a->c.store, &how, &err);

	if (r < 0)
		log_line(LOG_ERR, "cannot resolve dependencies: %s", err.text);
	if (r > 0)
		api_request_cycle(a);
	r = store_arrays_expand(a->c.store, &err);
	if (r < 0)
		log_line(LOG_ERR, "cannot expand arrays: %s", err.text);
	if (r == STORE_EXPAND_MORE)
		api_request_cycle(a);
	return r > 0;
}
