/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants - time grants of accounts in a replay: which jobs run in bonus.
 *
 * Pure. A job reserves its estimate x rate when it is submitted; when it ends, the rest that it has not run
 * becomes available again (controller/policy/quota/grant.h). A job that the grant does not cover, or
 * without a grant, is in bonus: it reserves nothing, and is free of charge. A job counts in the grant
 * that was in force when it was submitted.
 */
#pragma once
#include "controller/policy/quota/grant.h"
#include "controller/simulate/qos.h"
#include "controller/simulate/trace.h"

/* Output: of how many accounts (groups of the trace) how many jobs were in bonus. */
struct sim_grants_count {
	int64_t jobs, groups;
};

struct sim_grants_rule {
	const int64_t *granted_ms; /* of each grant of the site */
	size_t n;
	struct fraction factor; /* of the queue of covered jobs */
	struct grant_rule rule;
	/* The grant in force for a group; -1: none. */
	int32_t (*find)(void *ctx, uint32_t group, int64_t now_s);
	void *ctx;
	struct sim_grants_count *count;
};

struct sim_grants;
/* Keeps pointers to all. -ENOMEM. */
int sim_grants_new(const struct sim_trace *t, const struct sim_grants_rule *rule,
		   const struct sim_qos_use *qos, struct sim_grants **ret);
struct sim_grants *sim_grants_free(struct sim_grants *g);
DEFINE_CLEANUP(struct sim_grants *, sim_grants_free)

/* The job is submitted. 1: it is in bonus. -ERANGE: its charge is beyond what can be counted. */
int sim_grants_arrive(struct sim_grants *g, uint32_t job, int64_t now_s);
/* It ended, having run as long as the trace says. */
void sim_grants_end(struct sim_grants *g, uint32_t job);
bool sim_grants_is_bonus(const struct sim_grants *g, uint32_t job);
