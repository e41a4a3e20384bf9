/* array - job arrays, kept as one row until their elements are about to start. Part of
 * the contract of store.h.
 *
 * An array of n elements takes n + 1 numbers: its own, then one for each element by its
 * ordinal. So an element's number says its place in the queue from the start, and nothing needs
 * to be written to know it. Its row is made ("unfolded") when the array's turn comes: some
 * elements ahead of those that have started, the more the more are running, and never more at
 * once than the array allows. Until then they are a few ranges in the row of the array. From
 * then on an element is a job like any other: given, reported, charged and kept.
 *
 * An array has ended when all its elements have; its end says whether all of them ended well.
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

/* The number of an element, and whether it has a row: 0; STORE_NOT_EXPANDED: it has none, and waits;
 * STORE_DROPPED: none, and it was cancelled. -ENOENT: no such array, or element. */
#define STORE_NOT_EXPANDED 1
#define STORE_DROPPED 2
int store_array_element(struct store *s, struct job_id id, int64_t *ret_job, struct err *err);
/* Gives one that waits its row, so that something can be said of it alone. */
int store_array_expand_one(struct store *s, struct job_id id, struct err *err);

/* Gives rows to those whose turn it is, of all arrays that nothing keeps back. 1: there are
 * such arrays with elements that still wait; 0: there were none to begin with. */
int store_arrays_expand(struct store *s, struct err *err);
/* The nodes that have tasks of the array, so that the caller can wake them. */
typedef void (*store_node_name_fn)(void *ctx, const char *node);
int store_array_nodes(struct store *s, int64_t job, store_node_name_fn fn, void *ctx,
		      struct err *err);
