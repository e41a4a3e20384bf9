/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.h - the table of steps (`reeve exec`) on this node, and the decisions about them.
 *
 * Pure: orders and observations in, decisions out. step/steps.c observes and acts.
 *
 *	ASKED     its waiter is to begin (agent/launch/step/step.h)
 *	RUNS      it has
 *	DRAINS    it has ended; the controller has not all of its output yet
 *	OVER      reported as ended, until the controller has committed that
 *
 * Nothing here is saved: orders are repeated until they are fulfilled, and a step that was begun is found again by its
 * files.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include "agent/launch/step/step.h"
#include "agent/report/sync.h"
#include "common/err.h"

#define STEP_OPEN_MAX 1000   /* of a job that have not ended */
#define STEP_TABLE_MAX 20000 /* of a node, all in all, refused ones aside */
/* Of a user: refusals that the controller has not committed yet. */
#define STEP_REFUSED_MAX 1000
#define STEP_FILE_MAX 80 /* name of a file of a step, with the NUL */

enum step_phase { STEP_IS_ASKED, STEP_RUNS, STEP_DRAINS, STEP_IS_OVER };

struct step_stream {
	int64_t acked; /* the controller has all before this */
	int64_t size;  /* when it DRAINS: to be sent; what comes later is not the step's */
	bool is_taken; /* all of that, and the controller knows that nothing follows */
	sd_event_source *watch;
};

struct step {
	struct step *next;
	struct sync_step_id id;
	enum step_phase phase;
	int64_t asked_ns;    /* CLOCK_BOOTTIME */
	bool is_cancelled;   /* it is to end */
	bool is_signalled;   /* its waiter got SIGTERM */
	bool has_files;	     /* it was begun, or may have been */
	bool is_interactive; /* has a console (console.h); known from its spec */
	bool is_main;	     /* its job ends with it; known from its spec */
	bool is_refused;     /* listed only for its end to be reported */
	uint32_t uid;	     /* of its job */
	struct step_stream streams[2];
	struct step_end end;
};

struct step_table {
	struct step *first; /* by job, then number */
	size_t n;
};

bool step_id_is_equal(struct sync_step_id a, struct sync_step_id b);
struct step *step_find(const struct step_table *t, struct sync_step_id id);
/* In its place. NULL: no memory. It must not be there. */
struct step *step_add(struct step_table *t, struct sync_step_id id);
void step_remove(struct step_table *t, struct step *s);
/* Of this attempt, that have not ended. */
size_t step_count_open(const struct step_table *t, struct sync_step_id id);
bool step_is_open(const struct step *s);
/* Over as could not be started. The words may be cut. */
void step_fail(struct step *s, const char *why);
/* Over as its end says; -EBADMSG: that is none. Then also over, in these words. */
int step_take_end(struct step *s, const struct step_end *end);

/* How the job of an order is here. */
enum step_job {
	STEP_JOB_NONE,	  /* it is not */
	STEP_JOB_STARTS,  /* not yet */
	STEP_JOB_RUNS,	  /* runs, or is suspended */
	STEP_JOB_NO_DISK, /* the same, but there is nowhere to keep output */
	STEP_JOB_ENDS,
};
/* The user and the job of an order. */
struct step_asker {
	enum step_job job;
	uint32_t uid;
};
enum step_act { STEP_DO_NOTHING, STEP_DO_START, STEP_DO_CANCEL, STEP_DO_REFUSE };
/* What an order asks for. Of STEP_DO_REFUSE `ret_why` says why, to be told as its end.
 *
 * The table is shared by user: a user may add while the steps of their jobs are fewer than what
 * is free of it. So one user alone gets half of the table, two users get a third
 * each, and the next one finds room. Within that a job has STEP_OPEN_MAX. */
enum step_act step_decide(const struct step_table *t, const struct sync_step_order *o,
			  struct step_asker who, struct err *ret_why);

/* What was seen of one that was asked for. */
struct step_sight {
	bool has_end;	 /* the record of its end is there */
	bool has_waiter; /* a process holds its lock */
	bool has_begun;	 /* a waiter has claimed it */
	bool is_late;	 /* it was asked for long ago */
};
enum step_move {
	STEP_STAYS,
	STEP_BEGINS,	  /* now RUNS */
	STEP_ENDS,	  /* its end is to be read */
	STEP_IS_LOST,	  /* its waiter was killed: how it ended is not known */
	STEP_NEVER_BEGAN, /* to be given up, unless a waiter is just about to begin */
};
enum step_move step_look(const struct step *s, struct step_sight sight);

/* "12-1-3": names of its files, and of its unit. */
const char *step_format_name(struct sync_step_id id, char buf[static STEP_FILE_MAX]);
/* The whole of `name` but for a `*ret_rest` ("" or ".end"). -EINVAL. */
int step_parse_name(const char *name, struct sync_step_id *ret, const char **ret_rest);
