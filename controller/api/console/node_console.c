/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_console.c - POST /v1/node/console: a node sends output of interactive steps and gets their input. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/console/console_relay.h"
#include "controller/api/console/console_impl.h"

#define INPUTS_MAX ((size_t)2 << 20) /* bytes of messages in one answer, but for the last one */

/* One request until it is answered. */
struct relay_wait {
	struct api *api;
	struct exchange *x;
	struct console_relay in;
	char address[64];
	char credential[AUTH_HEADER_MAX];
};

static struct relay_wait *relay_wait_free(struct relay_wait *w)
{
	if (!w)
		return NULL;
	console_relay_done(&w->in);
	free(w);
	return NULL;
}
DEFINE_CLEANUP(struct relay_wait *, relay_wait_free)

/* Only the node of a step speaks for it, from the address under which the ledger knows it. */
static struct console_entry *find_own(const struct relay_wait *w, struct sync_step_id id)
{
	struct console_entry *e = NULL;
	struct err ignored;

	if (console_find(w->api, id.job, id.step, &e, &ignored) < 0 ||
	    e->place.id.attempt != id.attempt || strcmp(e->node, w->in.node) != 0 ||
	    (e->address[0] && strcmp(e->address, w->address) != 0))
		return NULL;
	e->node_ns = api_monotonic_ns();
	e->has_other_node = false;
	return e;
}

static void take_outputs(struct relay_wait *w)
{
	for (size_t i = 0; i < w->in.n_steps; i++) {
		struct console_relay_step *s = &w->in.steps[i];
		struct console_entry *e = find_own(w, s->id);
		struct err err = { "" };
		int r = e && s->size
				? console_entry_set_output(e, s->message, (size_t)s->size, &err)
				: 0;

		s->message = NULL; /* the request's body is freed when it waits */
		s->size = 0;
		if (r > 0)
			api_wake_step(w->api, s->id.job, s->id.step);
		if (r < 0)
			log_job(LOG_WARNING, s->id.job, "console", "from node %s: %s",
				w->in.node, err.text);
	}
}

/* Input that the node does not have, as much as an answer may have: the node asks again for the rest. *ret has room for all that it
 * listed. */
static size_t find_inputs(const struct relay_wait *w, struct console_relay_step *ret)
{
	size_t n = 0, bytes = 0;

	for (size_t i = 0; i < w->in.n_steps && bytes < INPUTS_MAX; i++) {
		const struct console_relay_step *s = &w->in.steps[i];
		const struct console_entry *e = find_own(w, s->id);

		if (!e || !e->input.data || e->input.serial <= (uint64_t)s->seen)
			continue;
		ret[n++] = (struct console_relay_step){ .id = s->id,
							.message = e->input.data,
							.size = (int64_t)e->input.size };
		bytes += e->input.size;
	}
	return n;
}

/* True: answered. A request that may wait is not answered while there is nothing to say. */
static bool answer_node(struct relay_wait *w, bool may_wait)
{
	struct console_relay out = { .n_steps = 0 };
	_cleanup_free_ struct console_relay_step *list =
		calloc(w->in.n_steps + 1, sizeof(*list));
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };

	if (list)
		out.n_steps = find_inputs(w, list);
	if (list && !out.n_steps && may_wait)
		return false;
	out.steps = list;
	out.format = CONSOLE_FORMAT;
	snprintf(out.node, sizeof(out.node), "%s", w->in.node);
	if (!list || console_relay_encode(&out, &doc, &err) < 0)
		exchange_answer(w->x, (struct exchange_answer){ .status = 500 });
	else
		call_answer(w->api, w->x, doc, w->credential);
	return true;
}

static bool on_wake(void *ctx, enum long_poll_why why)
{
	struct relay_wait *w = ctx;

	if (!answer_node(w, why == LONG_POLL_WOKEN))
		return false;
	relay_wait_free(w);
	return true;
}

static int check_node(struct call *c, const char *node, struct err *err)
{
	const struct config_node *n = config_node(c->api->c.config, node);

	if (!n && c->api->c.config->accept_nodes != CONFIG_ACCEPT_ANY) {
		err_set(err, 0, "node '%s' is not known here", node);
		return call_refuse(c, 403, "unknown-node", "");
	}
	if (n && n->address && strcmp(n->address, c->who.host) != 0) {
		err_set(err, 0, "node '%s' connects from %s, not from its address", node,
			c->who.host);
		return call_refuse(c, 403, "wrong-address", "");
	}
	return 0;
}

/* The terminals of these steps are answered, too. */
static int refuse_format(struct call *c, const struct relay_wait *w, struct err *err)
{
	char text[256];
	const char *remedy;

	for (size_t i = 0; i < w->in.n_steps; i++) {
		struct console_entry *e = find_own(w, w->in.steps[i].id);

		if (!e)
			continue;
		e->has_other_node = true;
		e->node_format = w->in.format;
		api_wake_step(w->api, e->place.id.job, e->place.id.step);
	}
	remedy = console_describe_node(w->in.node, w->in.format, text, sizeof(text));
	err_set(err, 0, "%s", text);
	return call_refuse(c, 409, "other-version", remedy);
}

static int add_waiter(struct relay_wait *w, int64_t wait_s, struct err *err)
{
	struct long_poll_waiter p = { .kind = LONG_POLL_CONSOLE, .wake = on_wake, .ctx = w };

	p.deadline_ns = api_monotonic_ns() + wait_s * S_NS;
	snprintf(p.key, sizeof(p.key), "%s", w->in.node);
	/* A node has one poll at a time: it has abandoned an earlier one. */
	long_poll_replace(w->api->c.poll, LONG_POLL_CONSOLE, w->in.node);
	return long_poll_add(w->api->c.poll, &p, err);
}

int route_node_console(struct call *c, struct err *err)
{
	static const int64_t no_wait = 0;
	_cleanup_(relay_wait_freep) struct relay_wait *w = calloc(1, sizeof(*w));
	int64_t wait_s = 0;
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->api = c->api;
	w->x = c->x;
	snprintf(w->address, sizeof(w->address), "%s", c->who.host);
	snprintf(w->credential, sizeof(w->credential), "%s",
		 exchange_header(c->x, AUTH_REQUEST_HEADER));
	r = call_query_int(c, "wait", (struct wire_int){ 0, WAIT_MAX_S, &no_wait }, &wait_s,
			   err);
	if (r >= 0)
		r = console_relay_decode(c->body, &w->in, err);
	if (r >= 0)
		r = check_node(c, w->in.node, err);
	if (r < 0)
		return r;
	exchange_mark_node(c->x);
	if (w->in.format != CONSOLE_FORMAT)
		return refuse_format(c, w, err);
	take_outputs(w);
	if (answer_node(w, wait_s > 0))
		return CALL_DEFERRED;
	r = add_waiter(w, wait_s, err);
	if (r < 0)
		return r;
	TAKE_PTR(w);
	return CALL_DEFERRED;
}
