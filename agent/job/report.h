/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.h - the usage of jobs, and their reports. */
#pragma once
#include "agent/job/job.h"

/* Save the usage of the unit before the user's program starts: it is subtracted from the job's. */
void report_save_baseline(struct node *n, struct job *j);
/* Sample all jobs into j->s.usage, and check the limits for which there is no event. */
void report_measure(struct node *n);
/* The last sample of one job, completed by its final record. */
struct final;
void report_measure_last(struct node *n, struct job *j, const struct final *f);
/* How the job ended is decided: its peaks are not below the amount that a limit's end message states as reached. */
void report_count_reached(struct node *n, struct job *j);
/* The same in parts, for a caller with a transaction: the report as of now, to be given up by report_done(); its
 * rows, and the job's; what to do once that is committed. */
struct report;
void report_make(struct node *n, struct job *j, struct report *ret);
int report_write(struct node *n, struct job *j, struct report *report, struct err *err);
void report_written(struct job *j, const struct report *report);
/* Put the job's report into the spool and save its state, in one transaction. REPORT_UNSAVED: the store failed; the
 * report is sent from memory and must be put again. < 0: out of memory. */
#define REPORT_UNSAVED 1
int report_put(struct node *n, struct job *j, struct err *err);
/* Report within REPORT_SOON_MS that the job starts or runs: what changes until then makes one report, and a job that has ended
 * by then has its final report alone. */
#define REPORT_SOON_MS 25
void report_soon(struct job *j);
/* Report a change that the controller should know at once, and start a sync. Logs a failure. */
void report_change(struct node *n, struct job *j);
