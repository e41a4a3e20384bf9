/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share_update - adds what a route has committed to the share tree in memory.
 *
 * To be called after the commit. What cannot be added is logged: the ledger has it, and the
 * next start of the controller tries again. */
#pragma once
#include "controller/api/context.h"
#include "controller/ledger/usage/adjust.h"

void share_update_usage(struct api *a, const struct sync_result *result);
void share_update_adjustment(struct api *a, const struct store_adjustment *made);
