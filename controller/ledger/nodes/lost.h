/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lost - what becomes of jobs whose node is no longer there.
 *
 * An attempt whose node is lost ends as node-lost, charged to its node's last report. A job
 * that asked for it is queued again, at the place of its submission, as the next attempt, while
 * not more than the bound of its attempts ended so. What the node says of that attempt later:
 * - that it runs still: refused, so that the node kills it; what it ran meanwhile is not
 * charged;
 * - its final report, because it ended by itself before it could be refused: it is the
 * attempt's last word, end and charge, as long as the job was not queued again. Then it is
 * nothing.
 */
#pragma once
#include "controller/ledger/store.h"

/* 0: no job is queued again. */
void store_set_max_requeues(struct store *s, int64_t n);

#define STORE_LOST_MAX 500 /* of one call */
struct store_lost_result {
	int64_t n_lost, n_requeued;
	int64_t jobs[STORE_LOST_MAX]; /* n_lost of them: other nodes may have parts of them */
};
/* Ends the attempts that nodes marked as lost (store_mark_lost_nodes()) hold. Those that one call leaves,
 * of very many, are the next one's. */
int store_end_lost_jobs(struct store *s, int64_t now_ns, struct store_lost_result *ret,
			struct err *err);
