/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes - what each node of a schedule has, and what of it is in use.
 *
 * Nodes are indexed by their free cores: a node with k free cores is in bucket k, so that the
 * search for the tightest node begins where nodes can be large enough. */
#pragma once
#include "controller/scheduler/schedule.h"

struct job;

#define NODE_MODELS (SCHEDULE_MODELS_MAX + 1)
#define NODE_BUCKETS 512 /* the last one has all nodes with so many free cores or more */

struct node {
	int64_t cores, mem_bytes, jobfs_bytes;
	int64_t free_cores, free_mem, free_jobfs; /* < 0: more is in use than there is */
	int64_t closed_from_s;			  /* nothing may run from then on; 0: never */
	uint64_t features;
	int32_t n_parts; /* parts of jobs that are here, also of suspended ones */
	int32_t n_whole; /* exclusive jobs that have all of it: 0 or 1, more by what was added */
	int32_t gpus;	 /* index of schedule.gpus; -1: it has none */
	int64_t indexed; /* its free cores in schedule.indexed_cores */
	int32_t bucket;	 /* -1: it takes no jobs, and is in no bucket */
	uint32_t stamp;	 /* schedule.stamp of the walk that last visited it */
	bool is_open;
};

/* GPUs of a node by model; in_use[0]: jobs that accept any whole GPU. */
struct node_gpus {
	int32_t has[NODE_MODELS], in_use[NODE_MODELS];
};

/* Which amounts of a part an operation counts: a suspended job has the rest but not the cores. */
enum node_amounts { NODE_CORES = 1, NODE_REST = 2, NODE_ALL = 3 };

static inline int32_t node_bucket(int64_t free_cores)
{
	if (free_cores < 0)
		return 0;
	return free_cores < NODE_BUCKETS ? (int32_t)free_cores : NODE_BUCKETS - 1;
}

/* Puts the node into the bucket of its free cores, or into none where it takes no jobs. */
void node_index(struct schedule *s, struct node *n);
/* One part starts to use a node (sign 1) or stops (-1). node_add_use() leaves the index as it is:
 * the caller calls node_index() when it is done. */
void node_add_use(struct node_gpus *gpus, struct node *n, const struct schedule_chunk *c,
		  enum node_amounts what, int sign);
void node_allocate(struct schedule *s, struct node *n, const struct schedule_chunk *c,
		   enum node_amounts what, int sign);
/* All parts of a job on their nodes; an exclusive job also takes or returns the whole of each. */
void node_allocate_job(struct schedule *s, const struct job *j, enum node_amounts what,
		       int sign);
/* GPUs of a model that are free; model 0: whole ones of any model. */
int32_t node_gpus_free(const struct schedule *s, const struct node_gpus *g, int32_t model);
/* Does one chunk of a job fit on this node now? Exclusive use of the node is not checked here. */
bool node_fits(const struct schedule *s, const struct node *n, const struct schedule_chunk *c,
	       const struct job *j);
/* How many of a chunk fit on a node now, beside what is there; INT32_MAX: any number. */
int64_t node_count_fitting(const struct schedule *s, const struct node *n, const struct job *j,
			   const struct schedule_chunk *c);
/* The least that any of its chunks asks for, as many times as it has parts: where these have no room, the
 * job has none. */
struct schedule_chunk node_least_chunk(const struct job *j);
