/* SPDX-License-Identifier: GPL-2.0-or-later */
/* batch - one document of reeve-slurm into the ledger, in one transaction: the jobs of a cluster of Slurm as slurmctld and
 * slurmdbd have them.
 *
 * An attempt of a job is known by Slurm's id and the time of its submission, which slurmdbd's own key is too (a requeue
 * sets it). What Slurm says of it is kept in the table slurm_attempts; the rule (rule.h) decides what of it becomes the
 * ledger's. The same row again changes nothing, in whatever order rows come. The mark, up to which slurmdbd has been read,
 * is committed with the rows.
 *
 * A row of an attempt that was archived, or whose run was imported from a log, makes no job: it is charged already
 * (counted.h). What slurmdbd corrects of an archived attempt stays as it was charged; `reeve admin reconcile` lists it.
 *
 * An attempt that slurmctld no longer has and slurmdbd does not have ended is `wanted`; where neither says how it ended,
 * it ends as lost after `forgotten_ns`, charged up to when slurmctld last had it.
 */
#pragma once
#include "common/wire/slurm_batch.h"
#include "controller/ledger/jobs/slurm.h"

struct err;

struct store_slurm_from {
	int64_t now_ns;
	int64_t forgotten_ns;
	int64_t lost_ns; /* a node is heard of as long as it was silent for less */
	store_slurm_price_fn price;
	void *ctx;
};

struct store_slurm_result {
	struct slurm_batch_answer answer; /* slurm_batch_answer_done() */
	struct sync_result changes; /* usage deltas for the share tree: sync_result_done() */
	int64_t n_late,
		late_id; /* rows of slurmdbd with other figures of archived attempts; the id of the first */
};

/* *ret is freed with store_slurm_result_done(). */
int store_slurm_batch(struct store *s, const struct slurm_batch *b,
		      const struct store_slurm_from *from, struct store_slurm_result *ret,
		      struct err *err);
void store_slurm_result_done(struct store_slurm_result *r);
