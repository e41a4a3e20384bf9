/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schedule - decides which jobs start, are suspended or resume: nodes, jobs, and a pass over them.
 *
 * Pure: no clock, file or lock. The controller fills a schedule from its ledger and carries out
 * the actions of each pass (controller/dispatch); `reeve simulate` drives the same object with the
 * times of a trace.
 *
 * Times are whole seconds on any one clock; amounts are cores, bytes, and GPUs of a model. A job
 * requests chunks, each of which lies on one node; several may lie on the same node, unless the
 * job is scattered. A running job uses all that it requested; a suspended one all but the cores.
 * An exclusive job has whole nodes, also while it is suspended.
 *
 * The rule of a schedule is one of:
 *
 * SCHEDULE_PRIORITY
 *	Jobs start where they fit, in the order of priority, then of submission. The first that
 *	does not fit gets a reservation: the earliest moment at which it fits if all jobs run to
 *	their limits, and its nodes at that moment. Later jobs start if they fit now and do not
 *	delay that one (backfill).
 * SCHEDULE_FIFO
 *	The same without backfill: no job passes one that waits.
 * SCHEDULE_PREEMPT
 *	Shuffled queues, suspension and resumption: preempt/preempt.h.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct schedule;

enum schedule_rule { SCHEDULE_PRIORITY, SCHEDULE_FIFO, SCHEDULE_PREEMPT, _SCHEDULE_RULE_MAX };

#define SCHEDULE_MODELS_MAX 15 /* GPU models of a cluster, from 1; 0: whole ones of any model */
#define SCHEDULE_QUEUES_MAX 32
#define SCHEDULE_FOREVER INT64_C(4611686018427387903) /* a time that never comes */

struct schedule_config {
	enum schedule_rule rule;
	/* PREEMPT: by queue; jobs of a queue with a higher one may preempt those of a lower one. */
	int64_t run_priority[SCHEDULE_QUEUES_MAX];
	uint32_t slices; /* bit m: model m is a slice of a GPU (MIG), which `any` never means */
	/* PREEMPT: a job that has waited for longer gets the reservation, so that it does not
	 * starve; 0: never. */
	int64_t reserve_after_s;
	/* So many placements of one job are tried: at so many moments when a reservation is sought, and
	 * with so many jobs preempted. Then only at twice as many moments (or with twice as many
	 * jobs) each time, at the last, and at the moment that was reserved for it before: the
	 * reservation may be later than the earliest moment. A job of several kinds of chunks that
	 * asks for as much as one that did not fit is not tried in the same pass. 0: any number. */
	int32_t tries_max;
	/* Do the caller's limits let this job start now? Called for a job that fits, or would get
	 * the reservation. NULL: they let all. */
	bool (*may_start)(void *ctx, int64_t id);
	/* The pass has started a job, or has withdrawn that start. May be NULL. */
	void (*on_start)(void *ctx, int64_t id, bool is_withdrawn);
	void *ctx;
};

struct schedule_node {
	int64_t cores, mem_bytes, jobfs_bytes;
	uint64_t features;     /* bits of the caller's choice */
	bool is_open;	       /* takes jobs: up, not draining, not lost */
	int64_t closed_from_s; /* maintenance: nothing may run from then on; 0: never */
	int16_t gpus[SCHEDULE_MODELS_MAX + 1]; /* by model, from 1 */
};

struct schedule_chunk {
	int64_t cores, mem_bytes, jobfs_bytes;
	int32_t gpus, model; /* model 0: whole ones of any */
	int32_t n;	     /* so many chunks like this */
};

struct schedule_job {
	int64_t id;
	int32_t queue;			     /* index of run_priority */
	int32_t user, group;		     /* numbers of the caller's choice, from 0 */
	const struct schedule_chunk *chunks; /* copied */
	int32_t n_chunks;
	uint64_t features; /* all of its nodes must have these bits */
	bool is_exclusive, is_scattered;
	bool is_protected; /* never preempted */
	int64_t priority, submit_s, limit_s;
	int64_t ran_s, suspended_s; /* so far */
	/* PREEMPT: when a start of it was first decided and withdrawn; 0: never. */
	int64_t overdue_since_s;
};

enum schedule_state { SCHEDULE_QUEUED, SCHEDULE_RUNNING, SCHEDULE_SUSPENDED };

struct schedule *schedule_free(struct schedule *s);
DEFINE_CLEANUP(struct schedule *, schedule_free)
/* -ENOMEM; -EINVAL: there is no such rule, or a time is negative. */
int schedule_new(const struct schedule_config *c, struct schedule **ret);

/* Nodes are numbered from 0 in the order in which they are added. -EINVAL: a negative amount. */
int schedule_add_node(struct schedule *s, const struct schedule_node *n);
/* Nothing may run on the node from then on (0: never). Jobs that run there already stay. */
void schedule_set_closed(struct schedule *s, int32_t node, int64_t from_s);

/* Adds a queued job. *ret is its number in this schedule until it is removed. -ENOMEM; -EINVAL: no
 * chunk, a negative amount, an unknown queue or model. Jobs of equal priority are ordered by
 * submit_s, then by id. */
int schedule_add(struct schedule *s, const struct schedule_job *j, int32_t *ret);

/* Adds a job that runs or is suspended. `nodes` has the node of each of its chunks, one by one (as
 * many as the sum of n). It may use more than a node has: then nothing fits there until it ends. */
struct schedule_allocation {
	enum schedule_state state;
	const int32_t *nodes;
	int64_t since_s; /* when that state began */
};
int schedule_add_allocated(struct schedule *s, const struct schedule_job *j,
			   const struct schedule_allocation *h, int32_t *ret);

/* The job has ended, or was withdrawn. */
void schedule_remove(struct schedule *s, int32_t job);

/* Between these two any number of jobs may be added and removed, and no pass may run; the end puts
 * the lists in order, once. For a schedule that follows changes elsewhere. -ENOMEM: the schedule
 * can only be freed. */
void schedule_edit_begin(struct schedule *s);
int schedule_edit_end(struct schedule *s);
/* Within an edit: what a running or suspended job has done by now_s, by the caller's measurement. */
struct schedule_times {
	int64_t ran_s, suspended_s, now_s;
};
void schedule_set_times(struct schedule *s, int32_t job, const struct schedule_times *t);

/* For checks: are both the same, job by job (by id) and node by node, apart from what they cache
 * between passes? If not, `ret` is text that names the first difference. */
bool schedule_is_same(const struct schedule *a, const struct schedule *b, char *ret,
		      size_t size);
void schedule_set_priority(struct schedule *s, int32_t job, int64_t priority);
/* Passes leave a blocked job out: a queued one is not started, a suspended one not resumed. */
void schedule_set_blocked(struct schedule *s, int32_t job, bool is_blocked);

enum schedule_what { SCHEDULE_START, SCHEDULE_RESUME, SCHEDULE_SUSPEND };
struct schedule_action {
	enum schedule_what what;
	int32_t job;
	int32_t by; /* SUSPEND: the preemptor; else -1 */
};
/* How long to go on. has_time is called after each `every` units of work: an entry of the queue, a
 * node that a chunk is compared with; some ten nanoseconds. At least so much is done each time. */
struct schedule_budget {
	bool (*has_time)(void *ctx);
	void *ctx;
	uint32_t every;
};
/* Runs one pass, and changes the jobs' states as if its actions were carried out. The actions are
 * in the order in which they must be carried out (suspensions before the starts that need their
 * cores), and valid until the next pass. -ENOMEM: the actions listed were decided, no others. */
int schedule_pass(struct schedule *s, int64_t now_s, const struct schedule_action **ret,
		  size_t *ret_n);
/* The same in slices: it goes on from where it stopped, and decides the same. 1: no time was left; go on,
 * or drop it. In between no job may be added, removed or changed. */
void schedule_pass_begin(struct schedule *s, int64_t now_s);
int schedule_pass_go_on(struct schedule *s, const struct schedule_budget *b,
			const struct schedule_action **ret, size_t *ret_n);
/* Ends the pass, if one is under way. What it has decided so far stays in the schedule. */
void schedule_pass_drop(struct schedule *s);
/* Units of work of all passes and questions so far, for tests and benches. */
uint64_t schedule_work(const struct schedule *s);
/* The jobs whose start the last pass decided and withdrew; valid until the next pass. */
const int32_t *schedule_withdrawn(const struct schedule *s, size_t *ret_n);

/* The present state of a job. */
enum schedule_state schedule_state(const struct schedule *s, int32_t job);
const struct schedule_job *schedule_job(const struct schedule *s, int32_t job);
/* The node of each chunk, one by one; NULL: it is not allocated. */
const int32_t *schedule_nodes(const struct schedule *s, int32_t job, int32_t *ret_n);
int64_t schedule_ran_s(const struct schedule *s, int32_t job, int64_t now_s);
int64_t schedule_suspended_s(const struct schedule *s, int32_t job, int64_t now_s);

/* Why a queued job waits, as of the last pass. */
enum schedule_wait {
	SCHEDULE_NOT_CONSIDERED, /* it was added after the last pass */
	SCHEDULE_BLOCKED,	 /* by schedule_set_blocked(), or refused by may_start() */
	SCHEDULE_FIRST,		 /* it is first or has the reservation, and does not fit yet */
	SCHEDULE_BEHIND,	 /* it does not fit now, and others are before it */
	SCHEDULE_WOULD_DELAY,	 /* it fits now, and would delay the job with the reservation */
	SCHEDULE_NEVER,		 /* no nodes could hold it, were they empty and open */
};
struct schedule_why {
	enum schedule_wait wait;
	int32_t position, n; /* in the order of its queue (PREEMPT) or of all jobs; from 0 */
	int32_t first;	     /* the job that has the reservation; -1: none */
	int64_t first_s; /* the reserved time: it starts then at the latest, by the limits */
};
void schedule_why(struct schedule *s, int32_t job, struct schedule_why *ret);

/* When queued jobs start if all jobs run to their limits and none are added: the passes of that
 * future on a copy, one whenever jobs end. The copy shares nothing: another thread may go on with it. */
struct schedule_future;
int schedule_future_new(const struct schedule *s, int64_t now_s, struct schedule_future **ret);
struct schedule_future *schedule_future_free(struct schedule_future *f);
DEFINE_CLEANUP(struct schedule_future *, schedule_future_free)
/* Is called for each job that starts, by its id. false: the future ends. */
struct schedule_watcher {
	bool (*on_start)(void *ctx, int64_t id, int64_t at_s);
	void *ctx;
};
/* 1: no time was left; go on. 0: it has ended: no job runs, on_start() ended it, or max_passes were run in
 * all. -ENOMEM. */
int schedule_future_run(struct schedule_future *f, int32_t max_passes,
			const struct schedule_watcher *w, const struct schedule_budget *b);
