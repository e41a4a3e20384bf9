/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check - decides whether an account's quota and limits allow a submission, and in which queue
 * the job runs.
 *
 * By the policy: a window stops an account (month above 6 x, or period above 2 x); a grant that
 * does not cover the job moves it to the cluster's queue of factor 0, or refuses it; a target
 * never refuses. Then what one job may request at most, in its queue and of its user and account.
 * Then the queue limits: how many jobs may be queued by user, association,
 * account (and those above) and user in a queue. A job that exceeds a running limit by itself
 * could never start and is refused too.
 */
#pragma once
#include "controller/quota/quota.h"

struct quota_submission {
	const struct request *request; /* complete: account, queue, amounts filled in */
	struct fraction rate;
	enum charge_pool pool;
	int64_t now_ns;
	const struct expected_own *own; /* the job of Slurm that is changed; NULL: a new one */
};

enum quota_verdict {
	QUOTA_ACCEPTED,
	QUOTA_BONUS,   /* in the queue `queue` instead, free of charge */
	QUOTA_REFUSED, /* `text` and `remedy` say why */
	_QUOTA_VERDICT_MAX,
};

#define QUOTA_TEXT_MAX 320

struct quota_answer {
	enum quota_verdict verdict;
	char queue[REQUEST_NAME_MAX];
	const char *code;	   /* "quota", "too-many-jobs", "too-large" */
	char text[QUOTA_TEXT_MAX]; /* with the numbers; "" when accepted unchanged */
	const char *remedy;
	/* Of a job that is accepted as it is: what one task would be charged up to its walltime; what all together reserve beyond what
	 * the job reserved before. */
	int64_t task_ms, more_ms;
};

/* A refusal is an answer, not an error: < 0 is a failure of the ledger or of memory. */
int quota_check(const struct quota_site *site, const struct quota_submission *want,
		struct quota_answer *ret, struct err *err);
