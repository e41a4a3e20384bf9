/* schedule - which jobs start, are suspended or go on: a cluster, its jobs, and one pass over
 * them.
 *
 * Pure: no clock, file or lock. The controller fills one from the ledger and carries out what a
 * pass says; `reeve simulate` drives the same object by the times of a trace.
 *
 * Times are whole seconds on any one clock; amounts are cores, bytes and GPUs of a model. A job
 * asks for chunks, each of which is held by one node; several may be on the same node unless
 *the job is scattered. What a job holds: while it runs, all of it; while it is suspended, all
 *but the cores. An exclusive job holds whole nodes, also while it is suspended.
 *
 * A pass goes by one of the rules:
 *
 * SCHEDULE_PRIORITY  Jobs in order of priority, then of submission, start where they fit. The
 *		      first that does not fit has its place kept: the earliest moment at which
 *it fits if all jobs run to their limits, and the nodes it gets then. Later ones start if they
 *fit now and leave that place alone (backfill). SCHEDULE_FIFO	      The same without backfill:
 *nobody passes a job that waits. SCHEDULE_PREEMPT   The cycle of preempt.h: shuffled queues,
 *suspension and resumption.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct schedule;

enum schedule_rule { SCHEDULE_PRIORITY, SCHEDULE_FIFO, SCHEDULE_PREEMPT, _SCHEDULE_RULE_MAX };

#define SCHEDULE_MODELS_MAX 15 /* GPU models of a cluster; 0 stands for any whole ones */
#define SCHEDULE_QUEUES_MAX 32
#define SCHEDULE_FOREVER INT64_C(4611686018427387903) /* a time that does not come */

struct schedule_config {
	enum schedule_rule rule;
	/* Of each queue; jobs of a higher one may suspend those of lower ones (PREEMPT). */
	int64_t run_priority[SCHEDULE_QUEUES_MAX];
	uint32_t parts; /* bit m: model m is a part of a GPU, which `any` never means */
	/* PREEMPT: a job that has waited so long has its place kept (0: never), so that it
	 * does not starve. */
	int64_t late_s;
	/* May this job start now, by limits that are the caller's? Asked of one that fits, or
	 * whose place would be kept; NULL: all may. And told what was decided: that it starts,
	 * or (is_undone) after all not. */
	bool (*may_start)(void *ctx, int64_t id);
	void (*starts)(void *ctx, int64_t id, bool is_undone);
	void *ctx;
};

struct schedule_node {
	int64_t cores, mem_bytes, jobfs_bytes;
	uint64_t features;     /* what it has: bits of the caller's choice */
	bool is_open;	       /* takes jobs: up, not draining, not lost */
	int64_t closed_from_s; /* nothing may run from then on: maintenance; 0: never */
	int16_t gpus[SCHEDULE_MODELS_MAX + 1]; /* by model, from 1 */
};

struct schedule_chunk {
	int64_t cores, mem_bytes, jobfs_bytes;
	int32_t gpus, model; /* model 0: any whole ones */
	int32_t n;	     /* so many of them */
};

struct schedule_job {
	int64_t id;
	int32_t queue;			     /* index of run_priority */
	int32_t user, group;		     /* numbers of the caller's choice, from 0 */
	const struct schedule_chunk *chunks; /* copied */
	int32_t n_chunks;
	uint64_t features; /* all of its nodes must have them */
	bool is_exclusive, is_scattered;
	bool is_kept; /* never suspended */
	int64_t priority, submit_s, limit_s;
	/* What it has done so far, of one that has started before. */
	int64_t ran_s, suspended_s;
	int64_t due_s; /* PREEMPT: when it was first passed by after a start was decided; 0: not
			*/
};

enum schedule_state { SCHEDULE_QUEUED, SCHEDULE_RUNNING, SCHEDULE_SUSPENDED };

struct schedule *schedule_free(struct schedule *s);
DEFINE_CLEANUP(struct schedule *, schedule_free)
/* -ENOMEM, -EINVAL: no such rule. */
int schedule_new(const struct schedule_config *c, struct schedule **ret);

/* Nodes are numbered from 0 in the order in which they are added. -EINVAL: negative amounts. */
int schedule_add_node(struct schedule *s, const struct schedule_node *n);
/* Nothing may run there from then on; what runs already is let be. 0: never. */
void schedule_set_closed(struct schedule *s, int32_t node, int64_t from_s);

/* A job that waits. *ret is its number here until it is removed. -EINVAL: no chunk, a negative
 * amount, an unknown queue or model. Jobs of equal priority go by submit_s, then by id. */
int schedule_add(struct schedule *s, const struct schedule_job *j, int32_t *ret);

/* One that runs or is suspended: on which node each of its chunks is, one by one (as many as
 * the sum of n). It may hold more than the node has: then nothing fits there until it ends. */
struct schedule_held {
	enum schedule_state state;
	const int32_t *nodes;
	int64_t since_s; /* in that state */
};
int schedule_add_held(struct schedule *s, const struct schedule_job *j,
		      const struct schedule_held *h, int32_t *ret);

/* It ended, or was withdrawn. */
void schedule_remove(struct schedule *s, int32_t job);
/* Between these two any number of jobs may be added and removed, and the lists are put in order
 * once, by the latter: for a schedule that is kept and follows what has changed elsewhere. No pass
 * in between. schedule_edit_end(): -ENOMEM, after which the schedule is of no use any more. */
void schedule_edit_begin(struct schedule *s);
int schedule_edit_end(struct schedule *s);
/* What a job that runs or is suspended has done by now_s, as somebody has measured it. Only within
 * an edit. */
struct schedule_times {
	int64_t ran_s, suspended_s, now_s;
};
void schedule_set_times(struct schedule *s, int32_t job, const struct schedule_times *t);
/* Are both the same, job by job (by id) and node by node, but for what they remember of passes?
 * If not, what differs, in words. For checks. */
bool schedule_is_same(const struct schedule *a, const struct schedule *b, char *ret,
		      size_t size);
void schedule_set_priority(struct schedule *s, int32_t job, int64_t priority);
/* Held back for now (by hand, a limit, a dependency): passes leave it out. */
void schedule_set_held_back(struct schedule *s, int32_t job, bool is_held_back);

enum schedule_what { SCHEDULE_START, SCHEDULE_RESUME, SCHEDULE_SUSPEND };
struct schedule_action {
	enum schedule_what what;
	int32_t job;
	int32_t by; /* SUSPEND: the job that gets the cores */
};
/* Decides, and takes it as done. The actions, in the order in which they must be carried out
 * (suspensions before what needs their cores), live until the next call. -ENOMEM: what the
 * actions say was decided, and no more. */
int schedule_pass(struct schedule *s, int64_t now_s, const struct schedule_action **ret,
		  size_t *ret_n);
/* The jobs whose start the last pass decided and withdrew; they live until the next one. */
const int32_t *schedule_withdrawn(const struct schedule *s, size_t *ret_n);

/* What became of a job. */
enum schedule_state schedule_state(const struct schedule *s, int32_t job);
const struct schedule_job *schedule_job(const struct schedule *s, int32_t job);
/* The node of each chunk, one by one; NULL: it holds none. */
const int32_t *schedule_nodes(const struct schedule *s, int32_t job, int32_t *ret_n);
int64_t schedule_ran_s(const struct schedule *s, int32_t job, int64_t now_s);
int64_t schedule_suspended_s(const struct schedule *s, int32_t job, int64_t now_s);

/* Why a job waits, as of the last pass. */
enum schedule_wait {
	SCHEDULE_NOT_ASKED, /* it came since */
	SCHEDULE_HELD_BACK,
	SCHEDULE_FIRST,	      /* nothing is before it, but it does not fit; its place is kept */
	SCHEDULE_BEHIND,      /* does not fit now, and others are before it */
	SCHEDULE_WOULD_DELAY, /* fits now, and would delay the job whose place is kept */
	SCHEDULE_NEVER,	      /* no node could hold it, were they empty and open */
};
struct schedule_why {
	enum schedule_wait wait;
	int32_t place, n; /* in the order of its queue (PREEMPT) or of all; from 0 */
	int32_t first;	  /* the job whose place is kept; -1: none */
	int64_t first_s;  /* when that one starts at the latest, by the limits */
};
void schedule_why(struct schedule *s, int32_t job, struct schedule_why *ret);
/* When it starts if all jobs run to their limits and none come: the passes of that future on a
 * copy. SCHEDULE_FOREVER: not within `max_passes`. -ENOMEM. */
int schedule_forecast(const struct schedule *s, int32_t job, int64_t now_s, int32_t max_passes,
		      int64_t *ret_s);
