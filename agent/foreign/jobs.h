/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.h - what jobs of Slurm and of PBS have in common on this node: another program starts them and owns their processes, the agent puts limits
 * in force before they run, measures them, and ends those that exceed a limit.
 *
 *	UNIT     in the table, saved, with its disk
 *	RUNNING  guarded, from its first task on
 *	FINAL    the end that the agent has latched, or the status that the batch system tells; then as for other jobs (agent/job/phases.c)
 */
#pragma once
#include "agent/job/job.h"

/* Makes the disk that a new job requests; one that requests none has none. */
int foreign_make_disk(struct node *n, struct job *j, struct err *err);
/* Of a new job whose request is filled in: makes its disk, saves it, enters PHASE_UNIT. < 0: it has failed. */
int foreign_begin(struct node *n, struct job *j, struct err *err);
/* Ends the attempt of this job that has not ended: the batch system starts it again. */
void foreign_end_stale(struct node *n, int64_t job, const char *note);
/* False: the cgroup that it was attached to has gone, also where one of the same path was made again: an id of a cgroup is never
 * used twice. */
bool foreign_is_same_cgroup(const struct job *j);
/* Every limit of the job is in force on what is in its cgroup now. */
int foreign_guard(struct node *n, struct job *j, struct err *err);
/* Its first task is about to run. Nothing happens where it runs already. */
void foreign_begin_running(struct node *n, struct job *j);
/* The sentence of the end that is latched. */
void foreign_format_end(const struct job *j, char *buf, size_t size);
/* Enters PHASE_FINAL, with the status that the batch system gave where Reeve has ended nothing. */
void foreign_end(struct node *n, struct job *j);
/* What the controller needs to know of each job in the table (common/wire/sync.h). *ret is one realloc()ed before, or
 * NULL. -ENOMEM. */
int foreign_describe(const struct node *n, struct sync_slurm_job **ret, size_t *ret_n);
/* The same of one job. */
void foreign_describe_job(const struct job *j, struct sync_slurm_job *ret);
