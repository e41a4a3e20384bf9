/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record - when a node's state or size changed, a row each: what a cluster could have computed on each day.
 * Part of the contract of store.h. */
#pragma once
#include "controller/ledger/store.h"
#include "controller/policy/efficiency/capacity.h"

/* Records the node as its row is now, in the transaction under way: after a change of it. */
int store_node_record(struct store *s, const char *node, int64_t now_ns, struct err *err);
/* The same for the nodes that store_mark_lost_nodes() is about to mark: those last heard of before. */
int store_node_record_lost(struct store *s, int64_t before_ns, int64_t now_ns, struct err *err);

/* Adds what the nodes of a cluster (NULL: of all) had in [from_ns, to_ns) to the days, which are the ledger's
 * (days->calendar is not read). */
struct store_capacity_ask {
	const char *cluster;
	int64_t from_ns, to_ns;
};
int store_capacity(struct store *s, const struct store_capacity_ask *ask,
		   const struct capacity_days *days, struct err *err);
/* The moment of the first record; 0: there are none. Nothing is known of the time before. */
int store_capacity_since(struct store *s, int64_t *ret_ns, struct err *err);
