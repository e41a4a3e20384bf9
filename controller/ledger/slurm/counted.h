/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted - runs of Slurm's jobs that the ledger has counted already, and has no job of: those that were archived, and those
 * that were imported from a log. A job must not be made, and charged, a second time when Slurm or an agent tells of one.
 *
 * A run is the same when the id is the same and both overlap: Slurm has no two jobs of one id at a time. In the transaction
 * under way.
 */
#pragma once
#include "common/wire/slurm_batch.h"
#include "controller/ledger/store.h"

struct err;

/* An agent sees tasks start and end, not Prolog and Epilog: its times may differ from Slurm's by this. */
#define COUNTED_AGENT_S 60

/* What is left of an archived job: its last attempt. */
struct counted_job {
	int32_t attempt;
	int64_t ended_ns;
};
/* By the number of the ledger. 1; 0: there is none. */
int counted_find_job(struct store *s, int64_t job, struct counted_job *ret, struct err *err);
/* The archive of such a job: the month of its end, for a message. 1; 0: there is none. */
int counted_find_month(struct store *s, int64_t job, int64_t *ret_month, struct err *err);

/* How many generations the ids of this origin have, in the ledger or in the archive; 0: there is no job of it. */
int counted_find_generations(struct store *s, int64_t origin, int32_t *ret, struct err *err);

/* A row of slurmctld or slurmdbd. 1: its attempt is archived; 0: it is not.
 * *ret_differs: slurmdbd has another end or state of it now. */
int counted_is_archived(struct store *s, int64_t origin, const struct slurm_batch_job *row,
			bool *ret_differs, struct err *err);

/* A run of an id of a cluster; end_s 0: it goes on. */
struct counted_run {
	int64_t origin, id, start_s, end_s;
};
/* 1: an imported job is this run. */
int counted_is_imported(struct store *s, const struct counted_run *run, struct err *err);
