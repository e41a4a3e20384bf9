/* save.h - what survives the agent, and what is done while it cannot be saved.
 *
 * A store that fails (a full disk, an I/O error) never keeps a job from being killed, ended and
 * reported: only starting and resuming wait until the job is saved, because an agent that died
 * after that would not know of it. Meanwhile the node says why, and that it takes no new jobs.
 */
#pragma once
#include "agent/job/job.h"

/* Write what is known of the job to the store. < 0: each tick tries it again. */
int job_save(struct job *j, struct err *err);
/* The same in two steps, for a caller with a transaction: the row, and what became of that. */
int job_save_row(struct job *j, struct err *err);
void job_save_done(struct job *j, int result, const struct err *err);
/* The job is settled: its row goes, now or as soon as the store takes that. */
void job_save_forget(struct node *n, struct manager_id id);
/* Each SampleInterval: tries again what could not be saved. */
void job_save_tick(struct node *n);
void job_save_close(struct node *n);
