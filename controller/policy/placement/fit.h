/* fit - does a job fit a node as the ledger has it, and in words what is missing.
 *
 * Pure. The schedule (controller/scheduler) decides the order of jobs and which job preempts
 * which; this is the last check before a job is allocated, and the message that users see.
 *
 * A job of an exclusive queue takes a whole node: one that is empty, and nothing else may be
 * given to it until the job has ended, also while it is suspended.
 *
 * What a node holds: cores and GPUs of jobs that are not suspended (GPUs also of those that
 * are), memory and jobfs of all. A job reserves its vmem; one that states none, its mem.
 *
 * A job that asks for a type of node, or for features, goes to nodes of that kind alone.
 *
 * GPUs are given by model: a job that asks for one gets that, one that asks for any gets whole
 * ones (common/model/gpus.h). Where a node does not tell its models only any can be given.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/model/gpus.h"

struct fit_node {
	char name[REQUEST_NAME_MAX];
	bool open;		     /* up, not draining, not lost */
	struct resources capacity;   /* ncpus, mem_bytes, jobfs_bytes, ngpus; of which kind */
	struct resources held;	     /* the same fields: what is reserved */
	struct gpus gpus, gpus_held; /* by model; gpus.n 0: not told, ngpus are whole ones */
	struct gpus gpus_drained;    /* of gpus: not given for now, though they are free */
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

/* Could any of the nodes, empty and open, hold it? If not, `why` says the largest that could
 * be, or which types and features there are. True when there are no nodes at all: then it is
 * not known yet. */
bool fit_is_possible(const struct fit_node *nodes, size_t n_nodes, const struct resources *want,
		     char why[static FIT_WHY_MAX]);

/* Memory that a job reserves on its node. */
int64_t fit_memory(const struct resources *want);
