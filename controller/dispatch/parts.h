/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts - what a job occupies on each of its nodes: all chunks that lie on one node are one part. */
#pragma once
#include "controller/ledger/store.h"
#include "controller/dispatch/order.h"

/* In the order of the chunks, so that the first has the first chunk's node. */
struct parts {
	struct resources *want;
	struct fit_node **nodes; /* no node twice */
	struct store_part *of;	 /* the same for the ledger */
	size_t n;
};
void parts_done(struct parts *p);

struct parts_ask {
	const struct order_job *job;
	const int32_t *numbers; /* the node of each chunk, one by one */
	size_t n_numbers;
	struct fit_node *nodes;
	size_t n_nodes;
};
/* *ret needs parts_done() in any case. -EINVAL: not as many numbers as the job has chunks;
 * -ENOMEM. */
int parts_make(const struct parts_ask *a, struct parts *ret);
