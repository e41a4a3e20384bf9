/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps_impl.h - shared by steps.c, spawn.c, output.c and paths.c alone. */
#pragma once
#include "agent/step/steps.h"

struct steps_cursor { /* of steps_output_next() */
	struct step *at;
	int stream, index;
};

struct steps {
	struct node *node;
	struct step_table table;
	char dir[600];
	sd_event_source *files; /* notifications of dir */
	struct sync_step *told; /* steps_describe()'s list */
	struct steps_cursor cursor;
	struct step_consoles *consoles;
};

#define STEPS_PATH_MAX 800
/* "DIR/12-1-3" + `suffix` */
const char *steps_path(const struct steps *all, struct sync_step_id id, const char *suffix,
		       char buf[static STEPS_PATH_MAX]);
struct job *steps_job(const struct steps *all, const struct step *s);

/* step/spawn.c: writes the spec of an order, which its user signed at `signed_s` (real time; 0: not known). -errno with the sentence for
 * the user. */
int steps_write_spec(struct steps *all, struct job *j, const struct sync_step_order *o,
		     int64_t signed_s, struct err *err);
/* Has the waiter of a written spec started; again, if need be. */
int steps_spawn(struct steps *all, const struct step *s, struct err *err);

/* step/output.c: NULL: the job has no disk any more. */
const char *steps_output_path(const struct job *j, const struct step *s, int stream, char *buf,
			      size_t size);
void steps_output_watch(struct steps *all, struct step *s);
/* The controller has all before ack->offset. The step, NULL: none here. */
struct step *steps_output_set_acked(struct steps *all, const struct sync_output_ack *ack);
/* It ended: what is there now is its output. */
void steps_output_fix(struct steps *all, struct step *s);
/* Is all of it taken, or gone? */
bool steps_output_is_taken(struct steps *all, struct step *s);
void steps_output_remove(struct steps *all, struct step *s);
