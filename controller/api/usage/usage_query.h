/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_query - the query of GET /v1/usage: whose usage, of which period, by what; and the periods that
 * a page offers. */
#pragma once
#include "controller/api/call.h"
#include "controller/quota/projection/projection.h"

struct usage_query {
	struct projection_query ask;
	struct store_scope scope; /* ask.period points at it where it counts */
	const char **names;	  /* of the scope */
};
/* docs/protocol.md has the keys. Refuses what the caller may not see. *ret needs usage_query_done(), and stays
 * where it is. */
int usage_query_read(struct call *c, const struct quota_site *site, struct usage_query *ret,
		     struct err *err);
void usage_query_done(struct usage_query *q);

/* Adds `periods`: this month, the last one, and the allocation years (or quarters) in which anything was charged,
 * the newest first; and `rule` and `unit`, what the site's quotas count. */
int usage_query_add_periods(const struct quota_site *site, const struct projection_query *ask,
			    json_t *doc, struct err *err);
