/* due.h - when a job is to be acted on, and when its clock is to be looked at: one timer of
 * the event loop for all jobs of the node, since a source for each weighs more than the rest of
 * what is kept of a job.
 *
 * One job has its turn at a time, the one that is longest due; between two of them the event
 * loop may do what is more urgent.
 */
#pragma once
#include "agent/job/job.h"

/* At CLOCK_BOOTTIME `at_ns`, in place of what was set before; JOB_DUE_NEVER: not at all. */
void job_due_set(struct job *j, enum job_due what, int64_t at_ns);
/* After the last job. */
void job_due_close(struct node *n);
