/* signed - is what the controller orders what its user signed?
 * (common/signature/signature.h)
 *
 * Asked before anything of a job or of a step is there. Root's own orders (over D-Bus) need no
 * signature: root of a node can do anything there.
 */
#pragma once
#include "agent/job/job.h"

/* What is to be kept when it is started, so that it is started once. */
struct signed_start {
	bool is_signed;
	char nonce[36];
	int64_t base, job, step, made_s;
	int32_t attempt;
};

/* 0: *ret is to be kept. JOB_SIGNED_NO: not so; err says why, for the user. < 0: not known, as
 * munged or the database do not answer: the order comes again. */
#define JOB_SIGNED_NO 1
int job_signed_check(struct node *n, const struct sync_order *o, struct signed_start *ret,
		     struct err *err);
/* `j`: the job it is in. */
int job_signed_check_step(struct node *n, const struct job *j, const struct sync_step_order *o,
			  struct signed_start *ret, struct err *err);
/* Nothing where nothing was signed. In the caller's transaction, or one of its own. */
int job_signed_keep(struct node *n, const struct signed_start *s, struct err *err);
