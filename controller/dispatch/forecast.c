/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forecast.c - runs the future of a cluster's schedule once after a cycle and keeps the starts. See forecast.h. */
#include <stdlib.h>
#include <time.h>
#include "common/clock.h"
#include "controller/dispatch/cycle_impl.h"
#include "controller/dispatch/forecast.h"

#define PASSES 20000 /* one for each moment at which jobs end */

struct run {
	struct forecast *f;
	int64_t until_ns;
};

/* Out of memory: what follows has no forecast. */
static bool add_start(void *ctx, int64_t job, int64_t at_s)
{
	struct run *run = ctx;
	struct forecast *f = run->f;

	if (f->n == f->room) {
		size_t room = f->room ? f->room * 2 : 256;
		struct forecast_start *more = reallocarray(f->of, room, sizeof(*more));

		if (!more)
			return false;
		f->of = more;
		f->room = room;
	}
	f->of[f->n++] = (struct forecast_start){ job, at_s };
	return true;
}

static bool has_time(void *ctx)
{
	const struct run *run = ctx;

	return clock_ns(CLOCK_MONOTONIC) < run->until_ns;
}

static int compare_starts(const void *a, const void *b)
{
	const struct forecast_start *x = a, *y = b;

	return x->job < y->job ? -1 : x->job > y->job;
}

static void run_future(const struct cluster *k, struct forecast *f)
{
	struct run run = { f, clock_ns(CLOCK_MONOTONIC) + FORECAST_NS };
	const struct schedule_future future = { .now_s = k->now_ns / S_NS,
						.max_passes = PASSES,
						.on_start = add_start,
						.has_time = has_time,
						.ctx = &run };

	f->now_ns = k->now_ns;
	f->n = 0;
	schedule_run_future(k->schedule, &future);
	if (f->n)
		qsort(f->of, f->n, sizeof(*f->of), compare_starts);
}

int64_t dispatch_start_s(const struct cycle *c, const char *cluster, int64_t job)
{
	const struct forecast_start key = { .job = job }, *found;
	struct cycle_cluster *cl = cycle_find_cluster(c, cluster);

	if (!cl || !cl->cluster.schedule)
		return -1;
	if (cl->forecast.now_ns != cl->cluster.now_ns)
		run_future(&cl->cluster, &cl->forecast);
	found = cl->forecast.n ? bsearch(&key, cl->forecast.of, cl->forecast.n, sizeof(key),
					 compare_starts)
			       : NULL;
	return found ? found->at_s : -1;
}

bool dispatch_priority(const struct cycle *c, const char *cluster, int64_t job, int64_t *ret)
{
	const struct cycle_cluster *cl = cycle_find_cluster(c, cluster);
	const struct order_job *o = cl ? order_find(&cl->order, job) : NULL;

	if (o)
		*ret = o->priority;
	return o;
}
