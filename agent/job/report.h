/* report.h - what jobs use, and saying so. */
#pragma once
#include "agent/job/job.h"

/* What the unit has used so far is not the job's: before the user's program begins. */
void report_save_baseline(struct node *n, struct job *j);
/* One pass over all jobs: figures into j->s.usage, limits that only a look can tell. */
void report_measure(struct node *n);
/* The last look at one job, and what its final record knows better. */
struct final;
void report_measure_last(struct node *n, struct job *j, const struct final *f);
/* Put the job's report into the spool, with its state, in one transaction. REPORT_UNSAVED: the
 * store refused that; the report is sent all the same, from memory, and must be put again. < 0:
 * there was no memory for it. */
#define REPORT_UNSAVED 1
int report_put(struct node *n, struct job *j, struct err *err);
/* A change that the controller should know at once: report, then talk. Logs its failure. */
void report_change(struct node *n, struct job *j);
