/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes - the table of the HTTP requests that the controller answers. */
#pragma once
#include "controller/api/call.h"

enum route_role {
	ROLE_ANYONE, /* no credential needed */
	ROLE_USER, /* any user with a credential; the route checks whose job or account it is */
	ROLE_NODE, /* uid 0; the route checks which node */
};

/* Limits of a body, checked before it is read and before it is parsed. */
enum route_body_kind {
	BODY_NONE,
	BODY_SMALL,    /* a few keys, or a list of names */
	BODY_REQUEST,  /* a job or a step: script and environment */
	BODY_ACCOUNTS, /* a file as one string */
	BODY_SYNC,
	BODY_CONSOLE, /* a message of an interactive step */
	BODY_RELAY,   /* those of a node */
	BODY_SLURM,   /* jobs of Slurm: from its own user only */
	_BODY_MAX,
};
struct route_body {
	size_t bytes; /* as sent, and as inflated */
	struct wire_bounds json;
	bool has_bytes; /* may be followed by bytes (WIRE_ATTACHED) */
};
extern const struct route_body route_bodies[_BODY_MAX];

struct route {
	const char *method;
	const char *pattern; /* "#" stands for a job: "12", or "12.7" for an array task */
	enum route_role role;
	enum route_body_kind body;
	route_fn fn;
	const char *help;
};
extern const struct route routes[]; /* ends with an empty one */

/* Finds a route. NULL: none. *ret_id: the job, or 0. *ret_is_known: the path exists with some
 * method. */
const struct route *routes_find(const char *method, const char *path, struct job_id *ret_id,
				bool *ret_is_known);
