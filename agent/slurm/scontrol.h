/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scontrol.h - run Slurm's own commands for a job: scontrol, scancel and squeue. The agent does not wait for them, and logs failures. */
#pragma once
#include "agent/job/job.h"
#include "agent/slurm/ended.h"

/* The first line of `text` becomes the job's AdminComment, which `scontrol show job` and `sacct -o AdminComment` show. slurmctld takes it of a job that
 * runs and of no other: j->is_commenting is set until it has, and the answer to EXIT, for which slurmstepd waits, is sent after that, or after 10 s. */
void scontrol_comment(struct job *j, const char *text);
/* End the job also where no process of it is left to be killed (salloc). */
void scontrol_cancel(struct job *j);
/* Asks squeue how often Slurm has started the job again: e->known_ns and e->begin.restarts have the answer when it is there. e->is_asked becomes false then, and
 * also where slurmctld did not answer or does not know the job. */
void scontrol_ask_restarts(struct node *n, struct ended_job *e);
/* Asks squeue whether slurmctld has this attempt on a node, and calls `on_over` where it has not. Without an answer nothing happens, and where
 * j->waits_until_ns has changed meanwhile. */
void scontrol_ask_active(struct job *j, void (*on_over)(struct job *j));
