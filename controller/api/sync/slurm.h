/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm - what the exchange with a node of a Slurm cluster has of its own: the price of jobs that were not submitted here, and Slurm's ids in
 * the answer (controller/ledger/jobs/slurm.h). */
#pragma once
#include "controller/api/sync/desired.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/policy/charge/tariff.h"

struct slurm_pricing {
	struct api *api;
	struct tariff_price price; /* of the last job: its rule is lent to the row */
};

/* A store_slurm_price_fn with a struct slurm_pricing: the price that a submission to that queue has. A job whose account or queue is
 * unknown here is charged by the cluster's default queue, and a note tells it. */
int slurm_find_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		     struct err *err);
/* Puts the ids of Slurm or PBS in the place of ledger numbers, for the node. */
void slurm_translate_answer(enum engine e, struct sync_result *r, struct sync_desired *d);
