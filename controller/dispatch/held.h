/* held - what the jobs on one node hold of it, by the rows of those that were placed: the same
 * as store_nodes_in_use() adds up (what jobs on several hold is there already, store_nodes_in_use_by_parts()). */
#pragma once
#include "controller/ledger/nodes/allocated.h"

struct held {
	struct fit_node *nodes;
	size_t n;
	bool *is_whole; /* by node: a job has all of it */
	bool has_models;
};

/* The nodes stay the caller's. *ret needs held_done(). -ENOMEM. */
int held_begin(struct fit_node *nodes, size_t n, struct held *ret);
/* `node`: the index of p->node. */
void held_add(struct held *h, size_t node, const struct store_allocated *p);
/* When all are in: who has a whole node has it whole. */
void held_end(struct held *h);
void held_done(struct held *h);

/* Is it what the ledger adds up? If not, *ret_node is the first that differs. */
bool held_is_same(const struct held *h, const struct fit_node *others, size_t n,
		  const char **ret_node);
