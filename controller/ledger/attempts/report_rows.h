/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_rows - what the reports of one exchange write of jobs that start or run on, which most are: gathered, and written by one statement for
 * each table. For the ledger's own files, in the transaction under way.
 *
 * What is gathered is not in the tables yet: it is written before anything reads or changes the same attempts.
 */
#pragma once
#include "common/db/db.h"
#include "common/cleanup.h"

struct err;
struct store;
struct store_event;
struct store_report_case;
struct tally;

struct store_report_rows {
	/* attempts: of reports that move figures; firsts: also of the first in a job's life, or on another day */
	struct db_rows attempts, firsts, jobs, events, intervals, series, slices;
	char **usages; /* the texts in `attempts` */
	size_t n_usages, size_usages;
};

struct store_report_rows store_report_rows(void);
void store_report_rows_done(struct store_report_rows *r);
struct store_known;
/* The attempt's row after a report that does not end it. Becomes the owner of `usage`, also after a failure. */
int store_report_rows_attempt(const struct store_report_case *c, const struct store_known *k,
			      const struct tally *now, char *usage, struct err *err);
/* The row of its job, where that changes. */
int store_report_rows_job(const struct store_report_case *c, const struct store_known *k,
			  struct err *err);
/* An event that a report brings, in its order: with the rows, if the report has any. Its node is lent, its words are literals. */
int store_report_event(struct store *s, const struct store_report_case *c,
		       const struct store_event *e, struct err *err);
/* Writes all of it, and is empty again. */
int store_report_rows_write(struct store *s, struct store_report_rows *r, struct err *err);
