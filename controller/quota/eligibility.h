/* eligibility - which queued jobs of a cluster may start now, by the limits and quotas of
 * accounts.h. The decision is policy/eligible.h; this reads what it needs.
 *
 * Once a cycle:		eligibility_load()
 * each queued job, in order:	eligibility_check(); if true and it is placed: eligibility_start()
 *
 * A job that may not start is passed by: it does not hold those behind it. Nothing is read
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
/* What it says is good until the next one; nothing of `site` is kept. */
int eligibility_load(struct eligibility *g, const struct quota_site *site,
		     const struct eligibility_run *run, struct err *err);
/* False: not now, and why, with the numbers. A job that is not known (it came since) may. */
bool eligibility_check(struct eligibility *g, int64_t job, char why[static ELIGIBLE_WHY_MAX]);
void eligibility_start(struct eligibility *g, int64_t job);
/* It did not start after all: no node could take it. */
void eligibility_undo(struct eligibility *g, int64_t job);
