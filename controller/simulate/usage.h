/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage - decayed usage of users on a replay's clock, and the fairshare that follows.
 *
 * Pure. The tree has the accounts of struct sim_tree; some of them are groups of the trace; the users of a
 * group are below its account. Usage is core-seconds of running, times the factor of the job's QOS, decaying by a half-life in closed form as in
 * controller/policy/fairshare/decay.h, while a job runs too. Ranks are computed on request, by
 * controller/policy/fairshare/fairshare.h.
 */
#pragma once
#include "controller/simulate/qos.h"
#include "controller/simulate/trace.h"

struct err;
struct sim_usage;

/* The accounts of a site, of any depth. Shares may be FAIRSHARE_PARENT. */
struct sim_account {
	int32_t parent; /* index; -1: directly below the root */
	int64_t shares;
};
/* A user of an account who has no job of it in the trace. */
struct sim_idle {
	uint32_t account;
	int64_t shares;
};
struct sim_tree {
	const struct sim_account *accounts;
	const uint32_t *of_group; /* the account of each group of the trace */
	const struct sim_idle *idle;
	size_t n_accounts, n_idle;
	/* Of a user who has jobs of the group. */
	int64_t (*user_shares)(void *ctx, uint32_t group, uint32_t user);
	void *ctx;
};

struct sim_usage_rule {
	int64_t half_life_s; /* 0: no decay */
	bool is_classic;     /* otherwise Fair Tree */
	/* NULL: each group is an account directly below the root; all have equal shares. */
	const struct sim_tree *tree;
	int64_t root_shares;	/* of a user root directly below the root; 0: there is none */
	struct sim_qos_use qos; /* by whose factors core-seconds count */
};

int sim_usage_new(const struct sim_trace *t, const struct sim_usage_rule *rule,
		  struct sim_usage **ret, struct err *err);
struct sim_usage *sim_usage_free(struct sim_usage *u);
DEFINE_CLEANUP(struct sim_usage *, sim_usage_free)

/* The job's user in its group has so many cores more from now on. Times never go back. */
void sim_usage_hold(struct sim_usage *u, uint32_t job, int64_t now_s, int64_t cores);
/* Ranks as of now. -ENOMEM, -ERANGE. */
int sim_usage_rank(struct sim_usage *u, int64_t now_s, struct err *err);
/* 0 ... 1, as of the last ranks. */
double sim_usage_factor(const struct sim_usage *u, uint32_t job);
