/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.h - the life of a job of Slurm on this node (agent/foreign/jobs.h), as the plugin tells it (common/wire/slurm.h): PHASE_UNIT with BEGIN,
 * PHASE_RUNNING with the first TASK, PHASE_FINAL with END.
 *
 * The peer of STEP, TASK and EXIT must be a slurmstepd in a cgroup of that very job.
 */
#pragma once
#include "agent/job/job.h"
#include "common/wire/slurm.h"

/* Each fills the answer, which is "go" before. `peer`: pid of the process that sent the question. */
/* 1: the attempt runs once more, and what is left of its run before keeps it from that: to be asked again. `waited_ns`: since the
 * question came. */
int slurm_jobs_begin(struct node *n, const struct slurm_question *q, int64_t waited_ns,
		     struct slurm_answer *ret);
/* Before STEP and TASK, of an attempt that slurmd starts without a Prolog (ended.h): it begins with the limits of the one before. 1: to be
 * asked again, since slurmctld is to say which attempt it is, or something is left of its run before. */
int slurm_jobs_begin_again(struct node *n, const struct slurm_question *q, int32_t peer,
			   int64_t waited_ns, struct slurm_answer *ret);
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
/* Knows again what has ended on this node, also while no agent was there. */
void slurm_jobs_open(struct node *n);
/* Each second: sees which jobs Slurm has suspended or resumed, and ends jobs whose Epilog was lost. */
void slurm_jobs_tick(struct node *n);
