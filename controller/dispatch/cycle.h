/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycle - one scheduling cycle of a cluster: brings the schedule in memory up to date with the
 * ledger, runs a pass (controller/scheduler), and carries out what it decides.
 *
 * The profile's Scheduler= names the rule. Jobs are in the order of their priorities where the
 * profile weighs anything (PriorityWeight...), else in the order of submission. Jobs that limits or
 * quotas hold back are passed over.
 *
 * A start that needs the cores of other jobs is a pending start (pending_start.h) until these are
 * suspended.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct accounts;
struct err;
struct schedule_budget;
struct sharetree;
struct store;
struct workers;
struct cycle;

/* The store and the share tree are used until cycle_free(). */
int cycle_new(struct store *s, struct sharetree *sharetree, struct cycle **ret,
	      struct err *err);
struct cycle *cycle_free(struct cycle *c);
/* Forecasts that take long are computed by workers, which are drained before cycle_free(). NULL: none. */
void cycle_set_workers(struct cycle *c, struct workers *w);
/* Workers that compute forecasts end at once. */
void cycle_stop(struct cycle *c);
/* The configuration has changed: the next cycles read everything again. Pending starts stay. */
void cycle_reload(struct cycle *c);
DEFINE_CLEANUP(struct cycle *, cycle_free)

enum cycle_action { CYCLE_ALLOCATED, CYCLE_SUSPENDED, CYCLE_RESUMED };
/* One event for each node of the job, its first node first. */
struct cycle_event {
	enum cycle_action action;
	int64_t job;
	const char *node;
	bool is_further_node; /* not the job's first node */
	int64_t by;	      /* of a suspension: the preemptor; else 0 */
};
typedef void (*cycle_event_fn)(void *ctx, const struct cycle_event *e);

/* One cycle over a cluster. on_event is called after the ledger has what was decided. An error
 * drops what is in memory: the next cycle reads everything again. */
struct cycle_run {
	const char *cluster;
	int64_t now_ns;
	cycle_event_fn on_event; /* NULL: none */
	void *ctx;
	const struct accounts
		*accounts; /* limits and quotas; NULL: none. For this cycle alone */
};
int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err);
/* The same in slices, so that other work is done in between: the ledger may change meanwhile. cycle_begin() reads what
 * is new, cycle_go_on() runs the pass and then carries out what it decided, as far as that still holds: a job that
 * was written meanwhile does not start (the next cycle reads it again), nor does one on a node that takes no jobs
 * any more. The run is copied but for what it points to. 1: go on; 0: the cycle is done. */
int cycle_begin(struct cycle *c, const struct cycle_run *run, struct err *err);
int cycle_go_on(struct cycle *c, const char *cluster, const struct schedule_budget *b,
		struct err *err);
/* What the last cycle of a cluster left, for the log; all 0 where none has run. */
struct cycle_summary {
	size_t queued, allocated; /* jobs that wait; jobs on nodes */
	size_t limited;		  /* of those that wait, held back by limits or quotas */
	size_t pending;		  /* starts that wait for cores */
	bool is_dropped;	  /* everything may have changed meanwhile: run another */
};
void cycle_summarize(const struct cycle *c, const char *cluster, struct cycle_summary *ret);
/* Is it decided that the job starts, as soon as the jobs that it preempts are suspended? */
bool cycle_is_starting(const struct cycle *c, const char *cluster, int64_t job);
/* May time alone let a job start? Either limits or a quota held one back in the last cycles, which
 * a new month, a raised quota or a refund ends although no job ends. Or jobs wait under the rule
 * that suspends: their right to preempt others grows with time. */
bool cycle_may_start_by_time(const struct cycle *c);
