/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_rig - rows of Slurm's jobs, as the unit tests of the ledger send them. */
#pragma once
#include "common/wire/slurm_batch.h"
#include "common/wire/sync.h"
#include "controller/ledger/jobs/slurm.h"
#include "tests/unit/rig/ledger_rig.h"

#define NOON_S (NOON / S_NS)

/* alice's job of 2 cores on m1, submitted a second before it started. Times: seconds after noon; end_s 0: not ended. */
struct slurm_batch_job rig_slurm_row(int64_t id, enum slurm_batch_state state, int64_t start_s,
				     int64_t end_s);
/* What the agent of m1 reports of attempt 1 of job 7, the first of its cluster, which began at noon. ended_s 0: it runs. */
void rig_report_slurm(struct rig *r, int64_t seq, int64_t running_s, int64_t ended_s);

/* A store_slurm_price_fn: one for each core; account "x..." is unknown, which makes a note. ctx: an int that counts the jobs, or NULL. */
int rig_set_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		  struct err *err);

/* One job of node `node` as it says it; seq 0: without a report. */
struct rig_said {
	const char *cluster, *node;
	struct sync_slurm_job told;
	enum job_state state;
	int64_t seq, running_s, now_ns;
	bool is_not_told, is_pbs;
	enum job_end_kind end; /* of a report of JOB_ENDED; END_NONE: it exited */
	int n_priced;	       /* filled: jobs that were made */
	int64_t job;	       /* filled: the number in place of the id; 0: it was taken out */
	size_t n_acks;	       /* filled */
	size_t n_refusals;     /* filled */
};
/* alice's job of 2 cores on e1, of cluster east, at NOON + 1000 s. */
struct rig_said rig_said_of(int64_t id, int64_t started_ns);
/* Sends it as its node does, in an exchange of its own. */
void rig_send_said(struct rig *r, struct rig_said *w);
