/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end.h - the phases after the last process has ended, up to the acknowledged final report. */
#pragma once
#include "agent/job/job.h"

int job_finish(struct node *n, struct job *j);	     /* FINAL */
int job_drain(struct node *n, struct job *j);	     /* DRAIN */
int job_clean(struct node *n, struct job *j);	     /* CLEANUP */
int job_report_final(struct node *n, struct job *j); /* REPORT */
/* The controller has the final report: forget the job. *j is freed. */
void job_settle(struct node *n, struct job *j);
/* Remove the directories of jobs that are in no database (for example after its loss). */
void job_sweep_jobfs(struct node *n);
