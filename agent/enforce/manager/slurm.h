/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.h - the cgroups that slurmd makes for a job, as Slurm's cgroup/v2 plugin lays them out:
 *
 *	SCOPE/job_12/step_batch/slurm		slurmstepd, as root
 *	SCOPE/job_12/step_batch/user/task_0	what the user runs
 *	SCOPE/job_12/step_0/..., step_extern/...
 *
 * The agent makes none and moves no process: Slurm owns cores, memory and processes. It kills what is in "user", never slurmstepd, which must tell
 * slurmctld how its step ended.
 */
#pragma once
#include "agent/enforce/manager/manager.h"

#define SLURM_USER_DEPTH 2 /* of step_X/user below job_12 */

/* Open directories of the "user" cgroups of all steps of the job whose cgroup is `job_path`; the caller closes them.
 * Returns how many, 0: the job is gone. -E2BIG: more than `max`; none is open then. */
int slurm_open_steps(const char *job_path, int *ret_fds, int max);
/* SIGKILL to all processes of the user, in all steps. -errno of the first write that failed; the other steps were killed all the same. */
int slurm_kill_steps(const char *job_path);
/* How many steps of the job are frozen: slurmd freezes those of a job that it suspends one by one. */
uint32_t slurm_count_frozen(const char *job_path);
/* The scope has another path than was thought when the manager was opened: the kernel has shown a step there. */
void slurm_set_scope(struct manager *m, const char *path);
