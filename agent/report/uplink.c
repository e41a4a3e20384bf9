/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uplink.c - when to sync with the controller, and what to do with failures; see uplink.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <systemd/sd-event.h>
#include <time.h>
#include "agent/report/uplink.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

#define REPORTS_MAX 100 /* an exchange; the rest follows at once, and memory stays small */
#define OUTPUT_MAX ((size_t)1 << 20)
#define WAIT_S 30
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 60000
/* The controller repeats what it wants until the node's list shows it. While a job takes its
 * time to get there, it is asked again at this pace. */
#define CALM_MS 1000
/* A long poll that is cut short costs both sides an exchange and a connection. It begins this much later where a kick would cut it
 * short. Orders wait no longer than that. */
#define BUSY_MS 20
/* The first report of a new job follows within that. */
#define GROWN_MS 40
/* The controller may keep the acknowledgement of an end so long: the job that follows on the freed cores comes with it then. */
#define LINGER_MS 20

enum phase {
	IDLE,	 /* the timer will start the next exchange */
	SENDING, /* an exchange that carries something is under way */
	POLLING, /* one that carries nothing: may be cut short */
};

struct uplink {
	struct uplink_config config;
	struct http *http;
	sd_event_source *timer,
		*now; /* when the next exchange starts: one of them is enabled */
	enum phase phase;
	bool kicked;	/* something has changed since the last document was made */
	bool waiting;	/* backing off: kicks do not shorten it */
	bool has_grown; /* so has the list of jobs, by the answer */
	bool up, told;	/* told: on_link was called at least once */
	int64_t exchanges, failed, failures, last_ok_ns;
	int64_t started_ns; /* the exchange under way, or the last one */
	int carried;	    /* reports and pieces of output in it */
	bool may_linger;    /* it carries the end of a job, and no output */
	struct err why;
};

static void schedule_sync(struct uplink *u, int64_t ms)
{
	u->phase = IDLE;
	sd_event_source_set_enabled(u->timer, SD_EVENT_OFF);
	sd_event_source_set_enabled(u->now, ms > 0 ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
	if (ms <= 0)
		return;
	sd_event_source_set_time_relative(u->timer, (uint64_t)ms * 1000);
	sd_event_source_set_enabled(u->timer, SD_EVENT_ONESHOT);
}

static void report_link(struct uplink *u, bool up)
{
	bool is_change = !u->told || u->up != up;

	u->up = up;
	u->told = true;
	if (is_change && u->config.on_link)
		u->config.on_link(u->config.ctx, up, u->why.text);
}

/* 1 s, 2 s, 4 s ... 60 s, less a random part up to a half, so that the nodes of a cluster do not
 * reconnect all at once. */
static int64_t backoff_ms(int64_t failures)
{
	int64_t ms = BACKOFF_MAX_MS;
	uint32_t random = 0;

	if (failures <= 6)
		ms = (int64_t)BACKOFF_MIN_MS << (failures - 1);
	if (ms > BACKOFF_MAX_MS)
		ms = BACKOFF_MAX_MS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = 0;
	return ms - (int64_t)(random % (uint32_t)(ms / 2 + 1));
}

static void fail_sync(struct uplink *u, const struct err *err)
{
	u->failed++;
	u->failures++;
	u->why = *err;
	u->waiting = true;
	schedule_sync(u, backoff_ms((u->failures - 1) / http_count(u->http) + 1));
	report_link(u, false);
}

/* When the next exchange starts: at once when something has changed here, when the answer acknowledged
 * something (BUSY_MS later where more will follow, as after a new job), or when the long poll lasted; else after CALM_MS,
 * because an answer that repeats desired states comes back at once. */
static void schedule_next(struct uplink *u, enum phase was, int n_acks)
{
	int64_t now = clock_ns(CLOCK_BOOTTIME), lasted_ms = (now - u->started_ns) / MS_NS,
		pause_ms = 0;

	if (was == SENDING && n_acks && u->config.is_busy && u->config.is_busy(u->config.ctx))
		pause_ms = BUSY_MS;
	if (was == SENDING && u->carried && !n_acks)
		pause_ms = CALM_MS;
	if (was == POLLING && lasted_ms < CALM_MS && !n_acks)
		pause_ms = CALM_MS - lasted_ms;
	if (u->has_grown)
		pause_ms = GROWN_MS;
	u->failures = 0;
	u->why.text[0] = '\0';
	u->last_ok_ns = now;
	schedule_sync(u, u->kicked ? 0 : pause_ms);
	report_link(u, true);
}

static void on_done(void *ctx, int result, json_t *answer_owned, const struct err *why)
{
	_cleanup_json_ json_t *answer = answer_owned;
	struct uplink *u = ctx;
	enum phase was = u->phase;
	int64_t took_ms = (clock_ns(CLOCK_BOOTTIME) - u->started_ns) / MS_NS;
	struct err err = *why;
	int r;

	u->exchanges++;
	u->phase = IDLE;
	log_line(LOG_DEBUG, "sync: %s after %" PRId64 " ms%s%s", result ? "failed" : "answered",
		 took_ms, result ? ": " : "", result ? why->text : "");
	/* Another controller may lead: try each once before the backoff. */
	if (result && http_has_next(u->http)) {
		u->failed++;
		u->failures++;
		u->why = err;
		schedule_sync(u, 0);
		return;
	}
	if (result) {
		fail_sync(u, &err);
		return;
	}
	r = sync_apply(answer, u->config.spool, u->config.handlers, u->config.ctx, &err);
	if (r < 0) {
		err_prefix(&err, r, "the controller's answer");
		fail_sync(u, &err);
		return;
	}
	schedule_next(u, was, r);
}

static int add_output(struct uplink *u, json_t *doc, struct err *err)
{
	struct sync_output chunk;
	size_t bytes = 0;
	int i = 0, r;

	if (!u->config.next_output)
		return 0;
	while (bytes < OUTPUT_MAX && u->config.next_output(u->config.ctx, i, &chunk) > 0) {
		r = sync_add_output(doc, &chunk, err);
		if (r < 0)
			return r;
		bytes += chunk.size;
		i++;
	}
	return i;
}

static bool has_end(const json_t *reports)
{
	const json_t *one;
	size_t i;

	json_array_foreach(reports, i, one)
	{
		const char *state = json_string_value(json_object_get(one, "state"));

		if (state && !strcmp(state, job_state_name(JOB_ENDED)))
			return true;
	}
	return false;
}

static int make_document(struct uplink *u, json_t **ret, struct err *err)
{
	struct sync node = { 0 };
	_cleanup_json_ json_t *doc = NULL;
	int reports, output, r;

	if (u->config.describe(u->config.ctx, &node) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	/* The controller refuses an exchange that was delayed on its way and overtaken. */
	node.number = clock_ns(CLOCK_BOOTTIME);
	spool_name_ledger(u->config.spool, REPORTS_MAX, node.ledger, &node.restored_ns);
	r = sync_encode(&node, &doc, err);
	if (r < 0)
		return r;
	reports = spool_fill(u->config.spool, REPORTS_MAX, sync_reports(doc), err);
	if (reports <
	    0) /* the store fails; the desired states in the answer are needed all the same */
		reports = 0;
	output = add_output(u, doc, err);
	if (output < 0)
		return output;
	u->may_linger = !output && has_end(sync_reports(doc));
	u->carried = reports + output;
	*ret = TAKE_PTR(doc);
	return 0;
}

static int start_sync(struct uplink *u, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	struct http_call call = { .method = "POST" };
	char path[64];
	int r;

	u->kicked = u->has_grown = false;
	r = make_document(u, &doc, err);
	if (r < 0)
		return r;
	/* After a failure the first request does not wait, so that the link is known to work soon. */
	call.wait_s = u->carried || !u->up ? 0 : u->config.wait_s;
	call.body = doc;
	snprintf(path, sizeof(path), "/v1/node/sync?wait=%ld", call.wait_s);
	if (u->may_linger)
		snprintf(path, sizeof(path), "/v1/node/sync?wait=0&linger_ms=%d", LINGER_MS);
	call.path = path;
	u->started_ns = clock_ns(CLOCK_BOOTTIME);
	u->phase = call.wait_s ? POLLING : SENDING;
	log_line(LOG_DEBUG, "sync: begins: %d reports and pieces of output, waits %ld s",
		 u->carried, call.wait_s);
	return http_start(u->http, call, on_done, u, err);
}

static int on_now(sd_event_source *source, void *ctx)
{
	struct uplink *u = ctx;
	struct err err = { "" };
	int r;

	(void)source;
	u->waiting = false;
	r = start_sync(u, &err);
	if (r < 0)
		fail_sync(u, &err);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *ctx)
{
	(void)usec;
	return on_now(source, ctx);
}

int uplink_open(const struct uplink_config *c, struct uplink **ret, struct err *err)
{
	_cleanup_(uplink_closep) struct uplink *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return err_set(err, -ENOMEM, "out of memory");
	u->config = *c;
	if (u->config.wait_s <= 0)
		u->config.wait_s = WAIT_S;
	if (c->http.answer_uid < 0)
		return err_set(err, -EINVAL, "the uid that must sign the answers is not set");
	r = http_open(&c->http, &u->http, err);
	if (r >= 0)
		r = http_attach(u->http, c->event, err);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(c->event, &u->timer, CLOCK_BOOTTIME, 0, TIMER_AT_ONCE_US,
				       on_timer, u);
	if (r >= 0)
		r = sd_event_source_set_enabled(u->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_defer(c->event, &u->now, on_now, u);
	if (r < 0) {
		errno = -r;
		return err_set(err, r, "make the uplink's timer: %m");
	}
	*ret = TAKE_PTR(u);
	return 0;
}

struct uplink *uplink_close(struct uplink *u)
{
	if (!u)
		return NULL;
	if (u->http && u->phase != IDLE)
		http_cancel(u->http);
	http_close(u->http);
	sd_event_source_disable_unref(u->timer);
	sd_event_source_disable_unref(u->now);
	free(u);
	return NULL;
}

void uplink_kick(struct uplink *u)
{
	if (!u)
		return;
	u->kicked = true;
	if (u->phase == SENDING || u->waiting)
		return;
	if (u->phase == POLLING)
		http_cancel(u->http);
	schedule_sync(u, 0);
}

void uplink_list_grew(struct uplink *u)
{
	if (u)
		u->has_grown = true;
}

void uplink_retry(struct uplink *u)
{
	u->waiting = false;
	uplink_kick(u);
}

void uplink_get_status(const struct uplink *u, struct uplink_status *ret)
{
	*ret = (struct uplink_status){
		.up = u->up,
		.exchanges = u->exchanges,
		.failed = u->failed,
		.failures = u->failures,
		.last_ok_ns = u->last_ok_ns,
		.why = u->why.text,
	};
}
