/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admit - may this job start here now, and if not, what is missing?
 *
 * Pure. The node's capacity (after what is reserved for the system), the jobs that hold a
 * part of it, and a request go in; yes, not now, or never, with numbers in words, comes out.
 *
 * The sum of the memory needs of all jobs on the node, running or suspended, never exceeds
 * its memory. The need of a job is its vmem (processes cannot hold more than they can
 * address), or its mem where that is larger or vmem is not stated.
 * A suspended job gives back its cores only.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "agent/admit/cpulist.h"
#include "common/model/gpus.h"
#include "common/model/request.h"

struct admit_capacity {
	int64_t ncpus;	     /* cores */
	int64_t mem_bytes;   /* physical, less the reserve */
	int64_t jobfs_bytes; /* disk for job file systems, less the reserve; 0: none here */
	int64_t ngpus;	     /* whole ones */
	struct gpus gpus;    /* by model, parts too; n 0: not told, and only any can be given */
	int64_t pids;	     /* processes and threads of all jobs together; 0: not counted */
};

enum admit_phase {
	ADMIT_ACTIVE,	 /* starting, running, ending: holds everything */
	ADMIT_SUSPENDED, /* frozen: holds everything but its cores */
};

struct admit_allocation {
	int64_t job;
	int32_t attempt;
	enum admit_phase phase;
	struct resources res; /* as requested; gpu_model: what was given, where that is known */
};

enum admit_answer {
	ADMIT_YES = 0,
	ADMIT_NOT_NOW = 1, /* fits this node once others have gone */
	ADMIT_NEVER = 2,   /* larger than this node */
};

/* All that is missing, largest obstacle first: what can never fit, else what is not free:
 *   "needs 8 cores; 3 of 8 are free"
 *   "needs 4.00 GiB vmem; 1.50 GiB of 7.75 GiB is free, and 2 GPUs; 0 of 1 is free"
 *   "needs 2 a100-40; 1 of 4 is free"
 *   "needs 16 cores; this node has 8" */
#define ADMIT_TEXT_MAX 512

/* Returns an enum admit_answer. `text` is "" for ADMIT_YES. */
struct admit_node {
	struct admit_capacity capacity;
	const struct admit_allocation *allocations;
	size_t n_allocations;
};
int admit_check(const struct admit_node *node, const struct resources *want,
		char text[static ADMIT_TEXT_MAX]);
/* What is not held. Never negative, even if more is held than there is. */
void admit_free(const struct admit_node *node, struct admit_capacity *ret);

/* The memory that a job takes out of the node's: see above. Bytes. */
int64_t admit_need_bytes(const struct resources *res);

/* memory.max of a job that states vmem but not mem: vmem * percent / 100 + plus_bytes (page
 * tables, kernel stacks and socket buffers are charged to a job without being in its vmem, so
 * that the kernel's own share must not end a job which keeps to its vmem), at least
 * min_bytes. Saturates. A stated mem is returned as it is; 0 when neither is stated. */
struct admit_mem_rule {
	int64_t percent, plus_bytes, min_bytes;
};
#define ADMIT_MEM_RULE_DEFAULT ((struct admit_mem_rule){ 101, 32 << 20, 32 << 20 })
int64_t admit_mem_bytes(const struct resources *res, const struct admit_mem_rule *rule);
