/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_sqlite - what the files of the ledger share; no other room includes it. */
#pragma once
#include "common/db/db.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/changes.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/usage/rollup/rollup.h"
#include "controller/ledger/identity.h"
#include "controller/ledger/store.h"
#include "controller/ledger/jobs/hold.h"

/* What the transaction under way has changed; passed to the listener after the commit (changes.h). */
struct rollup_set;
struct store_announced {
	struct store_changes changes;
	store_changes_fn fn;
	void *ctx;
};

/* What is collected until the commit, by usage/totals/ and usage/rollup/. */
struct store_totals {
	struct rollup_set *pending; /* NULL: nothing yet */
	struct rollup_set *days;    /* NULL: nothing in this transaction */
	int64_t months,
		first; /* of an allocation period: how many; the month of a year, from 0 */
};

/* Of what a view may read in one go (usage/totals/top.h). */
struct store_turn {
	int64_t until_ns; /* CLOCK_MONOTONIC; 0: no turn */
	bool has_read;
};

struct store {
	struct db *db;
	struct store_identity identity; /* identity.h */
	struct calendar *calendar;	/* of the zone that the ledger is kept in */
	int64_t settled; /* the event up to which ends were resolved; 0: none yet */
	int64_t *
		resolving; /* ended jobs whose dependents are resolved in batches (jobs/depend.c) */
	size_t n_resolving, resolved;
	int64_t unfolded;	   /* `settled` when arrays were last expanded; 0: not yet */
	bool has_folded;	   /* then some arrays had tasks without a row */
	int64_t gpu_idle_after_ns; /* attempts/gpus.h */
	int64_t max_requeues;	   /* nodes/lost.h */
	int64_t max_stored;	   /* jobs/stored.h */
	bool has_no_steps;	   /* that are open: steps/steps.c, are_open() */
	struct store_announced announced;
	struct store_totals totals;
	struct store_cluster_nodes *kept_nodes; /* nodes/kept.h */
	struct store_given_kept *given_kept; /* nodes/given/given_kept.h; NULL: nothing yet */
	struct store_heard *heard;	     /* nodes/heard.h; NULL: nothing yet */
	struct store_counted_waits *waits;   /* usage/queue_waits.h; NULL: nothing yet */
	int64_t n_touched;   /* how often an exchange changed what is not its node's alone */
	struct ranks *ranks; /* usage/ranks/ranks.c; NULL: not asked yet */
	struct store_turn turn;
	bool has_clock;		 /* attempts/bound/clock_step.h: */
	int64_t clock_offset_ns; /* of the wall clock and CLOCK_BOOTTIME */
};

extern const char *const store_migrations[];

void store_announced_start(struct store *s);
void store_announced_done(struct store *s);
/* Called in the transaction that writes a change which changes.h names, before or after. A job that was
 * not in the queue and is not now may be announced too: it costs one query. */
void store_announce_job(struct store *s, int64_t job);
/* The same of what its nodes are not asked for: how long it ran. */
void store_announce_figures(struct store *s, int64_t job);
void store_announce_nodes(struct store *s);
/* The tasks of an array that have rows and have not ended: before what ends them. */
int store_announce_tasks(struct store *s, int64_t array, struct err *err);

/* In the place of a day: see schema_2. */
#define STORE_NO_DAY (-1000000)
#define STORE_BASE_DAY (-1000001)

struct store_event {
	int64_t at_ns, job; /* job 0: about a node */
	const char *node, *what, *text;
};
/* The journal of what happened, in the transaction under way. */
int store_event(struct store *s, const struct store_event *e, struct err *err);
/* The same of events that have a job, gathered to be written together (db_rows_write()). */
struct db_rows store_event_rows(void);
int store_event_add(struct db_rows *rows, const struct store_event *e, struct err *err);

/* jobs.withheld: what keeps a queued job from being offered; 0: nothing. */
enum store_withheld {
	STORE_HELD_USER = 1,
	STORE_HELD_OPERATOR = 2,
	STORE_DEPENDS = 4,
	STORE_IS_ARRAY = 8,	 /* its elements are offered, not itself */
	STORE_COUNTED = 16,	 /* an element that has ended, counted in its array */
	STORE_NOT_ITS_TURN = 32, /* an element that has a row ahead of time */
	STORE_HELD = STORE_HELD_USER | STORE_HELD_OPERATOR,
	STORE_HELD_OR_DEPENDS = STORE_HELD | STORE_DEPENDS,
};

/* jobs.kept: how much of an ended job is still there (jobs/prune.c) */
enum store_kept { STORE_KEPT_NOTHING, STORE_KEPT_EVENTS, STORE_KEPT_ALL };

/* depends.met */
enum store_depend {
	STORE_DEPEND_OPEN,
	STORE_DEPEND_MET,
	STORE_DEPEND_MOOT, /* the job that waited has ended */
};

/* All in the transaction under way. The first number that no job and no element has. */
int store_new_numbers(struct store *s, int64_t *ret, struct err *err);
/* The row of a job whose number is chosen: queued, with all that hangs on it. */
int store_submit_numbered(struct store *s, const struct store_new *n, int64_t job,
			  struct err *err);
/* The row of the array `job`, whose elements have the numbers behind it. */
int store_array_add(struct store *s, int64_t job, const struct array *a, struct err *err);
/* What a new job waits for. */
int store_depends_add(struct store *s, int64_t job, const struct store_new *n, struct err *err);
int store_hold_add(struct store *s, const struct store_hold *h, struct err *err);
/* Sets the desired state of all tasks of an array. */
int store_array_set_desired(struct store *s, const struct store_desired_change *w,
			    struct err *err);
/* The tasks without a row will never have one: they are counted as dropped. */
int store_array_drop(struct store *s, int64_t job, struct err *err);
/* A task has ended: counts it, once. 1: it was the last one, and its array has ended now. */
struct store_element {
	int64_t job, array, now_ns;
	bool is_well;
};
int store_array_count(struct store *s, const struct store_element *e, struct err *err);
/* Ends an array whose tasks have all ended or were dropped. 1: it ended now. */
int store_array_close(struct store *s, int64_t job, int64_t now_ns, struct err *err);
/* The end of a job that never started, as it is kept. malloc()ed. */
struct store_end {
	enum job_end_kind kind;
	const char *text;
	int64_t at_ns;
};
int store_end_encode(const struct store_end *e, char **ret, struct err *err);

/* One report of one attempt, in the transaction under way. */
struct store_known;
struct store_report_rows;
struct store_report_case {
	const struct report *report;
	const char *node;
	int64_t now_ns;
	bool may_adopt;			  /* store_restored_adopt() */
	const struct store_known *loaded; /* attempts/known.h; NULL: it is to be read */
	struct store_report_rows
		*rows; /* attempts/report_rows.h; NULL: all is written at once */
	/* It is made of what Slurm says (slurm/rule.h), not by the agent: it has no sequence number, and an end that it
	 * brings can still be replaced by the agent's. */
	bool is_followed;
	struct report
		believed;    /* the copy that `report` points to where its time was bounded */
	struct sync_ack ack; /* filled when accepted or known */
	struct sync_usage_delta gain; /* filled when something ran: running_ns is not 0 */
	struct sync_refusal refusal;  /* filled when refused */
	bool is_plain;		      /* it moves figures, and nothing else */
	bool is_new, has_freed;
	bool affects_others; /* the desired state on the job's other nodes has changed */
	/* Of one that brought something new: */
	int32_t part;		  /* of a job on several nodes; else -1 */
	enum job_state job_state; /* after it */
	int64_t gpu_idle_ns;	  /* of all the job's nodes; -1: not told */
};
enum store_report_outcome {
	STORE_REPORT_ACK = 1,
	STORE_REPORT_REFUSED = 2,
	STORE_REPORT_EARLY = 3, /* neither: the node says it again */
};
/* An outcome above, or < 0. */
int store_report(struct store *s, struct store_report_case *c, struct err *err);

/* Adds the new part of a chunk; *ret_have: everything before this offset is kept or dropped
 * by intent. -ENOENT: the attempt was not given to this node. */
int store_output_add(struct store *s, const char *node, const struct sync_output *o,
		     int64_t *ret_have, struct err *err);

/* Ends an attempt by the controller's decision. */
struct store_loss {
	int64_t job, now_ns;
	int32_t attempt, part;
	const char *node, *text;
};
#define STORE_REQUEUED 1 /* and the job is in the queue again */
int store_end_lost(struct store *s, const struct store_loss *l, struct err *err);

/* 1: the job is to be queued again when this attempt is lost; text: the end of the sentence about it, or
 * "". */
int store_may_requeue(struct store *s, const struct store_loss *l, char text[static 128],
		      struct err *err);
/* Queues the job again, after the attempt's loss has been written; the attempt is void. */
int store_requeue(struct store *s, const struct store_loss *l, struct err *err);

/* In the transaction under way. -ESTALE: something later of the node is known. */
struct store_boot;
/* `known`: nodes/heard.h; NULL: it is read. */
int store_check_sync_number(struct store *s, const struct sync *in,
			    const struct store_boot *known, int64_t now_ns, struct err *err);

/* attempts.closed */
enum store_closed {
	STORE_OPEN,
	STORE_FINAL, /* the node's final report is in */
	STORE_LOST,  /* ended by the controller; the node's final report still counts */
	STORE_VOID,  /* the same, and nothing that the node says of it counts any more */
};

/* Where an attempt's figures fall: the attempt's columns of these names. */
struct store_days {
	int64_t job;
	int32_t attempt;
	int64_t usage_day;
	bool is_sliced;
	bool has_moved,
		has_started; /* usage_day and is_sliced, or started_day, are to be written */
	int64_t started_day;
	struct rollup so_far; /* the attempt's figures: moved on by store_slice() */
	/* Where slices are gathered, and the caller writes what has moved and started with the attempt; NULL: all is written at once. */
	struct db_rows *slices;
};
struct db_rows store_slice_rows(void);
/* A day gained `gained` on top of what there is so far: keeps the one day of the attempt, or
 * slices it from now on. In the transaction under way. */
int store_slice(struct store *s, struct store_days *d, int64_t day, const struct rollup *gained,
		struct err *err);
/* After the days of a report: the attempt's own columns, where they have changed. */
int store_usage_day(struct store *s, const struct store_days *d, struct err *err);
/* The attempt was counted as started, or ended, on that day. */
enum store_mark { STORE_MARK_STARTED, STORE_MARK_ENDED };
int store_mark(struct store *s, struct store_days *d, enum store_mark which, int64_t day,
	       struct err *err);

/* Rows of given jobs are read so many at a time: job IN (STORE_SOME_PARAMETERS). */
#define STORE_SOME 32
#define STORE_SOME_PARAMETERS                                                                  \
	"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "    \
	"?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32"
/* The numbers from `first` on as these parameters, the last one again where there are fewer. */
const struct db_ints *store_some(const struct store_these *these, size_t first,
				 int64_t buf[static STORE_SOME], struct db_ints *ret);

/* Text column, "" for NULL. */
const char *store_text(struct db_row *st, int column);
