/* SPDX-License-Identifier: GPL-2.0-or-later */
/* past_rig - a ledger with a long past: jobs that have ended, of the user, account and node of rig_request_init() and the nodes n1 and n2;
 * and jobs of Slurm's cluster "east", whose numbers are larger than all of these. */
#pragma once
#include "tests/unit/rig/ledger_rig.h"

/* So many jobs have ended: REEVE_PAST_ENDED, or 200000. */
int64_t past_rig_ended(void);
void past_rig_make(struct rig *r);
