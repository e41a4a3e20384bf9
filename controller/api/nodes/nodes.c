/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes.c - GET /v1/nodes, POST /v1/nodes/drain and /resume. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/utf8.h"
#include "controller/api/nodes/nodes.h"
#include "controller/api/usage/usage.h"
#include "controller/api/call.h"
#include "controller/ledger/nodes/drain.h"

#define NODES_MAX 10000
#define REASON_MAX 256

static json_t *find_node(json_t *nodes, const char *name)
{
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		const char *is = json_string_value(json_object_get(node, "node"));

		if (is && strcmp(is, name) == 0)
			return node;
	}
	return NULL;
}

static int add_drain(void *ctx, const struct store_drain *d, struct err *err)
{
	json_t *node = find_node(ctx, d->node);

	if (node && json_object_set_new(
			    node, "drain",
			    json_pack("{s:s,s:s,s:I,s:I}", "author", d->author, "reason",
				      d->reason, "at_ns", (json_int_t)d->at_ns, "from_ns",
				      (json_int_t)(d->from_ns ? d->from_ns : d->at_ns))) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int route_list_nodes(struct call *c, struct err *err)
{
	int r = route_nodes(c, err);

	return r < 0 ? r
		     : store_drains(c->api->c.store, add_drain,
				    json_object_get(c->answer, "nodes"), err);
}

/* ---- drain, resume ---- */

/* The nodes that a call drains or resumes. */
struct node_change {
	struct call *c;
	json_t *nodes;
	char reason[REASON_MAX];
	int64_t at_ns, from_ns;
};

static int read_change(struct call *c, struct node_change *o, struct err *err)
{
	const struct wire_text reason = { o->reason, sizeof(o->reason), true };
	static const int64_t at_once;
	const struct wire_int from = { 0, INT64_MAX, &at_once };
	int r;

	o->c = c;
	o->at_ns = api_now_ns();
	o->nodes = json_object_get(c->body, "nodes");
	if (!c->is_operator) {
		err_set(err, 0, "only operators drain and resume nodes");
		return call_refuse(c, 403, NULL, "");
	}
	if (!json_is_array(o->nodes) || !json_array_size(o->nodes) ||
	    json_array_size(o->nodes) > NODES_MAX)
		return err_set(err, -EINVAL, "nodes: not an array of 1 to %d names", NODES_MAX);
	for (size_t i = 0; i < json_array_size(o->nodes); i++)
		if (!json_is_string(json_array_get(o->nodes, i)))
			return err_set(err, -EINVAL, "nodes[%zu]: not a name", i);
	r = wire_get_text(c->body, "reason", reason, err);
	if (r < 0)
		return r;
	utf8_clean(o->reason); /* a line of journals and terminals */
	return wire_get_int(c->body, "from_ns", from, &o->from_ns, err);
}

static int answer_nodes(struct call *c, const char *state, json_t *nodes, struct err *err)
{
	c->answer = wire_new();
	if (!c->answer || json_object_set_new(c->answer, "state", json_string(state)) < 0 ||
	    json_object_set(c->answer, "nodes", nodes) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int route_drain(struct call *c, struct err *err)
{
	struct node_change o = { 0 };
	int r = read_change(c, &o, err);

	if (r >= 0 && !*o.reason)
		return err_set(
			err, -EINVAL,
			"reason: state why the node is drained, for users who look at it");
	for (size_t i = 0; r >= 0 && i < json_array_size(o.nodes); i++) {
		const char *node = json_string_value(json_array_get(o.nodes, i));
		const struct store_drain d = { node, c->user, o.reason, o.at_ns, o.from_ns };

		r = store_drain(c->api->c.store, &d, err);
		if (r >= 0)
			log_line(LOG_NOTICE, "node %s drained by %s: %s", node, c->user,
				 o.reason);
	}
	return r < 0 ? r : answer_nodes(c, "drain", o.nodes, err);
}

/* A node that is not drained needs no change; an error only where none of the nodes was
 * drained. */
int route_resume_node(struct call *c, struct err *err)
{
	struct node_change o = { 0 };
	int r = read_change(c, &o, err);
	size_t n_resumed = 0;

	for (size_t i = 0; r >= 0 && i < json_array_size(o.nodes); i++) {
		const char *node = json_string_value(json_array_get(o.nodes, i));
		const struct store_drain d = { node, c->user, "", o.at_ns, 0 };

		r = store_resume(c->api->c.store, &d, err);
		if (r == STORE_NOT_DRAINED)
			continue;
		if (r < 0)
			break;
		n_resumed++;
		log_line(LOG_NOTICE, "node %s resumed by %s", node, c->user);
		/* Its next sync is answered at once, and it gets jobs from then on. */
		long_poll_replace(c->api->c.poll, LONG_POLL_NODE, node);
		api_request_cycle(c->api);
	}
	if (r >= 0 && n_resumed == 0) {
		err_set(err, 0, "node '%.64s' is not drained by an operator%s",
			json_string_value(json_array_get(o.nodes, 0)),
			json_array_size(o.nodes) > 1 ? ", nor any of the others" : "");
		return call_refuse(c, 409, "not-drained", "");
	}
	return r < 0 ? r : answer_nodes(c, "resume", o.nodes, err);
}
