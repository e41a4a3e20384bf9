/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages_rig - the queries of the documents that pages show, and a past of sums and records for them to be found in: tests of plans. */
#pragma once
#include "tests/unit/rig/ledger_rig.h"

/* Documents of what is active: the map of cores, nodes, the queue. */
void pages_rig_list_active(struct rig *r);
/* Documents of what has ended: jobs by filters, days of a cluster, usage of projects. Their cost is bounded by what they show, not by what is
 * active. */
void pages_rig_search(struct rig *r);
/* Two years of sums of 300 users in 100 projects, of waits, and of changes of nodes; in PostgreSQL analyzed. */
void pages_rig_make(struct rig *r);
