/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forecast.c - runs the future of a cluster's schedule on a copy, here or in a worker, and keeps the starts. See forecast.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include "common/clock.h"
#include "controller/dispatch/cycle_impl.h"
#include "controller/dispatch/forecast.h"
#include "controller/http/workers.h"

#define PASSES 20000 /* one for each moment at which jobs end */
#define WORK_EVERY                                                                             \
	16384 /* units of work between two looks at the clock: less than a millisecond */

struct forecast_task {
	struct worker_task task;
	struct forecast *f; /* of the loop alone */
	struct schedule_future *future;
	struct forecast_start *of;
	size_t n, room;
	int64_t cycle_ns, begun_ns, until_ns;
	atomic_bool is_stopped;
};

static struct forecast_task *task_free(struct forecast_task *t)
{
	if (!t)
		return NULL;
	schedule_future_free(t->future);
	free(t->of);
	free(t);
	return NULL;
}
DEFINE_CLEANUP(struct forecast_task *, task_free)

/* ---- in the loop or in a worker ---- */

/* Out of memory: what follows has no forecast. */
static bool add_start(void *ctx, int64_t job, int64_t at_s)
{
	struct forecast_task *t = ctx;

	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		struct forecast_start *more = reallocarray(t->of, room, sizeof(*more));

		if (!more)
			return false;
		t->of = more;
		t->room = room;
	}
	t->of[t->n++] = (struct forecast_start){ job, at_s };
	return true;
}

static bool has_time(void *ctx)
{
	struct forecast_task *t = ctx;

	return !atomic_load(&t->is_stopped) && clock_ns(CLOCK_MONOTONIC) < t->until_ns;
}

static int compare_starts(const void *a, const void *b)
{
	const struct forecast_start *x = a, *y = b;

	return x->job < y->job ? -1 : x->job > y->job;
}

/* 1: no time was left. */
static int run_future(struct forecast_task *t)
{
	const struct schedule_budget budget = { has_time, t, WORK_EVERY };

	return schedule_future_run(t->future, PASSES,
				   &(struct schedule_watcher){ add_start, t }, &budget);
}

/* The copy is freed, and the starts are put in order, wherever this is computed. */
static void end_future(struct forecast_task *t)
{
	t->future = schedule_future_free(t->future);
	if (t->n)
		qsort(t->of, t->n, sizeof(*t->of), compare_starts);
}

static void work_on(struct worker_task *task)
{
	struct forecast_task *t = (struct forecast_task *)task;

	run_future(t);
	end_future(t);
}

/* ---- in the loop ---- */

void forecast_forget(struct forecast *f)
{
	free(f->of);
	f->of = NULL;
	f->n = f->room = 0;
	f->cycle_ns = 0;
}

void forecast_done(struct forecast *f)
{
	forecast_forget(f);
	*f = (struct forecast){ 0 };
}

void forecast_stop(struct forecast *f)
{
	if (f->task)
		atomic_store(&f->task->is_stopped, true);
}

static void keep_starts(struct forecast *f, struct forecast_task *t)
{
	forecast_forget(f);
	f->of = TAKE_PTR(t->of);
	f->n = t->n;
	f->room = t->room;
	f->cycle_ns = t->cycle_ns;
	f->made_ns = clock_ns(CLOCK_MONOTONIC);
}

static void finish_work(struct worker_task *task, bool has_worked)
{
	struct forecast_task *t = (struct forecast_task *)task;
	struct forecast *f = t->f;

	f->task = NULL;
	if (has_worked && !atomic_load(&t->is_stopped)) {
		keep_starts(f, t);
		f->next_ns = f->made_ns + (f->made_ns - t->begun_ns);
	}
	task_free(t);
}

static int make_task(const struct cluster *k, struct forecast *f, bool has_workers,
		     struct forecast_task **ret)
{
	_cleanup_(task_freep) struct forecast_task *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->task.work = work_on;
	t->task.done = finish_work;
	t->f = f;
	t->cycle_ns = k->now_ns;
	t->begun_ns = clock_ns(CLOCK_MONOTONIC);
	t->until_ns = t->begun_ns + (has_workers ? FORECAST_LOOP_NS : FORECAST_MAX_NS);
	r = schedule_future_new(k->schedule, k->now_ns / S_NS, &t->future);
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}

/* Without memory there is no forecast for now. */
static void begin_forecast(struct cycle *c, const struct cluster *k, struct forecast *f)
{
	_cleanup_(task_freep) struct forecast_task *t = NULL;
	int r = make_task(k, f, c->workers != NULL, &t);

	if (r < 0)
		return;
	r = run_future(t);
	if (r > 0 && c->workers) {
		t->until_ns = clock_ns(CLOCK_MONOTONIC) + FORECAST_MAX_NS;
		f->task = TAKE_PTR(t);
		workers_add(c->workers, &f->task->task);
		return;
	}
	end_future(t);
	keep_starts(f, t);
}

/* Was the job queued when the forecast was begun? Then it does not start in what was computed. */
static bool was_there(const struct cycle_cluster *cl, int64_t job)
{
	const struct order_job *o = order_find(&cl->order, job);

	return o && o->submitted_ns <= cl->forecast.cycle_ns &&
	       o->eligible_ns <= cl->forecast.cycle_ns;
}

enum dispatch_start dispatch_start(struct cycle *c, const char *cluster, int64_t job,
				   int64_t *ret_s)
{
	const struct forecast_start key = { .job = job }, *found;
	struct cycle_cluster *cl = cycle_find_cluster(c, cluster);
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct forecast *f;
	bool is_new;

	if (!cl || !cl->cluster.schedule)
		return DISPATCH_START_NONE;
	f = &cl->forecast;
	if (f->cycle_ns != cl->cluster.now_ns && !f->task && now_ns >= f->next_ns)
		begin_forecast(c, &cl->cluster, f);
	is_new = f->cycle_ns == cl->cluster.now_ns;
	if (!is_new && (!f->cycle_ns || now_ns - f->made_ns > FORECAST_KEEP_NS))
		return DISPATCH_START_PENDING;
	found = f->n ? bsearch(&key, f->of, f->n, sizeof(key), compare_starts) : NULL;
	if (found)
		*ret_s = found->at_s;
	else if (!is_new && !was_there(cl, job))
		return DISPATCH_START_PENDING;
	return found ? DISPATCH_START_KNOWN : DISPATCH_START_NONE;
}

bool dispatch_priority(const struct cycle *c, const char *cluster, int64_t job, int64_t *ret)
{
	const struct cycle_cluster *cl = cycle_find_cluster(c, cluster);
	const struct order_job *o = cl ? order_find(&cl->order, job) : NULL;

	if (o)
		*ret = o->priority;
	return o;
}
