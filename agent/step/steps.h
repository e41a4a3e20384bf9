/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps.h - steps on this node: start their waiters, watch their files, send their output. Decisions are in step.h.
 *
 * RUN/steps (of root) has for each step that was begun, named JOB-ATTEMPT-STEP:
 *	JOB-ATTEMPT-STEP	the spec; its waiter holds a lock on it as long as it lives, and makes it
 *				read-only once it has begun
 *	JOB-ATTEMPT-STEP.end	how the step ended
 * So a restarted agent finds what runs and what has ended, and starts nothing twice. Output is in
 * DISK/steps/STEP.out and .err on the job's disk, within its limit, until the controller has it.
 */
#pragma once
#include "agent/job/job.h"
#include "agent/step/step.h"

struct steps;

/* Recover the steps that an earlier agent left, of jobs that are here. After job_phases_open(). */
int steps_open(struct node *n, struct err *err);
/* Free the table; steps continue. */
void steps_close(struct node *n);
/* Each SampleInterval: check for events that were lost. */
void steps_tick(struct node *n);

/* From the controller's answers. */
void steps_order(struct node *n, const struct sync_step_order *o);
void steps_ack(struct node *n, struct sync_step_id id);
void steps_output_acked(struct node *n, const struct sync_output_ack *ack);
/* For its next request: pieces of output as uplink_config.next_output has them, and the list,
 * valid until the next call. */
int steps_output_next(struct node *n, int index, struct sync_output *ret);
size_t steps_describe(struct node *n, struct sync_step **ret);

/* The manager's answer to a start for this job. */
void steps_spawned(struct node *n, struct manager_id job, int result, const struct err *err);
/* Has the controller committed the ends of all that was started in this job? */
bool steps_are_told(const struct node *n, const struct job *j);
/* The job is forgotten, and its steps with it. */
void steps_drop(struct node *n, const struct job *j);
