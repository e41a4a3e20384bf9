/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list - the attempts of a cluster of Slurm as the ledger has them, to be compared with slurmdbd's rows. */
#pragma once
#include "common/wire/slurm_batch.h"
#include "controller/ledger/store.h"

struct err;

/* Attempts that ended in [from_s, to_s), in the order of id and time of submission, behind `after_id` and `after_submit_s`. Those
 * that agents alone reported have submit_s 0. Archived ones are among them, on nodes "archived". Times are the ledger's own, cut to seconds; state is Slurm's. */
struct store_slurm_page {
	const char *cluster;
	int64_t from_s, to_s, after_id, after_submit_s;
};
/* At most SLURM_BATCH_MAX; *ret has room for so many. */
int store_slurm_list(struct store *s, const struct store_slurm_page *p,
		     struct slurm_batch_job *ret, size_t *ret_n, struct err *err);
