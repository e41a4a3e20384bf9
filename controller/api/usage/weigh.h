/* weigh - what a route has committed, told to the standing in memory. */
#pragma once
#include "controller/api/call.h"
#include "controller/ledger/usage/adjust.h"

/* After the commit. What cannot be weighed is logged: the ledger has it, and the next start
 * tries again. */
void weigh_gains(struct api *a, const struct sync_result *result);
void weigh_adjustment(struct api *a, const struct store_adjustment *made);
