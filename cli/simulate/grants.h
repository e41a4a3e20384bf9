/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants - the grants of a profile and of accounts.conf as the rule of a replay, or why they are not
 * simulated. */
#pragma once
#include "cli/simulate/groups.h"
#include "controller/config/config.h"
#include "controller/simulate/grants.h"

struct calendar;
struct err;

struct simulate_grants {
	bool is_simulated;
	char why[200]; /* which quotas of the profile are not, and why; "": all are */
	struct sim_grants_rule rule;
	struct sim_grants_count count; /* of the replay */
	int64_t run_priority, bonus_run_priority;
	int64_t *granted_ms;
	struct calendar *days;
	const struct accounts *accounts;
	const struct simulate_groups *groups;
	char cluster[REQUEST_NAME_MAX];
	int64_t begin_s; /* of the trace's clock, since 1970 */
};

struct simulate_grants_ask {
	const struct config *config;
	const struct accounts *accounts; /* NULL: none are given */
	const struct simulate_groups *groups;
	const struct sim_trace *trace;
	const char *cluster; /* of its jobs; NULL: it does not name one */
};
/* *ret must not move, and needs simulate_grants_done() in any case. -EINVAL: no such time zone;
 * -ERANGE: a grant that cannot be counted; -ENOMEM. */
int simulate_grants_open(const struct simulate_grants_ask *ask, struct simulate_grants *ret,
			 struct err *err);
void simulate_grants_done(struct simulate_grants *g);
