/* check - may this job be submitted, and in which queue does it run?
 *
 * By the policy: a window stops an account (month above 6 x, or period above 2 x); a grant that
 * does not cover the job sends it to the cluster's queue of factor 0, or refuses it; a target
 * never says no. Besides: how many jobs may be queued by user, association, account (and those
 * above) and user in a queue; and a job that no limit on running would ever let start.
 */
#pragma once
#include "controller/quota/quota.h"

struct quota_submission {
	const struct request *request; /* complete: account, queue, amounts filled in */
	struct fraction rate;
	enum charge_pool pool;
	int64_t now_ns;
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
	char text[QUOTA_TEXT_MAX]; /* with the numbers; "" when taken as it is */
	const char *remedy;
};

int quota_check(const struct quota_site *site, const struct quota_submission *want,
		struct quota_answer *ret, struct err *err);
