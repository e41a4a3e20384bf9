/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array - job arrays, stored as one row until their tasks are about to start. Part of the contract of
 * store.h.
 *
 * An array of n tasks takes n + 1 numbers: its own, then one for each task by its ordinal. So a task's
 * number gives its position in the queue from the start, without a row. Its row is made ("expanded")
 * when the array's turn comes: some tasks ahead of those that have started, the more the more are
 * running, and never more at once than the array allows. Until then the tasks are a few ranges in the
 * row of the array. With a row a task is a job like any other.
 *
 * An array has ended when all its tasks have; its end says whether all of them ended well.
 */
#pragma once
#include "controller/ledger/store.h"

struct store_array {
	struct array array;
	int64_t n_waiting;	    /* have no row yet */
	int64_t n_queued, n_active; /* rows: queued; given to nodes and not ended */
	int64_t n_dropped;	    /* cancelled before they had a row */
	int64_t n_ended, n_well;    /* of those with a row */
};
/* 1: there is; 0: the job is no array. */
int store_array(struct store *s, int64_t job, struct store_array *ret, struct err *err);

/* The number of a task, and whether it has a row: 0: it has; STORE_NOT_EXPANDED: it has none and waits;
 * STORE_DROPPED: it has none and was cancelled. -ENOENT: no such array, or task. */
#define STORE_NOT_EXPANDED 1
#define STORE_DROPPED 2
int store_array_element(struct store *s, struct job_id id, int64_t *ret_job, struct err *err);
/* Makes the row of a task that waits, so that it can be held or changed alone. It waits on for its
 * turn. */
int store_array_expand_one(struct store *s, struct job_id id, struct err *err);

/* The same of the task that has this number, in the transaction under way. 1: it has a row; 0: there is no such task, or it was dropped. */
int store_array_expand_number(struct store *s, int64_t number, struct err *err);

/* Makes the rows of the tasks whose turn it is, of all arrays that nothing withholds; at most STORE_EXPAND_MOST, some 10 ms, in one call.
 * STORE_EXPAND_MORE: some are left, the next call continues; 1: there were such arrays; 0: there were none. */
#define STORE_EXPAND_MOST 1024
#define STORE_EXPAND_MORE 2
int store_arrays_expand(struct store *s, struct err *err);
/* The nodes that have tasks of the array, so that the caller can wake them. */
typedef void (*store_node_name_fn)(void *ctx, const char *node);
int store_array_nodes(struct store *s, int64_t job, store_node_name_fn fn, void *ctx,
		      struct err *err);
