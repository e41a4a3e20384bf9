/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay - a trace on a virtual clock under a policy.
 *
 * Pure: trace and policy in, times of each job out. At each instant first all ends, then all
 * arrivals, then one scheduling pass. A suspended job keeps what it has run; its end moves by
 * as long as it was suspended.
 */
#pragma once
#include "controller/simulate/fairness.h"
#include "controller/simulate/policy.h"

/* Of a job. */
struct sim_times {
	int64_t start_s, end_s;
	int64_t suspended_s; /* in all */
	uint32_t suspensions;
};

struct sim_replay {
	const struct sim_trace *trace;
	int64_t cores;
	struct sim_policy *policy;
	struct sim_times *times;   /* output: of each job of the trace */
	uint32_t *order;	   /* output: the jobs in the order in which they started */
	struct sim_fairness *fair; /* NULL: not wanted */
	const uint32_t
		*fair_of; /* of each group of the trace, its group in `fair`; NULL: the same */
	/* Called now and then with how many of the 2n events (arrivals and ends) are done; or
	 * NULL. */
	void (*on_progress)(void *ctx, size_t done);
	void *ctx;
};

/* -ENOMEM; -EPROTO: the policy broke a rule, as *err says; what the policy returned. */
int sim_replay_run(const struct sim_replay *r, struct err *err);
