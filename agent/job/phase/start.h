/* start.h - from an order to a unit that waits for its plan. */
#pragma once
#include "agent/job/job.h"

/* PREPARE: admission, cores, memory, jobfs. What the node cannot hold ends the job with the
 * number that is missing. Goes to UNIT, or to FINAL with a reason. */
int job_prepare(struct node *n, struct job *j);
/* UNIT: makes the unit. The launcher in it comes to handshake/handshake.c by itself. */
int job_start_unit(struct node *n, struct job *j);
/* The manager's answer to that. */
void job_on_unit_started(struct job *j, int result, const struct err *err);

/* All that jobs hold of the node now; caller frees *ret. `except` may be NULL. */
int job_list_allocations(struct node *n, const struct job *except,
			 struct admit_allocation **ret, size_t *ret_n);
/* Cores for the job out of those free now, into j->s. 0, PLACE_NO_ROOM, -ENOMEM. */
int job_place(struct node *n, struct job *j);
