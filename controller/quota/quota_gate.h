/* quota_gate - for the queue of a cluster: which of its jobs may start now, by the limits and
 * quotas of accounts.h. The decision is policy/eligible.h; this reads what it needs.
 *
 * Once a cycle:		gate_load()
 * each queued job, in order:	gate_ask(); if true and it is placed: gate_start()
 *
 * A job that may not start is passed by: it does not hold those behind it. Nothing is read
 * where nothing is limited and the policy has no windows. Whether an account has quota left is
 * looked up again after GATE_KEEP_NS; usage moves with reports, which are no faster.
 */
#pragma once
#include "controller/policy/quota/eligible.h"
#include "controller/quota/quota.h"

struct gate;

#define GATE_KEEP_NS INT64_C(2000000000)

int gate_new(struct gate **ret, struct err *err);
struct gate *gate_free(struct gate *g);
DEFINE_CLEANUP(struct gate *, gate_free)

struct gate_run {
	const char *cluster;
	int64_t now_ns;
};
/* What it says is good until the next one; nothing of `site` is kept. */
int gate_load(struct gate *g, const struct quota_site *site, const struct gate_run *run,
	      struct err *err);
/* False: not now, and why, with the numbers. A job that is not known (it came since) may. */
bool gate_ask(struct gate *g, int64_t job, char why[static ELIGIBLE_WHY_MAX]);
void gate_start(struct gate *g, int64_t job);
/* It did not start after all: no node could take it. */
void gate_undo(struct gate *g, int64_t job);
/* Nothing is limited here: every answer is yes. */
bool gate_is_open(const struct gate *g);
