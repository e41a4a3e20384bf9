/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_list - which nodes an answer of GET /v1/nodes has, and the sums of all nodes: what a screen that is
 * refreshed every few seconds shows of a cluster of thousands.
 */
#pragma once
#include "controller/api/call.h"
#include "controller/ledger/nodes/page.h"

struct node_list {
	json_t *nodes; /* of the answer */
	bool is_all;   /* no limit, start, order or name was asked for */
	struct store_node_page page;
	const struct survey *running; /* NULL: no totals were asked for */
	int64_t n_left_out;	      /* by the limit */
	char next
		[REQUEST_NAME_MAX]; /* in the order of names: where the next answer begins; "": nowhere */
};

/* Reads limit, node, from, sort, order and totals of the query, and for totals what runs: -EAGAIN (survey.h). -EINVAL. */
int node_list_read(const struct call *c, struct node_list *l, struct err *err);
/* Calls fn for the nodes of the answer, in order. */
int node_list_pass(struct call *c, struct node_list *l, store_node_fn fn, struct err *err);
/* Sets left_out, next and totals. -ENOENT: the one node that was requested is not there. */
int node_list_finish(struct call *c, struct node_list *l, struct err *err);
