/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handle.c - the chain of one request: route and identity from its headers; then its body, the
 * route's function, the answer. See api.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/api/answer.h"
#include "controller/api/api.h"
#include "controller/api/jobs/array_task.h"
#include "controller/api/jobs/slurm/slurm_job.h"
#include "controller/api/routes.h"
#include "controller/api/turns.h"
#include "controller/http/server.h"
#include "controller/http/workers.h"

static int find_route(struct call *c, const struct route **ret, struct err *err)
{
	bool is_known;

	*ret = routes_find(exchange_method(c->x), exchange_path(c->x), &c->named, &is_known);
	c->id = c->named.job;
	if (*ret)
		return 0;
	err_set(err, 0, "%s %.200s: %s", exchange_method(c->x), exchange_path(c->x),
		is_known ? "not with this method" : "no such path");
	return call_refuse(c, is_known ? 405 : 404, NULL, "");
}

/* ---- from the headers ---- */

static int refuse_credential(struct call *c, int r, struct err *err)
{
	if (r == -ENOENT) {
		server_note_refusal(c->api->server, "munged is not running");
		log_limited(&c->api->munge_log, LOG_ERR, "%s", err->text);
		return call_refuse(c, 503, "munge",
				   "tell the operators: munged is not running");
	}
	return call_refuse(c, 401, NULL,
			   "is munged running here with the same key, and are the clocks in "
			   "step?");
}

/* Is the request to be authenticated by munge? A route without credential may get one all the
 * same, or a token of its own in the same header (/metrics).
 */
static bool is_signed(const struct call *c, const struct route *route)
{
	const char *header = exchange_header(c->x, AUTH_REQUEST_HEADER);

	return route->role != ROLE_ANYONE || (header && !strncmp(header, "Munge ", 6));
}

static int refuse_rate(struct call *c, const char *what, struct err *err)
{
	err_set(err, 0, "too many %s from this address", what);
	exchange_note_shed(c->x, err->text);
	return call_refuse(c, 429, NULL, "wait some seconds");
}

/* What the credential says of the sender. */
static int check_sender(struct call *c, const struct route *route, const struct auth_said *said,
			struct err *err)
{
	if (route->role == ROLE_NODE && said->who.uid != 0) {
		err_set(err, 0, "only root of a node may report for it; this is uid %u",
			said->who.uid);
		return call_refuse(c, 403, NULL, "");
	}
	return 0;
}

/* The largest bodies are accepted from operators, and from Slurm's own user, only. */
static size_t body_bytes(struct call *c, const struct route *route,
			 const struct auth_said *said)
{
	const struct config *config = c->api->c.config;
	struct err err;
	bool may;

	if (route->body != BODY_ACCOUNTS && route->body != BODY_SLURM)
		return route_bodies[route->body].bytes;
	may = auth_user_name(said->who.uid, c->user, sizeof(c->user), &err) >= 0 &&
	      (route->body == BODY_ACCOUNTS ? config_is_operator(config, c->user)
					    : config_is_slurm_user(config, NULL, c->user));
	return route_bodies[may ? route->body : BODY_SMALL].bytes;
}

static void admit_sender(struct call *c, const struct route *route,
			 const struct auth_said *said)
{
	const struct exchange_leave leave = { body_bytes(c, route, said), said };

	exchange_admit(c->x, &leave);
}

/* A credential that a worker has munged decode. */
struct admission {
	struct worker_task task;
	struct api *api;
	struct exchange *x;
	const struct route *route;
	char socket[AUTH_SOCKET_MAX];
	char header[AUTH_HEADER_MAX];
	struct auth_said said;
	int r;
	struct err err;
};

static void decode_credential(struct worker_task *t)
{
	struct admission *a = (struct admission *)t;

	a->r = auth_decode(a->socket, a->header, &a->said, &a->err);
}

static void finish_admission(struct worker_task *t, bool has_worked)
{
	struct admission *a = (struct admission *)t;
	struct call c = { .api = a->api, .x = a->x };
	int r = a->r;

	if (!has_worked)
		exchange_answer(a->x, (struct exchange_answer){ .status = 503 });
	else if (r == -EACCES)
		exchange_note_wrong(a->x);
	if (has_worked && r < 0)
		r = refuse_credential(&c, r, &a->err);
	else if (has_worked)
		r = check_sender(&c, a->route, &a->said, &a->err);
	if (has_worked && r < 0)
		answer_finish(&c, r, &a->err);
	else if (has_worked)
		admit_sender(&c, a->route, &a->said);
	free(a);
}

/* The credential is decoded before the body is read: the sender decides how large a body may be.
 * Rate limits come first, since decoding costs munged time. */
static int identify_sender(struct call *c, const struct route *route, struct err *err)
{
	const char *header = exchange_header(c->x, AUTH_REQUEST_HEADER);
	struct admission *a;
	int r;

	if (!exchange_may_try(c->x))
		return refuse_rate(c, "wrong credentials", err);
	r = auth_check(header, err);
	if (r < 0) {
		exchange_note_wrong(c->x);
		return refuse_credential(c, r, err);
	}
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->task.work = decode_credential;
	a->task.done = finish_admission;
	a->api = c->api;
	a->x = c->x;
	a->route = route;
	api_munge_socket(c->api, a->socket);
	strcpy(a->header, header);
	exchange_hold(c->x);
	workers_add(c->api->workers, &a->task);
	return 0;
}

void api_admit(void *ctx, struct exchange *x)
{
	struct call c = { .api = ctx, .x = x, .named = { 0, JOB_ID_NO_INDEX } };
	const struct route *route;
	struct err err = { "" };
	int r = find_route(&c, &route, &err);

	if (r >= 0 && is_signed(&c, route))
		r = identify_sender(&c, route, &err);
	else if (r >= 0 && !exchange_may_ask(x))
		r = refuse_rate(&c, "requests without a credential", &err);
	else if (r >= 0)
		admit_sender(&c, route, NULL);
	if (r < 0)
		answer_finish(&c, r, &err);
}

/* ---- the complete request ---- */

/* The body has arrived: is it what the sender signed? */
static int check_signature(struct call *c, const struct auth_said *said, struct err *err)
{
	_cleanup_free_ char *first = NULL;
	struct auth_text what = { 0 };
	int r;

	if (asprintf(&first, "%s %s", exchange_method(c->x), exchange_target(c->x)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	what.first = first;
	what.second = exchange_body(c->x, &what.second_size);
	r = auth_match(said, what, err);
	return r < 0 ? refuse_credential(c, r, err) : 0;
}

static int read_body(struct call *c, const struct route *route, struct err *err)
{
	size_t size;
	const char *text = exchange_body(c->x, &size);
	const struct route_body *body;
	int r;

	if (strcmp(route->method, "POST") != 0)
		return 0;
	/* A request such as cancel needs no body. */
	if (size == 0 && strchr(route->pattern, '#'))
		return 0;
	body = &route_bodies[route->body];
	r = wire_scan(text, body->has_bytes ? strnlen(text, size) : size, &body->json, err);
	if (r == -EMSGSIZE)
		return call_refuse(
			c, 413, "too-large",
			"send less in one request; no client of Reeve sends so much");
	if (r < 0)
		return r;
	return body->has_bytes ? wire_parse_whole(text, size, &c->body, err)
			       : wire_parse(text, size, &c->body, err);
}

/* Checks the signature and parses the body. Touches the call and its exchange alone: a worker may do it. */
static int read_request(struct call *c, const struct route *route, struct err *err)
{
	const struct auth_said *said = exchange_said(c->x);
	int r = 0;

	if (route->role != ROLE_ANYONE && !said)
		return err_set(err, -EPROTO, "a request without a sender");
	if (said)
		r = check_signature(c, said, err);
	return r < 0 ? r : read_body(c, route, err);
}

/* Sets who, user and is_operator. A node's user name is not needed, and may not exist here. */
static int recognize_sender(struct call *c, const struct route *route, struct err *err)
{
	const struct auth_said *said = exchange_said(c->x);
	int r;

	if (!said)
		return 0;
	c->who = said->who;
	if (route->role == ROLE_NODE)
		return 0;
	r = auth_user_name(c->who.uid, c->user, sizeof(c->user), err);
	if (r == -ENOENT)
		return call_refuse(c, 403, "unknown-user",
				   "the controller's machine must know the same users");
	c->is_operator = r >= 0 && config_is_operator(c->api->c.config, c->user);
	return r;
}

/* The job that the path names: Slurm's, or a task of an array. */
static int find_named_job(struct call *c, struct err *err)
{
	int r = c->named.job ? slurm_job_find(c, err) : 0;

	if (r >= 0 && c->named.index != JOB_ID_NO_INDEX)
		r = array_task_find(c, err);
	return r;
}

/* Finds the caller and the job, and calls the route of a request that was read. */
static int call_route(struct call *c, const struct route *route, struct err *err)
{
	STOPS_IN(route->pattern);
	int r = recognize_sender(c, route, err);

	if (r >= 0)
		r = find_named_job(c, err);
	return r < 0 ? r : route->fn(c, err);
}

static int handle_request(struct call *c, struct err *err)
{
	const struct route *route;
	int r = find_route(c, &route, err);

	if (r < 0)
		return r;
	STOPS_IN(route->pattern);
	r = read_request(c, route, err);
	return r < 0 ? r : call_route(c, route, err);
}

/* ---- a large body ---- */

#define LARGE_BODY 4096
/* Of all bodies that workers read at a time, since a parsed body takes many times its size: beyond that the loop reads them, one after the
 * other. */
#define WORKER_BYTES_MAX (1 << 20)

struct reading {
	struct worker_task task;
	struct call call;
	const struct route *route;
	size_t size;
	int r;
	struct err err;
};

static void read_large(struct worker_task *t)
{
	struct reading *rd = (struct reading *)t;

	rd->r = read_request(&rd->call, rd->route, &rd->err);
}

static void finish_large(struct worker_task *t, bool has_worked)
{
	struct reading *rd = (struct reading *)t;

	rd->call.api->worker_bytes -= rd->size;
	if (!has_worked) {
		exchange_answer(rd->call.x, (struct exchange_answer){ .status = 503 });
	} else {
		int r = rd->r;

		/* Not while the answer is waited for, unless the route keeps it. */
		exchange_keep_body(rd->call.x, false);
		if (r >= 0)
			r = call_route(&rd->call, rd->route, &rd->err);
		exchange_leave_body(rd->call.x);
		answer_finish(&rd->call, r, &rd->err);
	}
	free(rd);
}

/* 1: a worker reads it. 0: it is to be read here. */
static int read_by_worker(struct call *c, struct err *err)
{
	const struct route *route;
	struct reading *rd;
	size_t size;
	int r;

	exchange_body(c->x, &size);
	if (size < LARGE_BODY || c->api->worker_bytes + size > WORKER_BYTES_MAX)
		return 0;
	r = find_route(c, &route, err);
	if (r < 0)
		return r;
	rd = malloc(sizeof(*rd));
	if (!rd)
		return err_set(err, -ENOMEM, "out of memory");
	*rd = (struct reading){ .task = { .work = read_large, .done = finish_large },
				.call = *c,
				.route = route,
				.size = size };
	c->api->worker_bytes += size;
	exchange_keep_body(c->x, true);
	workers_add(c->api->workers, &rd->task);
	return 1;
}

int api_fetch(struct api *a, struct exchange *x, const struct api_fetch *f, json_t **ret,
	      struct err *err)
{
	struct call c = { .api = a,
			  .x = x,
			  .named = { 0, JOB_ID_NO_INDEX },
			  .who = f->who,
			  .is_operator = f->is_operator,
			  .query = f->query };
	bool is_known;
	const struct route *route = routes_find("GET", f->path, &c.named, &is_known);
	int r;

	*ret = NULL;
	if (!route || route->role != ROLE_USER)
		return err_set(err, -ENOENT, "no such page: %.200s", f->path);
	STOPS_IN(route->pattern);
	snprintf(c.user, sizeof(c.user), "%s", f->user);
	c.id = c.named.job;
	r = find_named_job(&c, err);
	if (r >= 0)
		r = route->fn(&c, err);
	if (r == 0 && c.answer)
		*ret = json_incref(c.answer);
	else if (r >= 0)
		r = err_set(err, -EPROTO, "%.200s gave no document", f->path);
	json_decref(c.answer);
	free(c.text);
	free(c.headers);
	return r < 0 && c.status == 404 ? -ENOENT : r < 0 && c.status == 403 ? -EACCES : r;
}

/* A GET of a user in one turn of it; the whole chain again each time, of which the route is what takes time. */
static void take_turn(struct api *a, struct exchange *x, unsigned count)
{
	const struct turns_request next = { x, count + 1 };
	struct call c = { .api = a, .x = x, .named = { 0, JOB_ID_NO_INDEX } };
	struct err err = { "" };
	int r;

	api_begin_turn(a, count);
	r = handle_request(&c, &err);
	api_end_turn(a);
	if (r == -EAGAIN && count < TURNS_MAX && turns_add(a->turns, next, &err) >= 0)
		r = CALL_DEFERRED;
	answer_finish(&c, r, &err);
}

void api_go_on(void *ctx, struct turns_request request, enum turns_why why)
{
	/* The server has answered what waits when the api is closed. */
	if (why == TURNS_NEXT)
		take_turn(ctx, request.request, request.count);
}

void api_handle(void *ctx, struct exchange *x)
{
	struct call c = { .api = ctx, .x = x, .named = { 0, JOB_ID_NO_INDEX } };
	struct err err = { "" };
	int r;

	if (!strcmp(exchange_method(x), "GET")) {
		if (!api_must_defer(ctx) ||
		    turns_add(c.api->turns, (struct turns_request){ x, 0 }, &err) < 0)
			take_turn(ctx, x, 0);
		return;
	}
	r = read_by_worker(&c, &err);
	if (r == 0)
		r = handle_request(&c, &err);
	else if (r > 0)
		return;
	answer_finish(&c, r, &err);
}
