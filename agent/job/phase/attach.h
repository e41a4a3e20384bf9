/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach.h - attach a job to the kernel side that limits and measures it, before it runs; detach it afterwards.
 *
 * The user's processes are in a cgroup "work" below the unit's. So vmem never counts what systemd itself runs in the
 * unit, and cgroup.kill of "work" ends the job without ending the writer of its final record.
 */
#pragma once
#include "agent/job/job.h"

#define JOB_WORK_CGROUP "work"

/* `pid` is the launcher, which is moved into "work"; 0 after a restart of the agent. Reads the limits of cores,
 * memory and processes back from the kernel. 0, or < 0 with the reason why the limits of this job are not in force.
 * Idempotent. */
int job_attach(struct node *n, struct job *j, int32_t pid, struct err *err);
/* Of a job of Slurm or PBS: put what is in its steps, or in "work", at the moment under its limits. A part of job_attach(), and needed again for
 * each new step. -E2BIG: more steps at once than can be guarded; the new one must not run. */
#define JOB_STEPS_MAX 1024
int job_attach_steps(struct node *n, struct job *j, struct err *err);
/* After a restart, for a job whose cgroup may be gone: find its entry in the vmem table by its job id, so that the
 * latched excess and the peak can be read and the entry removed. */
void job_attach_remains(struct node *n, struct job *j);
void job_detach(struct node *n, struct job *j);
/* Has the kernel applied the cores of j->s.cpus? 1 yes, 0 not yet. */
int job_cpus_in_force(const struct job *j);
/* Read the frozen time from the kernel into the job's clock, and whether the job is frozen now. */
void job_sync_clock(struct node *n, struct job *j);
