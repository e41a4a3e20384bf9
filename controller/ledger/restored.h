/* SPDX-License-Identifier: GPL-2.0-or-later */
/* restored - a ledger that was restored from a backup; part of store.h's contract.
 *
 * It lacks what was written after the backup. Until each node has sent what it has, what nodes name of it is adopted, and nothing is
 * dispatched (docs/operation.md, "Back-up and restore").
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;
struct store_at;
struct sync;

/* The ledger was restored: no job gets a number below first_job, nodes send again what they have. The caller's transaction. */
struct store_restored {
	int64_t taken_ns, now_ns;
	int64_t first_job; /* 0: far enough behind the last one (backup/backup.h) */
};
int store_identity_restored(struct store *s, const struct store_restored *how,
			    int64_t *ret_first_job, struct err *err);

/* 1: nodes that are not lost have not sent all their reports to the restored ledger: a job that is queued in it may have run. 15 minutes after
 * the ledger was opened it is 0: one node must not hold up all others. */
int store_restored_waits(struct store *s, struct err *err);
/* The node has sent all its reports to this ledger: it names the ledger, or its agent is older than that. */
bool store_restored_is_told(const struct store *s, const struct sync *in);
/* It has, and runs no job that the ledger does not have. In the transaction of the exchange. */
int store_restored_told(struct store *s, const char *node, struct err *err);
/* The controller's clock was set back by back_ns: the backup was made as much earlier. In the transaction of clock_step.h. */
int store_restored_set_back(struct store *s, int64_t back_ns, struct err *err);
/* A node has this attempt, and the ledger has its job as queued: it was dispatched after the backup. Then the attempt is written as that of
 * the node, and 1 returned; 0: there is no such job, and none gets its number, or it is one on several nodes. In the transaction of the exchange. */
int store_restored_adopt(struct store *s, const struct store_at *at, int64_t now_ns,
			 struct err *err);
