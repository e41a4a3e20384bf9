/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scontrol.h - run Slurm's own commands for a job: scontrol and scancel. The agent does not wait for them, and logs failures. */
#pragma once
#include "agent/job/job.h"

/* The first line of `text` becomes the job's AdminComment, which `scontrol show job` and `sacct -o AdminComment` show. slurmctld takes it of a job that
 * runs and of no other: j->is_commenting is set until it has, and the answer to EXIT, for which slurmstepd waits, is sent after that, or after 10 s. */
void scontrol_comment(struct job *j, const char *text);
/* End the job also where no process of it is left to be killed (salloc). */
void scontrol_cancel(struct job *j);
