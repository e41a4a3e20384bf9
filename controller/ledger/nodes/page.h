/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page - some of many nodes, and what all have: for screens and pages that show a cluster of thousands again and again. Part of the
 * contract of store.h. */
#pragma once
#include "controller/ledger/store.h"

enum store_node_sort {
	STORE_NODE_SORT_NODE,
	STORE_NODE_SORT_CLUSTER,
	STORE_NODE_SORT_STATE, /* up, drain, lost */
	STORE_NODE_SORT_TIER,
	STORE_NODE_SORT_JOBS,
	STORE_NODE_SORT_LAST_NS,
	_STORE_NODE_SORT_MAX
};
extern const char *const store_node_sort_words[]; /* "node" ...; then NULL */

/* Equal nodes are in the order of their names. */
struct store_node_page {
	const char *
		node; /* this one alone; NULL: those whose names are not before `from` (NULL: all) */
	const char *from;
	enum store_node_sort sort;
	bool is_descending;
	int64_t limit; /* above 0 */
};
int store_nodes_page(struct store *s, const struct store_node_page *page, store_node_fn fn,
		     void *ctx, struct err *err);

/* How many there are from `from` on (NULL: of all). */
int store_node_count(struct store *s, const char *from, int64_t *ret, struct err *err);

struct store_node_totals {
	int64_t n_up, n_drained, n_lost;
	/* Of nodes that are not lost; free: of those that take new jobs. */
	struct resources capacity, free;
};
int store_node_totals(struct store *s, struct store_node_totals *ret, struct err *err);

/* What a cluster has, for the ranks of its jobs. */
struct store_cluster_size {
	int64_t nodes, cores;
	int64_t largest; /* cores of the node that has the most */
};
int store_cluster_size(struct store *s, const char *cluster, struct store_cluster_size *ret,
		       struct err *err);
