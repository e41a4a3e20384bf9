/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounting - follows slurmdbd: jobs that have ended, by windows of time.
 *
 * The mark is the time up to which all ended jobs have been stored. The controller keeps it in its ledger and gives it with each
 * answer; it moves in the transaction that stores the last jobs before it. A window begins Overlap before the mark, since
 * rows come late, and is at most Window long, shorter where slurmdbd has many rows for it. Rows that come later still,
 * because slurmdbd was away and slurmctld kept them, belong to attempts that the controller misses: it names them
 * ("wanted"), and slurmdbd is asked for these by their ids.
 */
#pragma once
#include "common/wire/slurm_batch.h"
#include "slurm/follow/follow.h"

struct accounting;

int accounting_open(struct accounting **ret, struct err *err);
struct accounting *accounting_close(struct accounting *a);

/* A task of loop.h. */
int64_t accounting_interval_s(const struct follow *f);
int accounting_run(struct follow *f, struct err *err);

/* Attempts that slurmdbd is asked for in the next run, instead of those named before. */
void accounting_set_wanted(struct follow *f, const struct slurm_batch_answer *answer);
