/* SPDX-License-Identifier: GPL-2.0-or-later */
/* policy - the interface of a replay to scheduling policies.
 *
 * A policy receives events in the order of the replay's clock: at each instant first all ends,
 * then all arrivals; then next() is called until it has no more actions. Jobs are named by
 * their index in the trace. The replay checks each action: a policy that starts a job that does
 * not fit, or forgets a job, is an error, never a result.
 */
#pragma once
#include <stdint.h>
#include "common/cleanup.h"
#include "controller/simulate/trace.h"

enum sim_act { SIM_START, SIM_SUSPEND, SIM_RESUME };

struct sim_action {
	enum sim_act act;
	uint32_t job;
};

#define SIM_NEVER INT64_MAX

struct sim_policy_ops {
	/* Jobs arrive in the order of their indices. 0, -ENOMEM. */
	int (*arrive)(void *self, uint32_t job, int64_t now_s);
	int (*end)(void *self, uint32_t job, int64_t now_s);
	/* 1: *ret is to be done now, and the policy counts it as done; 0: nothing more; < 0. */
	int (*next)(void *self, int64_t now_s, struct sim_action *ret);
	/* When next() is to be called though nothing has happened; NULL: never. */
	int64_t (*wake_s)(void *self, int64_t now_s);
	void (*free)(void *self);
};

struct sim_policy {
	const struct sim_policy_ops *ops;
	void *self;
};

static inline void sim_policy_done(struct sim_policy *p)
{
	if (p->ops)
		p->ops->free(p->self);
	p->ops = NULL;
}

/* The baselines: "fcfs" and "easy", on a pool of cores. *ret needs sim_policy_done().
 * -ENOENT: no such baseline; -ENOMEM. */
int sim_baseline_new(const char *name, const struct sim_trace *t, int64_t cores,
		     struct sim_policy *ret);
