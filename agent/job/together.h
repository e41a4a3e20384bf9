/* SPDX-License-Identifier: GPL-2.0-or-later */
/* together.h - jobs that are due at once are saved by one commit, with one sync, before the first of them is acted on.
 *
 * What is saved holds until something changes that makes the job due again (job_due_set()) or latches another end.
 * Where the commit fails nothing is marked, and each job is saved alone, with all that belongs to a failing store
 * (job/save.h).
 */
#pragma once
#include "agent/job/job.h"

enum job_together {
	TOGETHER_NOTHING, /* its act needs no save */
	TOGETHER_LAZY,	  /* the row, of which a sync is no need (job_save_lazy()) */
	TOGETHER_ROW,
	TOGETHER_REPORT, /* the row, and the report that the act begins with */
};
/* What the act of a job that is due begins with. */
typedef enum job_together (*job_together_fn)(struct node *n, const struct job *j);

/* `first` and those that are due besides it; does nothing where it would be one. */
void job_save_together(struct node *n, struct job *first, job_together_fn find_part);
/* The report that is due of `first` (DUE_REPORT), with those of the others of which it is due. */
void job_report_together(struct node *n, struct job *first);
/* The act of the job that is due now needs no save. */
bool job_together_is_saved(const struct job *j);
