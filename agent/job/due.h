/* SPDX-License-Identifier: GPL-2.0-or-later */
/* due.h - when a job is acted on, and when its clock is looked at: one timer of the event loop for all jobs of
 * the node, because one event source a job needs more memory than the rest of struct job.
 *
 * The timer calls on_due() for one entry at a time, the one that is due longest; between two entries the event
 * loop may run sources of a higher priority.
 */
#pragma once
#include "agent/job/job.h"

/* Something is due of a job; the call may free it. */
typedef void (*job_due_fn)(struct node *n, struct job *j, enum job_due what);

/* Before the first job. -ENOMEM. */
int job_due_open(struct node *n, job_due_fn on_due, struct err *err);
/* At CLOCK_BOOTTIME `at_ns`, in place of what was set before; JOB_DUE_NEVER: not at all. */
void job_due_set(struct job *j, enum job_due what, int64_t at_ns);
/* After the last job. */
void job_due_close(struct node *n);
