/* cost - the price of a request by a profile: no controller is asked. */
#pragma once
#include "cli/cli.h"
#include "common/model/request.h"

/* What the options beside the request's own say, for the table of `cost`. */
#define COST_OFFLINE_OPTIONS                                                                   \
	{ "profile", 0, "NAME",                                                                \
	  "ask no controller: price by this policy, a file or one that ships "                 \
	  "(alliance-narval, nci, rwth ...)",                                                  \
	  NULL },                                                                              \
		{ "node-type", 0, "NAME", "type of node, where the bundle depends on it",      \
		  NULL },                                                                      \
		{ "gpu-model", 0, "NAME", "model of the GPUs, or of the part of one", NULL },  \
	{                                                                                      \
		"nodes", 0, "N",                                                               \
			"nodes held, on a queue that gives whole nodes; default: as many as "  \
			"the cores fill",                                                      \
			NULL                                                                   \
	}

/* Reads the request, amounts of memory as the profile means them. *ret: the document of
 * price_encode(). -EINVAL: options or amounts; -ENOENT: no such profile; -EBADMSG: a profile
 * with a fault. */
int cost_offline(const struct cli *c, const struct verb_call *call, struct request *r,
		 json_t **ret, struct err *err);
