/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start.h - from a new job to a unit that waits for its plan. */
#pragma once
#include "agent/job/job.h"

/* PREPARE: admission, cores, memory, jobfs. Enters UNIT, or FINAL with the reason and the number that is missing. */
int job_prepare(struct node *n, struct job *j);
/* Makes the job's directory with its quota; one that an agent left half made is made again. Nothing where it is made
 * already. n->jobfs must be open. */
int job_make_jobfs(struct node *n, struct job *j, struct err *err);
/* UNIT: starts the unit. The launcher in it then connects to handshake/handshake.c. */
int job_start_unit(struct node *n, struct job *j);
/* The manager's answer to it. */
void job_on_unit_started(struct job *j, int result, const struct err *err);

/* What is allocated to jobs on this node; caller frees *ret. `except` may be NULL. */
int job_list_allocations(struct node *n, const struct job *except,
			 struct admit_allocation **ret, size_t *ret_n);
/* Allocate free cores to the job, in j->s. 0, PLACE_NO_ROOM, -ENOMEM. */
int job_place(struct node *n, struct job *j);
