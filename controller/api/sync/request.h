/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request - encodes the stored request of a job for one node. */
#pragma once
#include <jansson.h>
#include "controller/ledger/store.h"

/* `request`: of store_desired_request(). Leaves out what concerns other nodes. For an array task: with its index in the
 * environment (REEVE_ARRAY_JOB, REEVE_ARRAY_INDEX, and the names of PBS) and output files of
 * its own. For a job on several nodes: with the amounts of the node's part, and `part`; parts
 * other than the first get neither a command nor output files. */
int sync_request_encode(const struct store_desired *g, const char *request, json_t **ret,
			struct err *err);
