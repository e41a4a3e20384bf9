/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync - acts on the controller's answer to a sync (common/wire/sync_answer.h).
 *
 * No time, no network: uplink.c does that. What the controller wants of jobs and steps goes
 * to handlers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/report/spool.h"
#include "common/model/request.h"
#include "common/wire/sync_answer.h"

struct err;

struct sync_order {
	int64_t job;
	int32_t attempt;
	enum job_desired want;
	const struct request *request; /* NULL: the node has the job */
	const char *credential;	       /* what its user signed of it; NULL: nothing */
	const char *reason;	       /* of a cancel; "" */
	const char *bad; /* a request came but cannot be read: why. The job must be reported
			  * ended, END_FAILED, with these words. Else NULL. */
};

struct sync_step_order {
	struct sync_step_id id;
	enum sync_step_want want;
	struct sync_command command; /* borrowed; argv NULL: the node has the step */
	const char *bad; /* it cannot be read: why. The step is reported ended. Else NULL. */
};

/* What an answer may cause. Each may come again and again: they must be idempotent. All are
 * called from inside the event loop, acks first. Pointers are valid during the call only. */
struct sync_handlers {
	void (*on_want)(void *ctx, const struct sync_order *order);
	/* The final report of this attempt is committed: it may be forgotten. (Interim acks
	 * stay between spool and uplink.) */
	void (*on_settled)(void *ctx, int64_t job, int32_t attempt);
	/* Never dispatched to this node: kill it and forget it. Already out of the spool. */
	void (*on_refused)(void *ctx, int64_t job, int32_t attempt, const char *why);
	/* The controller has all output before ack->offset. */
	void (*on_output_ack)(void *ctx, const struct sync_output_ack *ack);
	void (*on_step)(void *ctx, const struct sync_step_order *order);
	/* The end of this step is committed: it may be forgotten. */
	void (*on_step_ack)(void *ctx, struct sync_step_id id);
};

/* Reads a whole answer, then acts: acks and refusals in the spool in one transaction, then the
 * callbacks. -EINVAL with the path of the bad key: nothing was done, except that a bad request
 * inside `jobs`, or a bad command inside `steps`, goes to its handler with `bad`. A store that
 * fails keeps nothing that is wanted from being done. Else how many acknowledgements (of
 * reports, of output and of steps) were in it. */
int sync_apply(const json_t *answer, struct spool *spool, const struct sync_handlers *handlers,
	       void *ctx, struct err *err);
