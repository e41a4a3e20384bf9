/* routes - the table of what can be asked. */
#pragma once
#include "controller/api/call.h"

enum role {
	ROLE_ANYONE, /* no credential needed */
	ROLE_USER,   /* whoever has one; the route looks at whose things they are */
	ROLE_NODE,   /* uid 0; the route checks which node */
};

struct route {
	const char *method;
	const char *pattern; /* "#" stands for a job: "12", or "12.7" for an element */
	enum role role;
	route_fn fn;
	const char *help;
};
extern const struct route routes[]; /* ends with an empty one */

/* NULL: none. *ret_id: the job, or 0. *ret_is_known: the path exists with another method. */
const struct route *routes_find(const char *method, const char *path, struct job_id *ret_id,
				bool *ret_is_known);
