/* SPDX-License-Identifier: GPL-2.0-or-later */
/* save.h - save jobs to the store, and what happens while the store fails.
 *
 * A failing store (a full disk, an I/O error) never prevents a job from being killed, ended and reported. Only
 * starting and resuming wait until the job is saved, because an agent that died after that would not know of it.
 * Meanwhile a note of the node says why, and that the node takes no new jobs.
 */
#pragma once
#include "agent/job/job.h"

/* Write the job to the store. < 0: each tick retries. */
int job_save(struct job *j, struct err *err);
/* The same without a sync (db_lazy()): for what a job whose processes a power cut has ended can be without, or what
 * is saved again with a sync at once. A job that may have been started is not of these: a node that does not know of it would
 * start it again. */
int job_save_lazy(struct job *j, struct err *err);
/* The same in two calls, for a caller with a transaction: write the row, then record the result. */
int job_save_row(struct job *j, struct err *err);
void job_save_done(struct job *j, int result, const struct err *err);
/* The row and the signature that the job was started on; and when that is committed. */
int job_save_with_start(struct job *j, struct err *err);
void job_save_start_done(struct job *j);
/* The job is settled: delete its row, with those of others, at the next tick or sooner. */
void job_save_forget(struct node *n, struct manager_id id);
/* Bring the store up to what was settled and acknowledged. < 0: each tick retries. */
int job_save_flush(struct node *n, struct err *err);
/* 0: no row is left of an attempt that was settled before; < 0: it cannot be deleted. */
int job_save_is_forgotten(struct node *n, struct manager_id id, struct err *err);
/* Each SampleInterval: retry what could not be saved. */
void job_save_tick(struct node *n);
void job_save_close(struct node *n);
