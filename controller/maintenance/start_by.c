/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_by.c - ends jobs that could not start in time; see start_by.h. A job is ended by a conditional write, so once, also where the
 * controller was killed in between: the next pass then decides again. */
#include <stdio.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/model/job.h"
#include "common/stops/stops.h"
#include "common/utf8.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"
#include "controller/api/jobs/describe.h"
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/why.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/maintenance/start_by.h"

#define AT_ONCE 256 /* jobs ended after one cycle; the next one ends more */

struct verdict {
	struct api *api;
	char text[sizeof(((struct reason *)0)->text)];
};

/* What the job asked for, and why it waits, as in `reeve why`. */
static int word_verdict(void *ctx, const struct store_job *row, struct err *err)
{
	struct verdict *v = ctx;
	_cleanup_json_ json_t *request = wire_load(row->request, 0, NULL), *doc = NULL;
	_cleanup_doc_ struct doc d = doc_object();
	int64_t s = json_integer_value(json_object_get(request, "immediate_s"));
	char asked[80] = "at once (--immediate)";
	const char *why;

	(void)err;
	if (s)
		snprintf(asked, sizeof(asked), "within %lld s (--immediate=%lld)", (long long)s,
			 (long long)s);
	describe_place(v->api, row, DISPATCH_WHY_REASON, &d);
	doc = doc_take(&d);
	why = json_string_value(json_object_get(doc, "why"));
	utf8_format(v->text, sizeof(v->text), "it was to start %s. %s", asked, why ? why : "");
	return 0;
}

/* 1: it has ended; 0: it starts, or does not wait any more. */
static int end_job(struct api *a, const char *cluster, int64_t job, struct err *err)
{
	struct verdict v = { .api = a, .text = "" };
	int r;

	if (cycle_is_starting(a->c.cycle, cluster, job))
		return 0;
	r = store_job(a->c.store, job, word_verdict, &v, err);
	if (r >= 0)
		r = store_start_by_end(a->c.store, job, v.text, api_now_ns(), err);
	if (r <= 0)
		return r;
	log_job(LOG_INFO, job, "ended", "could not be started: %s", v.text);
	api_wake_job(a, job);
	return 1;
}

void start_by_check(struct api *a, const char *cluster)
{
	STOPS_IN("start-by");
	const struct store_start_by_ask ask = { cluster, api_now_ns() };
	int64_t jobs[AT_ONCE];
	struct err err = { "" };
	bool has_ended = false;
	int n = store_start_by(a->c.store, &ask, jobs, AT_ONCE, &err), r = 0;

	for (int i = 0; i < n && r >= 0; i++) {
		r = end_job(a, cluster, jobs[i], &err);
		has_ended |= r > 0;
	}
	if (n < 0 || r < 0)
		log_line(LOG_ERR, "cannot end jobs that were to start by now: %s", err.text);
	if (has_ended) /* jobs that depend on them */
		api_request_cycle(a);
}

static int on_time(sd_event_source *source, uint64_t us, void *ctx)
{
	(void)source, (void)us;
	api_request_cycle(ctx);
	return 0;
}

void start_by_plan(struct api *a)
{
	struct err err = { "" };
	int64_t at_ns = 0, in_ns;

	if (store_start_by_next(a->c.store, &at_ns, &err) < 0)
		log_line(LOG_ERR, "cannot find jobs that start by a time: %s", err.text);
	in_ns = at_ns - api_now_ns();
	if (at_ns) {
		/* One that is over already is decided by the next cycle, whenever that is: a start that waits for preempted jobs. */
		sd_event_source_set_time_relative(
			a->start_by_source, in_ns > 0 ? (uint64_t)in_ns / 1000 + 1 : 5000000);
	}
	sd_event_source_set_enabled(a->start_by_source,
				    at_ns ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

int start_by_open(struct api *a)
{
	int r = sd_event_add_time(a->c.event, &a->start_by_source, CLOCK_MONOTONIC, 0, 1,
				  on_time, a);

	return r < 0 ? r : sd_event_source_set_enabled(a->start_by_source, SD_EVENT_OFF);
}

void start_by_close(struct api *a)
{
	a->start_by_source = sd_event_source_disable_unref(a->start_by_source);
}
