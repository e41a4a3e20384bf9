/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schedule_impl - what a schedule is made of, for the scheduler's own files. */
#pragma once
#include "controller/scheduler/job.h"
#include "controller/scheduler/moves.h"
#include "controller/scheduler/nodes.h"
#include "controller/scheduler/place.h"
#include "controller/scheduler/reservation.h"
#include "controller/scheduler/schedule.h"
#include "controller/scheduler/shapes.h"

#define WORD_BITS 64
#define BLOCK 1024 /* jobs that are allocated at once; they never move */

/* What a pass reads of a queued job, in one dense array: the jobs are far apart in memory. */
struct schedule_entry {
	int32_t job, most_cores; /* of its largest chunk; ENTRY_GONE: removed in an edit */
	int32_t user, group, queue;
	int64_t cores;
};
#define ENTRY_GONE (-1)

/* Where a pass stands: it may stop when its time is over, and goes on from here. */
struct schedule_progress {
	bool is_under_way;
	int64_t now_s;
	/* by priority (backfill.c); the other rule has struct preempt */
	size_t at;    /* the next entry of the queue */
	int64_t most; /* cores that any node has free */
	int tried;    /* reservations */
	bool is_reserved;
	bool is_reserving; /* for the entry `at`, which did not fit */
};

struct schedule {
	struct schedule_config config;
	struct schedule_progress pass;
	struct schedule_budget budget; /* has_time NULL: no limit */
	uint64_t work, asked_at;       /* units; when has_time() was last called */

	struct node *nodes;
	size_t n_nodes, max_nodes;
	struct node_gpus *gpus;
	size_t n_gpus, max_gpus;
	uint64_t *bits; /* for each bucket a bit for each node: NODE_BUCKETS x words */
	size_t words;
	int32_t in_bucket[NODE_BUCKETS]; /* nodes in each */
	int32_t end_bucket;		 /* from here up to the last bucket all are empty */
	int64_t indexed_cores;		 /* free ones of the nodes in a bucket */
	bool has_closings;
	uint32_t stamp; /* counts walks over nodes, see node.stamp */

	struct job **blocks;
	size_t n_blocks;
	int32_t free_slot; /* -1: none */
	size_t n_jobs;

	struct schedule_entry *queued; /* in the order of schedule_compare_queued() */
	size_t n_queued, max_queued;
	bool is_unsorted;
	/* During an edit: queued jobs behind n_sorted are new ones, and running ones have no
	 * order. */
	bool is_edited, is_running_unsorted;
	size_t n_sorted, n_gone;
	int32_t *running; /* by end_s, then by number */
	size_t n_running, max_running;
	int32_t *suspended; /* in no order */
	size_t n_suspended, max_suspended;

	struct reservation reservation;
	struct shapes shapes;
	/* Of the last job that place_job() refused: the kind of chunk that had no room though it alone
	 * was looked at; -1: each has, they lack room together. */
	int32_t lacking;

	struct schedule_action *actions;
	size_t n_actions, max_actions;
	int32_t *withdrawn;
	size_t n_withdrawn, max_withdrawn;
	uint32_t n_passes; /* so far; never 0 in a pass */
	int32_t *parts;	   /* the nodes that place_job() finds; room for the largest job */
	size_t max_parts;
	struct preempt *preempt; /* NULL: no pass of that rule has run yet */
};

static inline struct job *job_at(const struct schedule *s, int32_t i)
{
	return &s->blocks[i / BLOCK][i % BLOCK];
}

static inline bool reservation_is_full(const struct schedule *s, size_t node)
{
	return node < s->reservation.n_nodes &&
	       s->reservation.full[node / WORD_BITS] >> node % WORD_BITS & 1;
}

/* Is there time to go on? */
static inline bool schedule_has_time(struct schedule *s)
{
	if (!s->budget.has_time || s->work - s->asked_at < s->budget.every)
		return true;
	s->asked_at = s->work;
	return s->budget.has_time(s->budget.ctx);
}

static inline void reservation_invalidate(struct schedule *s)
{
	s->reservation.cached_job = -1;
}

/* Did the caller's limits refuse it in the last pass? */
static inline bool job_is_limited(const struct schedule *s, const struct job *j)
{
	return j->limited_in && j->limited_in == s->n_passes;
}

/* The node after node i (-1: the first) of a bucket that is not in `without` (a bit for each node;
 * NULL: none); -1: no more. */
static inline int32_t node_next(const struct schedule *s, int32_t bucket, int32_t i,
				const uint64_t *without)
{
	const uint64_t *bits = &s->bits[(size_t)bucket * s->words];
	size_t at = (size_t)(i + 1), w = at / WORD_BITS;
	uint64_t left;

	if (!s->in_bucket[bucket] || w >= s->words)
		return -1;
	left = bits[w] & ~(without ? without[w] : 0) & ~UINT64_C(0) << at % WORD_BITS;
	while (!left && ++w < s->words)
		left = bits[w] & ~(without ? without[w] : 0);
	return left ? (int32_t)(w * WORD_BITS) + __builtin_ctzll(left) : -1;
}

/* Grows the array at *p (a pointer to it) to n elements of a size; *max has its length. -ENOMEM. */
int schedule_reserve(void *p, size_t *max, size_t n, size_t size);

/* --- the list of queued jobs (schedule.c, edit.c) --- */
int schedule_compare_queued(const struct schedule *s, int32_t x, int32_t y);
/* Jobs that are read from the ledger are often in order already: that is looked at first. */
void schedule_sort_entries(struct schedule *s, struct schedule_entry *entries, size_t n);
/* Where a job is, or would be, among the first n of the list, which are sorted. */
size_t schedule_bisect_queued(const struct schedule *s, size_t n, int32_t job);
void schedule_sort(struct schedule *s);
void schedule_free_slot(struct schedule *s, int32_t job);

/* --- the rules: each goes on with the pass under way; actions are in s->actions. 0: it is done; 1: no time is
 * left; -ENOMEM --- */
int backfill_pass(struct schedule *s);
int preempt_pass(struct schedule *s);
/* A new pass begins. */
void preempt_begin(struct schedule *s);
struct preempt *preempt_free(struct preempt *p);
