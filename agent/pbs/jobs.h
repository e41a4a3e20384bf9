/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.h - the life of a job of PBS on this node (agent/foreign/jobs.h), as the hook tells it (agent/pbs/question.h): PHASE_UNIT and
 * PHASE_RUNNING with the first launch, PHASE_FINAL with end.
 *
 * pbs_mom starts all jobs in its own cgroup. The process that asks is a child of the one that is about to become the task, which waits for it: the
 * kernel says which that is. systemd makes a scope around it, the agent puts the scope's limits in force and moves it to "work" in there.
 */
#pragma once
#include "agent/job/job.h"
#include "agent/pbs/question.h"

/* Fills *ret, and q->pid with the task. 1: pbs_jobs_look_launch() again until it returns 0. */
int pbs_jobs_launch(struct node *n, struct pbs_question *q, int32_t peer,
		    struct pbs_answer *ret);
int pbs_jobs_attach(struct node *n, struct pbs_question *q, struct pbs_answer *ret);
/* `asked_ns`: when it was asked, CLOCK_BOOTTIME. */
int pbs_jobs_look_launch(struct node *n, const struct pbs_question *q, int64_t asked_ns,
			 struct pbs_answer *ret);
int pbs_jobs_end(struct node *n, const struct pbs_question *q, struct pbs_answer *ret);
/* 1: its disk is not gone yet, or its last report not written. */
int pbs_jobs_look_end(struct node *n, const struct pbs_question *q);
/* PBS has stopped the job, or is about to continue it: suspended time is free. */
void pbs_jobs_suspend(struct node *n, const struct pbs_question *q, bool is_suspended);
/* Ends jobs that PBS does not have any more. */
void pbs_jobs_alive(struct node *n, const char *list);
void pbs_jobs_tick(struct node *n);
