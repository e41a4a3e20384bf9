/* node_list - which nodes an answer of GET /v1/nodes has, and the sums of all nodes: what a screen that is
 * refreshed every few seconds shows of a cluster of thousands.
 */
#pragma once
#include "controller/api/call.h"

struct node_list {
	json_t *nodes;	  /* of the answer */
	const char *node; /* NULL: every node */
	int64_t limit;
	int64_t left_out; /* nodes beyond the limit */
	bool has_totals;
	int64_t n_up, n_drained, n_lost, n_jobs;
	/* Of nodes that are not lost; free: of those that take new jobs. */
	struct resources capacity, in_use, free;
};

/* Reads limit, node and totals of the query. */
int node_list_read(const struct call *c, struct node_list *l, struct err *err);
/* Counts the node; true: the answer has it. */
bool node_list_count(struct node_list *l, const struct store_node *n);
/* Sets left_out and totals. -ENOENT: the one node that was requested is not there. */
int node_list_finish(struct call *c, struct node_list *l, struct err *err);
