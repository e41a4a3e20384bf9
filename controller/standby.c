/* SPDX-License-Identifier: GPL-2.0-or-later */
/* standby.c - tries to become the leader on a timer, and answers requests with 503 meanwhile;
 * see standby.h. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/wire/doc.h"
#include "controller/http/exchange.h"
#include "controller/http/server.h"
#include "controller/config/config.h"
#include "controller/ledger/lead.h"
#include "controller/standby.h"

#define TRY_US 200000
/* An exit code of the event loop; signals end it with 0. */
#define LEADS 1

struct standby {
	const struct standby_config *c;
	struct server *server;
	sd_event_source *timer;
	char who[256];	 /* the leader, as last logged */
	bool has_failed; /* the last try failed; logged once */
};

static void answer_standby(void *ctx, struct exchange *x)
{
	struct standby *s = ctx;
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *doc = NULL;
	char message[400];
	struct exchange_answer a = { .status = 503 };

	snprintf(message, sizeof(message), "this controller stands by; %s leads",
		 *s->who ? s->who : "another one");
	doc_set(&d, "error",
		json_pack("{s:s,s:o,s:s}", "code", "standby", "message", wire_string(message),
			  "remedy",
			  "name both controllers in Controller=, with a comma between them"));
	doc = doc_take(&d);
	a.text = doc ? wire_format(doc) : NULL;
	a.size = a.text ? strlen(a.text) : 0;
	exchange_answer(x, a);
}

static void log_leader(struct standby *s)
{
	const char *who = store_lead_who(s->c->lead);

	if (strcmp(who, s->who) == 0)
		return;
	snprintf(s->who, sizeof(s->who), "%s", who);
	log_line(LOG_INFO, "standing by: %s leads", who);
	sd_notifyf(0, "READY=1\nSTATUS=Standing by: %s leads", who);
}

/* As store_lead_try(). A failure is no reason to exit: the leader has the same database
 * trouble. */
static int try_once(struct standby *s)
{
	struct err err = { "" };
	int r = store_lead_try(s->c->lead, &err);

	if (r < 0 && !s->has_failed)
		log_line(LOG_WARNING, "cannot ask for the lead: %s", err.text);
	s->has_failed = r < 0;
	if (r == 0)
		log_leader(s);
	return r;
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	struct standby *s = ctx;

	(void)us;
	if (try_once(s) > 0)
		return sd_event_exit(s->c->event, LEADS);
	sd_event_source_set_time_relative(source, TRY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int open_server(struct standby *s, struct err *err)
{
	const struct standby_config *c = s->c;
	const struct server_config config = {
		.event = c->event,
		.listen_fd = c->listen_fd,
		.certificate = c->certificate,
		.max_connections = (unsigned)c->config->max_connections,
		.request_timeout_s = c->config->request_timeout_s,
		.on_headers = answer_standby, /* whatever it is: bodies are not read */
		.ctx = s,
	};

	return c->listen_fd < 0 ? 0 : server_open(&config, &s->server, err);
}

static void standby_done(struct standby *s)
{
	sd_event_source_disable_unref(s->timer);
	server_close(s->server);
}

int standby_wait(const struct standby_config *c, struct err *err)
{
	_cleanup_(standby_done) struct standby s = { .c = c };
	int r = store_lead_try(c->lead, err);

	if (r != 0)
		return r;
	r = open_server(&s, err);
	if (r < 0)
		return r;
	log_leader(&s);
	r = sd_event_add_time_relative(c->event, &s.timer, CLOCK_MONOTONIC, TRY_US, 0, on_timer,
				       &s);
	if (r >= 0)
		r = sd_event_loop(c->event);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : r;
}
