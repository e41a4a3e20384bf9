/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cost - prices a request by a profile, without a controller. */
#pragma once
#include "cli/cli.h"
#include "common/model/request.h"

/* Options of `cost` beside those of the request. */
#define COST_OFFLINE_OPTIONS                                                                    \
	{ "profile", 0, "NAME",                                                                 \
	  "price by this policy, without a controller: a file or a shipped profile "            \
	  "(alliance-narval, nci, rwth ...)",                                                   \
	  NULL },                                                                               \
		{ "node-type", 0, "NAME", "type of node, where the bundle depends on it",       \
		  NULL },                                                                       \
		{ "gpu-model", 0, "NAME", "model of the GPUs or of the GPU slice", NULL },      \
	{                                                                                       \
		"nodes", 0, "N",                                                                \
			"whole nodes, on a queue that allocates whole nodes; default: as many " \
			"as the cores fill",                                                    \
			NULL                                                                    \
	}

/* Reads the request into *r, with the profile's memory units. *ret is the document of
 * price_encode(). -EINVAL: options or amounts; -ENOENT: no such profile; -EBADMSG: a fault in the
 * profile. */
int cost_offline(const struct cli *c, const struct verb_call *call, struct request *r,
		 json_t **ret, struct err *err);
