/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queued - the queued jobs of a cluster from memory, for lists that choose some of many: reading them all from the ledger costs
 * several microseconds a job. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct cycle;
struct err;

struct queued_job {
	int64_t job;
	bool has_priority; /* false: no cycle has seen it yet */
	int64_t priority;  /* of the last cycle */
	const char *user, *account;
};
typedef int (*queued_fn)(void *ctx, const struct queued_job *q, struct err *err);
/* Those that nothing holds back, as the ledger has them now, in no order: jobs that were written since the last cycle are read, and
 * all where no cycle keeps any. */
int dispatch_each_queued(const struct cycle *c, const char *cluster, queued_fn fn, void *ctx,
			 struct err *err);
