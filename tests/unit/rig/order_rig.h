/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order_rig - jobs in the queue of a ledger, and a node that reports. */
#pragma once
#include "tests/unit/rig/sharetree_rig.h"

struct queued {
	const char *account, *user, *queue;
	int64_t ncpus, at_ns;
};
/* Returns its number. */
int64_t order_submit(struct rig *r, const struct queued *what);
/* n1 with 8 cores. */
void order_hello(struct rig *r, int64_t now_ns);
