/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desired - reads the desired states of a node's jobs and steps. */
#pragma once
#include <stdint.h>
#include "common/wire/sync_answer.h"
#include "controller/api/context.h"
#include "controller/ledger/nodes/given/given.h"

struct sync_desired {
	struct sync_desired_job *jobs;
	struct sync_desired_step *steps;
	size_t n_jobs, n_steps, size_jobs, size_steps;
	uint64_t digest; /* of what the node has not carried out yet; 0: nothing */
};

/* In the transaction under way: sends ahead what sync_desired_read() will query first (db_ask()). */
int sync_desired_ask(struct api *a, const struct sync *in, const struct store_given_list *given,
		     struct err *err);
/* Reads them from the ledger, for the node that sent `in`. `given`: what the node has open; NULL: it is read. sync_desired_done() frees *ret. */
int sync_desired_read(struct api *a, const struct sync *in,
		      const struct store_given_list *given, struct sync_desired *ret,
		      struct err *err);
void sync_desired_done(struct sync_desired *d);
