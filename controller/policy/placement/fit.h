/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit - does a job fit a node as the ledger has it, and in words what is missing.
 *
 * Pure. The schedule (controller/scheduler) decides the order of jobs and which job preempts
 * which; this is the last check before a job is allocated, and the message that users see.
 *
 * A job of an exclusive queue takes a whole empty node. No other job is allocated to that node
 * until the job has ended, also while it is suspended.
 *
 * In use on a node are the cores of jobs that are not suspended, and the GPUs, memory and jobfs of
 * all its jobs. A job reserves its vmem; one that states none, its mem.
 *
 * A job that asks for a type of node, or for features, goes to nodes of that kind alone.
 *
 * GPUs are allocated by model: a job that requests a model gets that model, a job that requests any
 * gets whole GPUs (common/model/gpus.h). A node that does not report its models has GPUs only for
 * jobs that request any.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/model/gpus.h"

struct fit_node {
	char name[REQUEST_NAME_MAX];
	bool open; /* up, not draining, not lost */
	struct resources
		capacity; /* ncpus, mem_bytes, jobfs_bytes, ngpus, pids; and their kinds */
	struct resources in_use; /* the same fields: reserved amounts */
	struct gpus gpus,
		gpus_in_use;	  /* by model; gpus.n 0: not reported, ngpus are whole ones */
	struct gpus gpus_drained; /* of gpus: free, but not allocated for now */
};

#define FIT_WHY_MAX 384

struct fit_request {
	const struct resources *want; /* all in all, and of which kind its nodes are */
	const struct select *select;  /* NULL or of no kind: one chunk */
	bool is_exclusive;
};

/* Why a job of one chunk waits, as a clause: "it needs 8 cores; n1 has 1 of 8 free", about the open
 * node that lacks the fewest sides; "" where it fits. */
void fit_explain_one(const struct fit_node *nodes, size_t n_nodes,
		     const struct fit_request *ask, char why[static FIT_WHY_MAX]);

/* Is the node of the kind that is asked for: its type, and all features? */
bool fit_is_kind(const struct fit_node *n, const struct resources *want);

/* Can any node of the kind hold that number of processes and threads in all its jobs together? If not, `why` says how many. True if a node
 * has not reported its limit. */
bool fit_has_pids(const struct fit_node *nodes, size_t n_nodes, const struct resources *want,
		  char why[static FIT_WHY_MAX]);
/* Could any of the nodes, empty and open, hold it? If not, `why` says the largest that could
 * be, or which types and features there are. True when there are no nodes at all: then it is
 * not known yet. */
bool fit_is_possible(const struct fit_node *nodes, size_t n_nodes, const struct resources *want,
		     char why[static FIT_WHY_MAX]);

/* Memory that a job reserves on its node. */
int64_t fit_memory(const struct resources *want);
