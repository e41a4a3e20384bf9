/* jobs.h - the life of a job of Slurm on this node, from the questions that the plugin sends (common/wire/slurm.h):
 *
 *	BEGIN   UNIT     in the table, saved, with its disk
 *	TASK    RUNNING  guarded: address space of all steps, disk, processes outside its reach; measured
 *	END     FINAL    the end that the agent has latched, or the status of its last task; then as for other jobs (agent/job/phases.c)
 *
 * The peer of STEP, TASK and EXIT must be a slurmstepd in a cgroup of that very job.
 */
#pragma once
#include "agent/job/job.h"
#include "common/wire/slurm.h"

/* Each fills the answer, which is "go" before. `peer`: pid of the process that sent the question. */
void slurm_jobs_begin(struct node *n, const struct slurm_question *q, struct slurm_answer *ret);
void slurm_jobs_step(struct node *n, const struct slurm_question *q, int32_t peer,
		     struct slurm_answer *ret);
void slurm_jobs_task(struct node *n, const struct slurm_question *q, int32_t peer,
		     struct slurm_answer *ret);
void slurm_jobs_exit(struct node *n, const struct slurm_question *q, int32_t peer,
		     struct slurm_answer *ret);
/* True: scontrol is writing the reason of the end to slurmctld, and the answer must wait for it. */
bool slurm_jobs_is_commenting(struct node *n, const struct slurm_question *q);
void slurm_jobs_end(struct node *n, const struct slurm_question *q);
/* After END: is its disk gone, and its last report written? */
bool slurm_jobs_is_over(struct node *n, const struct slurm_question *q);
/* What the controller needs to know of each job in the table (common/wire/sync.h). *ret is one realloc()ed before, or
 * NULL. -ENOMEM. */
int slurm_jobs_describe(const struct node *n, struct sync_slurm_job **ret, size_t *ret_n);
/* Each second: sees which jobs Slurm has suspended or resumed, and ends jobs whose Epilog was lost. */
void slurm_jobs_tick(struct node *n);
