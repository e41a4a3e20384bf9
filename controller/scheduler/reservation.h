/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reservation - nodes and a start time reserved for one queued job, so that later jobs cannot
 * delay it.
 *
 * The time is the earliest moment at which the job fits if every running job runs to its limit.
 * A job that would still run then may start only on what the reservation leaves (its spare).
 * There is at most one reservation at a time.
 *
 * Finding it is expensive, so the last one found is cached. It is used again as long as finding
 * it again would give the same: functions below are called with each change, and drop the cached
 * reservation where they cannot prove that. */
#pragma once
#include "controller/scheduler/nodes.h"

/* Bounds the placements that are tried for one job: schedule_config.tries_max. */
struct reservation_tries {
	int32_t n;
	int64_t next; /* none before this one */
};
/* Is the attempt number `at` (from 1) to be made? */
static inline bool reservation_take_try(struct reservation_tries *t, int32_t most, int64_t at)
{
	if (at < t->next)
		return false;
	if (most && ++t->n >= most)
		t->next = 2 * at;
	return true;
}

/* The search for a moment, kept while it is not at its end. */
struct reservation_search {
	bool is_under_way;
	int64_t at_s;
	size_t n_ended;	   /* of schedule.running: by the moment */
	int64_t n_moments; /* looked at */
	struct reservation_tries tries;
	bool is_promise_tried;
	int64_t *
		fits; /* of each kind of chunk: for how many parts all nodes together have room */
	size_t max_fits;
};

/* What a reservation leaves free on one of its nodes, from its start time on. */
struct reservation_spare {
	int64_t cores, mem_bytes, jobfs_bytes;
	struct node_gpus gpus;
	int32_t node;
	int32_t n_last; /* while it is measured: parts of the job's last chunk here */
	bool is_whole;	/* the job is exclusive: it leaves nothing */
};

struct reservation {
	int32_t job; /* whose reservation is in force; -1: none is */
	int64_t at_s;
	/* The fields below describe the cached reservation, in force or not; -1: there is none. */
	int32_t cached_job;
	int64_t cached_at_s;
	int64_t least_cores; /* of its smallest chunk */
	/* Just before cached_at_s so many parts of so many cores had no room: cores that become
	 * free earlier make the reservation earlier only if there are enough for these. */
	int64_t missing_parts, missing_cores;
	struct reservation_spare *spare; /* one for each of its nodes */
	size_t n_spare, max_spare;
	int32_t *spare_of; /* by node: index of spare; -1: not one of its nodes */
	size_t n_nodes;
	uint64_t *full;		      /* a bit for each node: it has no spare core */
	int32_t n_full[NODE_BUCKETS]; /* how many of these are in each bucket */
	struct reservation_search search;
	/* Parts that are on nodes for a moment, while a place is sought. */
	struct reservation_trial {
		int32_t node, chunk, n;
	} * trials;
	size_t n_trials, max_trials;
};

/* Finds when and where the job fits, and reserves that. If it never does, nothing is reserved:
 * reservation.job stays -1. 1: no time was left; the next call goes on, with the same job and now_s, before
 * anything else changes. Until then nothing is reserved, and the nodes are as they were. -ENOMEM. */
int reservation_make(struct schedule *s, int32_t job, int64_t now_s);
/* No reservation is in force any more; what is cached stays. */
void reservation_cancel(struct schedule *s);
/* No reservation is in force, and none is cached. */
void reservation_clear(struct schedule *s);
/* A job started / a job that had nodes is about to end or be removed. */
void reservation_job_started(struct schedule *s, int32_t job);
void reservation_job_ended(struct schedule *s, int32_t job);

/* May a job that still runs at the reserved time have this chunk on this node? */
bool reservation_allows(const struct schedule *s, const struct reservation *k, int32_t node,
			const struct schedule_chunk *c, const struct job *j);
/* Takes a chunk from the spare of a node (sign 1), or returns it (-1). */
void reservation_use_spare(struct schedule *s, int32_t node, const struct schedule_chunk *c,
			   int sign);
