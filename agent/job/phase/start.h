/* start.h - from an order to a unit that waits for its plan. */
#pragma once
#include "agent/job/job.h"

/* PREPARE: admission, cores, memory, jobfs. What the node cannot hold ends the job with the
 * number that is missing. Goes to UNIT, or to FINAL with a reason. */
int job_prepare(struct node *n, struct job *j);
/* UNIT: makes the unit. The launcher in it comes to handshake/gate.c by itself. */
int job_make_unit(struct node *n, struct job *j);
/* The manager's answer to that. */
void job_unit_made(struct job *j, int result, const struct err *err);

/* All that jobs hold of the node now; caller frees *ret. `except` may be NULL. */
int job_holds(struct node *n, const struct job *except, struct admit_hold **ret, size_t *ret_n);
/* Cores for the job out of those free now, into j->s. 0, PLACE_NO_ROOM, -ENOMEM. */
int job_place(struct node *n, struct job *j);
