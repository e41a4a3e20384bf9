/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eligibility - which queued jobs of a cluster may start now, by the limits and quotas of
 * accounts.h. The rule is policy/quota/eligible.h; this module reads what the rule needs.
 *
 * Once a cycle:		eligibility_load()
 * each queued job, in order:	eligibility_check(), and once it is placed eligibility_start()
 *
 * A job that may not start is skipped: it does not hold up those behind it. Nothing is read
 * where nothing is limited and the policy has no windows. Whether an account has quota left is
 * looked up again after ELIGIBILITY_KEEP_NS; usage moves with reports, which are no faster.
 */
#pragma once
#include "controller/policy/quota/eligible.h"
#include "controller/quota/quota.h"

struct eligibility;

#define ELIGIBILITY_KEEP_NS INT64_C(2000000000)

int eligibility_new(struct eligibility **ret, struct err *err);
struct eligibility *eligibility_free(struct eligibility *g);
DEFINE_CLEANUP(struct eligibility *, eligibility_free)

struct eligibility_run {
	const char *cluster;
	int64_t now_ns;
};
/* Reads limits and quotas for one cycle; valid until the next call. Does not use `site`
 * after it returns. */
int eligibility_load(struct eligibility *g, const struct quota_site *site,
		     const struct eligibility_run *run, struct err *err);
/* False: not now; `why` has the reason with its numbers. True for a job submitted since the
 * load. */
bool eligibility_check(struct eligibility *g, int64_t job, char why[static ELIGIBLE_WHY_MAX]);
void eligibility_start(struct eligibility *g, int64_t job);
/* Undoes eligibility_start(): no node had room for the job. */
void eligibility_undo(struct eligibility *g, int64_t job);
