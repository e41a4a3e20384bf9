/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync - what one exchange with a node (common/wire/sync.h) brings into the ledger, and what the
 * ledger answers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/cleanup.h"
#include "common/wire/sync_answer.h"
#include "controller/policy/charge/charge.h"

struct store_slurm;

/* What the controller adds: where the words came from and when. */
struct sync_from {
	char address[64];
	char cluster[REQUEST_NAME_MAX];
	int64_t now_ns;	 /* real time of the controller */
	int64_t lost_ns; /* silence after which another host may take over a node name */
	const struct store_slurm *slurm; /* jobs/slurm.h; NULL: Reeve starts the node's jobs */
};

/* What a report changed: the run interval [from, was_to) with was_running in it is now [from, to) with
 * running in it (controller/ledger/usage/charges.h). Of a new interval was_to is from. */
struct sync_usage_delta {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX],
		queue[REQUEST_NAME_MAX];
	enum charge_pool pool;
	struct fraction rate;
	int64_t ncpus, ngpus, mem_bytes;
	int64_t from_ns, was_to_ns, to_ns, was_running_ns, running_ns;
};

struct sync_result {
	struct sync_usage_delta *deltas;
	size_t n_deltas;
	struct sync_ack *acks;
	struct sync_output_ack *output_acks;
	struct sync_refusal *refusals;
	struct sync_step_id *step_acks; /* ends that are committed */
	size_t n_acks, n_output_acks, n_refusals, n_step_acks;
	size_t n_accepted; /* reports that brought something new */
	int64_t n_killed
		[_LIMIT_MAX]; /* jobs, or parts of them, that Reeve ended for that limit */
	size_t n_bad_series;  /* reports whose series is none, and was dropped */
	bool has_freed; /* a job ended, was suspended or runs and may be: the queue may move */
	int64_t *affected; /* jobs on several nodes: what their nodes are to do has changed */
	size_t n_affected;
};

static inline void sync_result_done(struct sync_result *r)
{
	free(r->acks);
	free(r->output_acks);
	free(r->refusals);
	free(r->step_acks);
	free(r->deltas);
	free(r->affected);
	*r = (struct sync_result){ 0 };
}
