/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fresh_impl - shared by fresh.c, fresh_find.c and fresh_rows.c. */
#pragma once
#include "controller/ledger/attempts/charge.h"
#include "controller/ledger/slurm/fresh.h"
#include "controller/ledger/usage/rollup/rollup_set.h"

/* ---- fresh_find.c ---- */

/* Of a row of the document. */
struct fresh_found {
	bool is_fresh;
	int32_t generation; /* that its job will have */
};
/* Fills ret, one for each row of the document, all zero before. */
int fresh_find(struct settle *t, struct fresh_found *ret, struct err *err);

/* ---- fresh_rows.c: the rows of a document ---- */

/* A job, and its attempt if it ever ran, as the ledger will have them. */
struct fresh_job {
	struct rows_attempt a;
	struct rule_times times;
	struct sync_slurm_job told;
	struct store_slurm_case from;
	struct request request;
	struct store_new new; /* refers to request */
	char price_note[STORE_SLURM_NOTE_MAX], mended[RULE_NOTE_MAX];
	struct job_end end;
	/* Of one that ran: */
	struct report report;
	struct store_report_case reported; /* refers to report */
	struct store_known known;	   /* as the report changes it */
	struct tally_span span;
	int64_t started_day, ended_day;
};

struct fresh_rows;

/* NULL: out of memory. */
struct fresh_rows *fresh_rows_new(void);
struct fresh_rows *fresh_rows_free(struct fresh_rows *r);
DEFINE_CLEANUP(struct fresh_rows *, fresh_rows_free)
/* Copies what it needs of the job. After an error the rows are of no use any more. */
int fresh_rows_add_job(struct fresh_rows *r, const struct fresh_job *j, struct err *err);
/* A day of an attempt that has several. */
int fresh_rows_add_slice(struct fresh_rows *r, const struct fresh_job *j, int64_t day,
			 const struct rollup *figures, struct err *err);
int fresh_rows_add_interval(struct fresh_rows *r, const struct store_run_interval *x,
			    struct err *err);
/* Writes them all. */
int fresh_rows_write(struct fresh_rows *r, struct store *s, struct err *err);
