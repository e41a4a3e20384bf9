/* SPDX-License-Identifier: GPL-2.0-or-later */
/* env - the environment of a job's program, and of steps that are started in its other parts.
 *
 * Pure. The variables that the user submitted, and over them:
 * - those that Reeve sets (REEVE_..., PBS_..., TMPDIR, the GPUs' variables). They win. Where one
 *   does not apply its name is removed, so that nothing remains of a job from which this one was
 *   submitted;
 * - for jobs on several nodes, those that make an MPI use them (Open MPI, and MPICH's Hydra).
 *   There a value that the user chose wins, but not one that Reeve offered to another job.
 */
#pragma once
#include "agent/job/handshake/plan.h"

/* Names of the two files of node names in the job's directory, of jobs on several nodes:
 * $REEVE_NODEFILE and $PBS_NODEFILE. */
#define JOB_ENV_HOSTFILE "hostfile"
#define JOB_ENV_NODEFILE "nodefile"

/* "NAME=value", NULL-terminated; to be freed by job_env_free(). NULL: no memory. */
char **job_env(const struct job_plan *p);
char **job_env_free(char **env);
DEFINE_CLEANUP(char **, job_env_free)
