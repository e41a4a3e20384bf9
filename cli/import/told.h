/* SPDX-License-Identifier: GPL-2.0-or-later */
/* told - what the summary of an import tells of this run, beside what the ledger keeps of the file: where
 * fields were unreadable, what is free of charge, which rows came twice. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "common/wire/doc.h"
#include "controller/history/history.h"

#define IMPORT_FAULT_MAX 128
struct import_told {
	int64_t notes[_HISTORY_NOTE_MAX],
		first_note[_HISTORY_NOTE_MAX]; /* jobs; the first line */
	int64_t free_jobs, free_s;	       /* from start to end, and not running */
	int64_t repeated; /* rows of jobs that other rows of the file had */
	/* Of the first row of each reason: the field, and what it has. "": not known. */
	char faults[_HISTORY_WHY_MAX][IMPORT_FAULT_MAX];
	char unreadable[IMPORT_FAULT_MAX]; /* the same for HISTORY_NOTE_UNREADABLE */
};

/* A row that is no job; `j` has the field that is the reason. */
void import_told_reject(struct import_told *t, enum history_why why,
			const struct history_job *j);
/* A row in `line` that is a job. */
void import_told_job(struct import_told *t, const struct history_job *j, int64_t line);
void import_told_print(const struct import_told *t, FILE *to);
/* For --json: "repeated", "free_jobs", "free_seconds", "notes". */
void import_told_encode(const struct import_told *t, struct doc *d);
