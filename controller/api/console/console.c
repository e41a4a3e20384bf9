/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - POST /v1/jobs/ID/console: a user's terminal sends input to an interactive step and gets its output. Both are
 * messages with the whole state (common/model/console/console.h), kept in memory until the next one comes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/stops/stops.h"
#include "common/wire/doc.h"
#include "controller/api/await.h"
#include "controller/api/console/console_impl.h"
#include "controller/api/jobs/owned_job.h"

#define CHECK_US (5 * 1000 * 1000)

struct consoles {
	struct api *api;
	struct console_table table;
	struct sd_event_source *timer;
};

/* ---- the table ---- */

void console_wake_node(struct api *a, const struct console_entry *e)
{
	long_poll_wake(a->c.poll, LONG_POLL_CONSOLE, e->node);
}

static void on_lost(void *ctx, const struct console_entry *e)
{
	struct api *a = ctx;

	log_job(LOG_NOTICE, e->place.id.job, "console",
		"the terminal of step %" PRId64 " is lost; %s", e->place.id.step,
		e->keeps ? "the step continues" : "the step is ended");
	console_wake_node(a, e);
}

static uint64_t now_us(void)
{
	return (uint64_t)api_now_ns() / 1000;
}

static int on_check(sd_event_source *source, uint64_t usec, void *ctx)
{
	STOPS_IN("console");
	struct consoles *s = ctx;

	(void)usec;
	console_table_check(&s->table, api_monotonic_ns(), now_us(), on_lost, s->api);
	sd_event_source_set_time_relative(source, CHECK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

struct consoles *console_free_all(struct consoles *s)
{
	if (!s)
		return NULL;
	console_table_clear(&s->table);
	sd_event_source_disable_unref(s->timer);
	free(s);
	return NULL;
}

int console_find_table(struct api *a, struct console_table **ret, struct err *err)
{
	struct consoles *s = a->consoles;
	int r = 0;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (s)
			r = sd_event_add_time_relative(a->c.event, &s->timer, CLOCK_MONOTONIC,
						       CHECK_US, 0, on_check, s);
		if (!s || r < 0) {
			console_free_all(s);
			return err_set(err, -ENOMEM, "out of memory");
		}
		s->api = a;
		a->consoles = s;
	}
	*ret = &s->table;
	return 0;
}

const char *console_describe_side(const struct console_side *s, char *buf, size_t size)
{
	bool is_old = s->format < CONSOLE_FORMAT;

	snprintf(buf, size,
		 "%s is older than %s: they cannot exchange input and output of commands",
		 is_old ? s->name : "this controller", is_old ? "this controller" : s->name);
	return is_old ? s->remedy : "the site is to upgrade reeve-controller";
}

const char *console_describe_node(const char *node, int64_t format, char *buf, size_t size)
{
	char name[REQUEST_NAME_MAX + 32];

	snprintf(name, sizeof(name), "the agent of node %s", node);
	return console_describe_side(
		&(struct console_side){ name, "the site is to upgrade reeve-agent there",
					format },
		buf, size);
}

struct adding {
	struct console_table *table;
	struct console_entry *entry;
};

static int add_entry(void *ctx, const struct store_step_place *p, struct err *err)
{
	struct adding *n = ctx;

	if (!p->is_interactive)
		return err_set(
			err, -EINVAL,
			"step %lld of job %lld is not interactive: it was started without "
			"--pty or --stdin",
			(long long)p->id.step, (long long)p->id.job);
	if (p->state == STORE_STEP_ENDED)
		return err_set(err, -ESRCH, "step %lld of job %lld has ended",
			       (long long)p->id.step, (long long)p->id.job);
	return console_table_add(n->table, p, api_monotonic_ns(), &n->entry, err);
}

int console_find(struct api *a, int64_t job, int64_t step, struct console_entry **ret,
		 struct err *err)
{
	struct adding n = { .table = NULL };
	int r = console_find_table(a, &n.table, err);

	if (r < 0)
		return r;
	*ret = console_table_find(n.table, job, step);
	if (*ret)
		return 0;
	r = store_steps_place(a->c.store, (struct sync_step_id){ .job = job, .step = step },
			      add_entry, &n, err);
	*ret = n.entry;
	return r < 0 ? r : 0;
}

/* ---- a user's terminal ---- */

/* What an answer is about; plain data, copied by await. */
struct console_wait {
	int64_t job, step;
	int64_t seen; /* serial of the last output that the command has */
	char token[CONSOLE_TOKEN_MAX];
	bool is_attached; /* else it only asks */
	bool has_bytes; /* its message came as bytes, and so does the answer's; else as base64 */
};

struct step_state {
	enum store_step_state state;
};

static int keep_state(void *ctx, const struct store_step *t, struct err *err)
{
	(void)err;
	((struct step_state *)ctx)->state = t->state;
	return 0;
}

/* 1: there is output that the command does not have, the step has ended, or another terminal has taken over. */
static int read_output(struct api *a, const void *ctx, json_t **ret, struct err *err)
{
	static const char *const states[] = { "starting", "running", "ended" };
	const struct console_wait *w = ctx;
	struct step_state now = { STORE_STEP_ENDED };
	const struct console_entry *e =
		a->consoles ? console_table_find(&a->consoles->table, w->job, w->step) : NULL;
	bool has_changes = e && e->output.data && e->output.serial > (uint64_t)w->seen;
	bool is_taken = e && w->is_attached && e->token[0] && strcmp(e->token, w->token) != 0;
	bool is_other = e && e->has_other_node;
	const char *remedy = NULL;
	char problem[256];
	_cleanup_doc_ struct doc d = doc_message();
	int r = store_steps(a->c.store, (struct store_steps_range){ w->job, w->step - 1, 1 },
			    keep_state, &now, err);

	if (r < 0)
		return r;
	if (is_other)
		remedy = console_describe_node(e->node, e->node_format, problem,
					       sizeof(problem));
	doc_text(&d, "state", states[now.state]);
	doc_flag(&d, "pty", e && e->place.is_pty);
	doc_int(&d, "format", CONSOLE_FORMAT);
	if (is_other) {
		doc_text(&d, "problem", problem);
		doc_text(&d, "remedy", remedy);
	}
	doc_int(&d, "have", e ? console_entry_input_end(e) : 0);
	if (is_taken)
		doc_flag(&d, "taken_over", true);
	else if (has_changes && !w->has_bytes)
		doc_bytes(&d, "message", e->output.data, e->output.size);
	r = doc_finish(&d, ret, err);
	if (r >= 0 && has_changes && !is_taken && w->has_bytes &&
	    wire_attach(*ret, e->output.data, e->output.size) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r < 0 ? r : has_changes || is_taken || is_other || now.state == STORE_STEP_ENDED;
}

static int refuse_console(struct call *c, int r)
{
	switch (r) {
	case -EBUSY:
		return call_refuse(c, 409, "attached-elsewhere",
				   "end that one, or use --take-over");
	case -EDQUOT:
	case -ENOSPC:
		return call_refuse(c, 429, "too-many", "end other interactive commands");
	case -EINVAL:
		return call_refuse(c, 409, "not-interactive", "");
	case -ESRCH:
		return call_refuse(c, 409, "too-late", "");
	case -EBADMSG:
		return call_refuse(c, 400, NULL, "");
	default:
		return r;
	}
}

/* The message of the request: its sender is attached. 1: the node is to get it now. */
static int take_input(struct call *c, struct console_entry *e, const char *token,
		      struct err *err)
{
	const struct console_claim claim = { token, json_is_true(json_object_get(
							    c->body, "take_over")) };
	const json_t *text = json_object_get(c->body, "message");
	size_t size = 0;
	const void *bytes = wire_attached(c->body, &size);
	_cleanup_free_ uint8_t *data = NULL;
	int r;

	if (!text && !bytes)
		return 0;
	r = console_entry_claim(e, &claim, api_monotonic_ns(), err);
	if (r < 0)
		return r;
	if (bytes)
		return console_entry_set_input(e, bytes, size, now_us(), err);
	r = doc_decode_bytes(text, CONSOLE_MESSAGE_MAX, &data, &size, err);
	if (r < 0)
		return err_prefix(err, r, "message");
	return console_entry_set_input(e, data, size, now_us(), err);
}

static int check_owner(struct call *c, struct err *err)
{
	struct owned_job job;
	int r = owned_job_find(c, &job, err);

	if (r < 0 || job.uid == c->who.uid)
		return r;
	err_set(err, 0, "job %lld is not yours: only its owner is attached to commands in it",
		(long long)c->id);
	return call_refuse(c, 403, "not-permitted", "");
}

/* The step, once it is sure that the caller may be attached to it. */
static int attach_terminal(struct call *c, const struct console_wait *w, struct err *err)
{
	struct console_entry *e = NULL;
	int r = console_find(c->api, w->job, w->step, &e, err);

	if (r >= 0)
		r = take_input(c, e, w->token, err);
	if (r > 0)
		console_wake_node(c->api, e);
	return r < 0 ? refuse_console(c, r) : 0;
}

/* A step that has ended is answered: its terminal may have missed that. */
static bool has_ended(struct call *c)
{
	return c->code && !strcmp(c->code, "too-late");
}

/* A command that sends its message as bytes is `reeve`, which names its format. */
static int check_format(struct call *c, bool has_bytes, struct err *err)
{
	const int64_t unnamed = has_bytes ? 0 : CONSOLE_FORMAT;
	struct console_side side = { "this command (reeve)", "upgrade reeve on this machine",
				     0 };
	char text[256];
	const char *remedy;
	int r = wire_get_int(c->body, "format", (struct wire_int){ 0, INT32_MAX, &unnamed },
			     &side.format, err);

	if (r < 0 || side.format == CONSOLE_FORMAT)
		return r;
	remedy = console_describe_side(&side, text, sizeof(text));
	err_set(err, 0, "%s", text);
	return call_refuse(c, 409, "other-version", remedy);
}

int route_console(struct call *c, struct err *err)
{
	static const int64_t none = 0;
	struct console_wait w = { .job = c->id };
	struct await a = { .read = read_output, .what = &w, .size = sizeof(w), .job = c->id };
	int r = check_owner(c, err);

	if (r >= 0)
		r = wire_get_int(c->body, "step", (struct wire_int){ 1, STORE_STEPS_MAX, NULL },
				 &w.step, err);
	if (r >= 0)
		r = wire_get_int(c->body, "seen", (struct wire_int){ 0, INT64_MAX, &none },
				 &w.seen, err);
	if (r >= 0)
		r = wire_get_text(c->body, "token",
				  (struct wire_text){ w.token, sizeof(w.token), false }, err);
	if (r >= 0 && strlen(w.token) < 16)
		r = err_set(err, -EINVAL, "token: shorter than 16 characters");
	w.has_bytes = json_object_get(c->body, WIRE_ATTACHED) != NULL;
	w.is_attached = w.has_bytes || json_object_get(c->body, "message");
	if (r >= 0)
		r = check_format(c, w.has_bytes, err);
	if (r >= 0)
		r = await_query(c, &a.wait_s, err);
	if (r >= 0) {
		r = attach_terminal(c, &w, err);
		if (r < 0 && has_ended(c)) {
			c->code = NULL;
			c->status = 0;
			r = 0;
		}
	}
	a.step = w.step;
	return r < 0 ? r : await_answer(c, &a, err);
}
