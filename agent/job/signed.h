/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signed - checks that a job or step which the controller wants is what its user signed
 * (common/signature/signature.h).
 *
 * Runs before anything of the job or step is made. Orders of root over D-Bus need no signature:
 * root of a node can do anything there.
 */
#pragma once
#include "agent/job/job.h"

/* What the agent stores when it starts the job or step, so that it starts it once. */
struct signed_start {
	bool is_signed;
	char nonce[36];
	int64_t base, job, step, made_s;
	int32_t attempt;
};

/* 0: *ret is to be stored at the start. JOB_SIGNED_NO: the user did not sign this; err says why, for
 * the user. < 0: munged or the database does not answer; the controller repeats the order. */
#define JOB_SIGNED_NO 1
int job_signed_check(struct node *n, const struct sync_order *o, struct signed_start *ret,
		     struct err *err);
/* `j`: the job in which the step is to run. */
int job_signed_check_step(struct node *n, const struct job *j, const struct sync_step_order *o,
			  struct signed_start *ret, struct err *err);
/* Store the start; nothing for an unsigned one. Within the caller's transaction, if there is one. */
int job_signed_keep(struct node *n, const struct signed_start *s, struct err *err);
/* Forgets the credential that was opened last, which is kept for the next task of its array; at each tick. */
void job_signed_forget(struct node *n);
