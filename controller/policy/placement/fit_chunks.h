/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit_chunks - does a job of several chunks fit on the nodes, and in words what is missing.
 *
 * Pure. Chunks are put as the schedule puts them (controller/scheduler/place.c): kind by kind,
 * each on the node with the fewest free cores among those where it fits; scattered ones each on
 * a node of its own; those of an exclusive job on nodes without other jobs.
 */
#pragma once
#include "controller/policy/placement/fit.h"

/* Could the nodes, empty and open, hold it? How many of them it takes then; 0: there are no
 * nodes at all, so it is not known. 1: never; `why` says how much could be. What the nodes hold is
 * forgotten. -ENOMEM. */
int fit_pack(struct fit_node *nodes, size_t n_nodes, const struct fit_request *ask,
	     int64_t *ret_nodes, char why[static FIT_WHY_MAX]);

/* A request without chunks that has more cores, memory or GPUs than any node: cut into equal
 * chunks over the fewest nodes that could hold them. ret->n 0: one node could. 1: neither;
 * `why` has the nearest numbers of cores with which it could be. */
int fit_split(const struct fit_node *nodes, size_t n_nodes, const struct resources *want,
	      struct select *ret, char why[static FIT_WHY_MAX]);

/* Why a job waits, as a clause: "it needs 2 nodes with 16 cores, 32GB memory each; 1 has them free
 * now". A job of one chunk: fit_explain_one(). "": there is room; where a job has chunks of several
 * kinds, each kind is looked at alone, and ", all at once" is appended where each has room. */
void fit_explain(const struct fit_node *nodes, size_t n_nodes, const struct fit_request *ask,
		 char why[static FIT_WHY_MAX]);

/* Allocates part i on nodes[i]. False: one of them does not fit, and none is allocated. No node may
 * be listed twice. */
bool fit_parts(struct fit_node *const *nodes, const struct resources *parts, size_t n,
	       bool is_exclusive);
