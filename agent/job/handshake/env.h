/* env - the environment of a job's program, and of what is started in its other parts.
 *
 * Pure. What the user sent along, and over it:
 * - what Reeve tells (REEVE_..., PBS_..., TMPDIR, the GPUs' variables): it wins, and where it
 * does not apply the name is left out, so that nothing stays of a job from which this one was
 *   submitted;
 * - of jobs on several nodes, what makes an MPI use them (Open MPI, and MPICH's Hydra): there
 * the user's own value wins, but not one that another job was given by us.
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
