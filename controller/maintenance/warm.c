/* SPDX-License-Identifier: GPL-2.0-or-later */
/* warm.c - a timer that has one part of the usage read each time. See warm.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/api/call.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/maintenance/warm.h"
#include "controller/quota/projection/projection.h"

#define START_NS 2000000000 /* of a start, before the first request: at most */
#define FIRST_US 200000	    /* what is left then */
#define NEXT_US 100000	    /* a part takes some ten milliseconds: requests come first */
#define AGAIN_US 600000000  /* once all are kept */
/* Parts of one round: where more do not fit into memory, they would push each other out. */
#define PARTS_MAX 200
#define RECENT_DAYS 30 /* of pages that show the last days */

struct warm {
	struct api *api;
	struct sd_event_source *source;
	int n; /* parts of this round */
};

/* What was charged today is read by every page anyway. */
static int read_part(struct warm *w, struct err *err)
{
	struct store *s = w->api->c.store;
	struct store_period p = { .to_day = store_day(s, api_now_ns()) };
	int64_t end;

	projection_find_year(w->api->c.config, p.to_day, &p.from_day, &end);
	if (p.from_day > p.to_day - RECENT_DAYS)
		p.from_day = p.to_day - RECENT_DAYS;
	return store_usage_warm(s, &p, err);
}

static void log_failure(const struct err *err)
{
	log_line(LOG_ERR, "cannot read usage ahead of its pages: %s", err->text);
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("usage-ahead");
	struct warm *w = ctx;
	struct err err = { "" };
	int r = read_part(w, &err);

	(void)us;
	if (r < 0)
		log_failure(&err);
	w->n = r > 0 && w->n < PARTS_MAX ? w->n + 1 : 0;
	sd_event_source_set_time_relative(source, w->n ? NEXT_US : AGAIN_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* 1: there are more. Without these sums the first pages after a start would read them. */
static int read_start(struct warm *w)
{
	struct err err = { "" };
	const int64_t from_ns = api_monotonic_ns();
	int64_t took_ns;
	int r;

	do {
		r = read_part(w, &err);
		w->n += r > 0;
		took_ns = api_monotonic_ns() - from_ns;
	} while (r > 0 && w->n < PARTS_MAX && took_ns < START_NS);
	if (r < 0)
		log_failure(&err);
	else if (w->n)
		log_line(LOG_INFO, "%d sums of usage read in %.3f s%s", w->n,
			 (double)took_ns / 1e9,
			 r > 0 ? "; the others are read while requests are answered" : "");
	return r < 0 ? 1 : r; /* once more, then */
}

struct warm *warm_close(struct warm *w)
{
	if (!w)
		return NULL;
	sd_event_source_disable_unref(w->source);
	free(w);
	return NULL;
}

int warm_open(struct api *a, struct warm **ret, struct err *err)
{
	_cleanup_(warm_closep) struct warm *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->api = a;
	r = read_start(w);
	r = sd_event_add_time_relative(a->c.event, &w->source, CLOCK_MONOTONIC,
				       r > 0 ? FIRST_US : AGAIN_US, 0, on_timer, w);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	*ret = TAKE_PTR(w);
	return 0;
}
