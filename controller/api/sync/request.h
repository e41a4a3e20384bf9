/* request - the stored request of a job, as one node gets it. */
#pragma once
#include <jansson.h>
#include "controller/ledger/store.h"

/* The request without what concerns other nodes. Of an array task: with its index in the
 * environment (REEVE_ARRAY_JOB, REEVE_ARRAY_INDEX, and as PBS calls them) and output files of its
 * own. Of a job on several nodes: with the amounts of the node's part, and `part`; parts other
 * than the first run no command: they get none, and no output. */
int sync_request_encode(const struct store_desired *g, json_t **ret, struct err *err);
