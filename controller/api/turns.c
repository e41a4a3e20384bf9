/* SPDX-License-Identifier: GPL-2.0-or-later */
/* turns.c - a queue and two timers. See turns.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/stops/stops.h"
#include "controller/api/turns.h"

struct waiting {
	struct waiting *next;
	struct turns_request request;
};
struct turns {
	turns_fn fn;
	void *ctx;
	struct sd_event_source *soon, *latest;
	struct waiting *first, **last;
	size_t n; /* of them */
};

static struct waiting *take_first(struct turns *t)
{
	struct waiting *w = t->first;

	if (!w)
		return NULL;
	t->first = w->next;
	if (!t->first)
		t->last = &t->first;
	t->n--;
	return w;
}

static void call_waiting(struct turns *t, struct waiting *w, enum turns_why why)
{
	const struct turns_request request = w->request;

	free(w);
	t->fn(t->ctx, request, why);
}

static int set_timer(sd_event_source *source, uint64_t us)
{
	int r = sd_event_source_set_time_relative(source, us);

	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int set_timers(struct turns *t)
{
	int r = set_timer(t->soon, TURNS_PAUSE_US);

	return r < 0 ? r : set_timer(t->latest, TURNS_LATEST_US);
}

/* Whichever comes first is the turn. */
static void stop_timers(struct turns *t)
{
	sd_event_source_set_enabled(t->soon, SD_EVENT_OFF);
	sd_event_source_set_enabled(t->latest, SD_EVENT_OFF);
}

/* Calls those that wait now, until the time of a turn is over: most need little of it. One that is not done goes behind them, and is called
 * again in the next turn. */
static int on_turn(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("turns");
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + TURNS_LENGTH_NS;
	struct turns *t = ctx;
	size_t n = t->n;

	(void)source;
	(void)us;
	stop_timers(t);
	while (n > 0) {
		call_waiting(t, take_first(t), TURNS_NEXT);
		n = clock_ns(CLOCK_MONOTONIC) < until_ns ? n - 1 : 0;
	}
	return t->first ? set_timers(t) : 0;
}

static int add_timer(struct turns *t, struct sd_event *event, sd_event_source **ret)
{
	int r = sd_event_add_time_relative(event, ret, CLOCK_MONOTONIC, TURNS_PAUSE_US, 1,
					   on_turn, t);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

int turns_open(struct sd_event *event, turns_fn fn, void *ctx, struct turns **ret,
	       struct err *err)
{
	_cleanup_(turns_closep) struct turns *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->fn = fn;
	t->ctx = ctx;
	t->last = &t->first;
	r = add_timer(t, event, &t->soon);
	if (r >= 0)
		r = add_timer(t, event, &t->latest);
	if (r >= 0)
		r = sd_event_source_set_priority(t->soon, SD_EVENT_PRIORITY_IDLE);
	/* Of equals, deferred sources that are always due would come first. */
	if (r >= 0)
		r = sd_event_source_set_priority(t->latest, SD_EVENT_PRIORITY_IMPORTANT);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	*ret = TAKE_PTR(t);
	return 0;
}

struct turns *turns_close(struct turns *t)
{
	struct waiting *w;

	if (!t)
		return NULL;
	while ((w = take_first(t)))
		call_waiting(t, w, TURNS_CLOSED);
	sd_event_source_disable_unref(t->soon);
	sd_event_source_disable_unref(t->latest);
	free(t);
	return NULL;
}

int turns_add(struct turns *t, struct turns_request request, struct err *err)
{
	struct waiting *w = malloc(sizeof(*w));
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	*w = (struct waiting){ .request = request };
	r = t->first ? 0 : set_timers(t);
	if (r < 0) {
		free(w);
		return err_set(err, r, "event loop: %s", strerror(-r));
	}
	*t->last = w;
	t->last = &w->next;
	t->n++;
	return 0;
}
