/* SPDX-License-Identifier: GPL-2.0-or-later */
/* former - final reports of runs whose attempt has begun once more on this node, and which are not acknowledged yet.
 *
 * A slurmctld that dies before it has saved that an attempt started starts it again. The ledger tells the two runs apart where it has the
 * end of the one before it hears of the next: so the reports of the next run wait until nothing is kept here of its attempt.
 * A table of the store; the functions are parts of what the caller has begun.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct err;
struct sync_job;
struct sync_slurm_job;

/* Takes what the outbox has of the attempt, and keeps it where it is a final report that is to be sent. `told`: the run, as it was described. */
int former_keep(struct db *db, const struct sync_slurm_job *told, struct err *err);

/* What an exchange says of the jobs of the node; realloc()ed. */
struct former_lists {
	struct sync_job *jobs;
	struct sync_slurm_job *told;
	size_t n_jobs, n_told;
};
/* The oldest run of each attempt, as one that has ended, in place of the next one or beside the others. < 0: the lists are as far as it came. */
int former_describe(struct db *db, struct former_lists *to, struct err *err);

/* 1: the attempt has one; 0: none. */
int former_has(struct db *db, int64_t job, int32_t attempt, struct err *err);

/* The oldest of each attempt, up to `max`, as wire objects onto the array `to`. Returns how many. */
int former_fill(struct db *db, int max, json_t *to, struct err *err);
/* 1: the acknowledgement is of the oldest of the attempt, or older, so that it is of no later run: what it covers is forgotten. 0: there is none. */
int former_ack(struct db *db, int64_t job, int32_t attempt, int64_t seq, struct err *err);
int former_forget(struct db *db, int64_t job, int32_t attempt, struct err *err);

struct former_totals {
	int64_t reports, bytes;
};
int former_count(struct db *db, struct former_totals *ret, struct err *err);
