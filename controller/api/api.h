/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api - the controller's HTTP API for nodes and users (docs/protocol.md).
 *
 * The chain of one request is in handle.c: find the route, authenticate the caller, read the
 * body, call the route, answer.
 */
#pragma once
#include "controller/api/context.h"
#include "controller/api/turns.h"

int api_open(const struct api_config *c, struct api **ret, struct err *err);
struct api *api_close(struct api *a);
/* Before the waiters and the server are closed: no request is on its way through a worker any more. */
void api_drain(struct api *a);
DEFINE_CLEANUP(struct api *, api_close)

/* The configuration has changed: passes on what modules have of it. A failure leaves the rest applied. */
int api_reload(struct api *a, struct err *err);

/* Called once the server exists, which is made after the api that it calls. Passes it the
 * addresses of all known nodes. */
int api_set_server(struct api *a, struct server *s, struct err *err);
/* The server's callbacks: for the headers of a request, and for the complete request. ctx is
 * the api. */
void api_admit(void *ctx, struct exchange *x);
void api_handle(void *ctx, struct exchange *x);
/* A turns_fn: the next turn of a request; ctx is the api. */
void api_go_on(void *ctx, struct turns_request request, enum turns_why why);

/* A document of the API for a page of that user: what GET `path` answers, with the user's rights. */
struct call_query;
struct api_fetch {
	struct auth_who who;
	const char *user;
	bool is_operator;
	const char *path; /* "/v1/jobs/12" */
	const struct call_query
		*query; /* instead of the page's own, name by name; NULL: none */
};
/* *ret is the caller's. -ENOENT: no such path or job; -EACCES: not permitted; other errors have their
 * words in err. */
int api_fetch(struct api *a, struct exchange *x, const struct api_fetch *f, json_t **ret,
	      struct err *err);
