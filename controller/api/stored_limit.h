/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored_limit - limits how much of the ledger a user may fill with scripts, environments,
 * steps and output (MaxStoredPerUser). */
#pragma once
#include "controller/api/call.h"

/* Refuses where `more` bytes would take the user over the limit: err, status and remedy are
 * set.
 */
int stored_limit_check(struct call *c, const char *user, int64_t more, struct err *err);
/* Refuses in any case. `more` 0: not known. */
int stored_limit_refuse(struct call *c, const char *user, int64_t more, struct err *err);
