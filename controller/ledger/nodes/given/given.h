/* SPDX-License-Identifier: GPL-2.0-or-later */
/* given - what a node has open in the ledger, read at once: its list of jobs is compared with it, and the desired states of its jobs are
 * chosen from it. For the ledger's own files and the exchange with nodes.
 */
#pragma once
#include "controller/ledger/store.h"

/* An attempt, or of one on several nodes the part that the node has. */
struct store_given {
	struct store_desired desired;
	int64_t missing_ns; /* since when the node's list lacks it; 0: it does not */
	bool is_shown;	    /* in a list of the node, or in a report */
	bool is_due;	    /* the node is to have it */
};
struct store_given_list {
	struct store_given *rows; /* in the order of jobs and attempts */
	size_t n, size;
	unsigned n_users; /* it may be kept for the next exchange: given_kept.h */
	char node[REQUEST_NAME_MAX];
};

/* In the transaction under way: sends the query of store_given_get() ahead (db_ask()), unless its answer is kept. */
int store_given_ask(struct store *s, const char *node, struct err *err);
/* What the node has open now, as it is kept, or read. *ret is not to be changed; it is dropped with store_given_put(). */
int store_given_get(struct store *s, const char *node, struct store_given_list **ret,
		    struct err *err);
struct store_given_list *store_given_ref(struct store_given_list *l);
/* Returns NULL. l NULL: nothing. */
struct store_given_list *store_given_put(struct store_given_list *l);
DEFINE_CLEANUP(struct store_given_list *, store_given_put)
/* NULL: it has none. */
const struct store_given *store_given_find(const struct store_given_list *l, int64_t job,
					   int32_t attempt);
/* As store_desired(), of what was loaded. */
int store_given_desired(const struct store_given_list *l, store_desired_fn fn, void *ctx,
			struct err *err);
