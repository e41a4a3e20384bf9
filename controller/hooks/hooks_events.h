/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks_events - maps an entry of the ledger's journal to hooks. */
#pragma once
#include "controller/config/config.h"
#include "controller/ledger/hooks.h"

#define HOOKS_OF_MAX 3

/* In the order in which they run; returns how many. A job of which the node reported only the
 * end did start; a job that exceeded a limit was killed, and ended. */
size_t hooks_of(const struct store_happening *h, enum config_hook ret[static HOOKS_OF_MAX]);
