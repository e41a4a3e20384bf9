/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settle - writes what follows from what Slurm says of one attempt: the rows of the job and its attempt, its charge, its end.
 * For batch.c, in the transaction under way. */
#pragma once
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/slurm/rows.h"
#include "controller/ledger/slurm/rule.h"

struct settle {
	struct store *s;
	const struct slurm_batch *batch;
	const struct store_slurm_from *from;
	struct store_slurm how; /* the price of `from` */
	int64_t origin, n_changed;
	int64_t n_late, late_id;     /* as store_slurm_result has them */
	struct sync_result *changes; /* its deltas grow */
	size_t deltas_room;
};

/* An attempt as a row of the batch has it: makes the job and its attempt where they are missing, keeps the row, and writes
 * what the rule says. a->attempt is set; a->job may be 0. */
int settle_new(struct settle *t, struct rows_attempt *a, struct err *err);
/* One whose wait for an agent is over. */
int settle_due(struct settle *t, struct rows_attempt *a, struct err *err);
/* One that neither slurmctld nor slurmdbd knows the end of. */
int settle_forgotten(struct settle *t, struct rows_attempt *a, struct err *err);

/* ---- for fresh.c, which writes the same without a statement for each row ---- */

/* The row as store_slurm_adopt() takes it; *told is filled, and must live as long. */
struct store_slurm_case settle_case(const struct settle *t, const struct rows_attempt *a,
				    const struct rule_times *times,
				    struct sync_slurm_job *told);
/* The attempt's figures and state in the form of an agent's report. */
struct report settle_report(const struct rows_attempt *a, const struct rule_times *times);
/* Adds what the share tree gains by it. -ENOMEM. */
int settle_keep_delta(struct settle *t, const struct sync_usage_delta *d, struct err *err);
