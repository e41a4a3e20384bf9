/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile - a site's profile as a policy of a replay: the scheduler of the live system
 * (controller/scheduler), driven by the times of a trace.
 *
 * Pure. A job requests whole nodes and one chunk of the rest; on a machine of several kinds of
 * nodes "whole" means the smallest kind. On a pool it requests its cores. All jobs are in one
 * queue, but for those that no grant covers: they are in bonus (grants.h). A job's QOS counts with its priority, its factor and
 * its limits of what each user may run at once.
 *
 * Priorities are those of controller/policy/priority/priority.h. They are computed when a job
 * arrives, and for all that wait every SIM_RANK_EVERY_S.
 */
#pragma once
#include "controller/policy/priority/priority.h"
#include "controller/scheduler/schedule.h"
#include "controller/simulate/grants.h"
#include "controller/simulate/policy.h"
#include "controller/simulate/usage.h"

#define SIM_RANK_EVERY_S 300
#define SIM_WAKE_S 3600 /* between passes of the preempting cycle when nothing happens */
#define SIM_KINDS_MAX 16

struct sim_nodes {
	int64_t nodes, cores; /* `nodes` nodes of `cores` cores each */
};

struct sim_profile {
	enum schedule_rule rule;
	int64_t reserve_after_s; /* of struct schedule_config */
	struct priority_rule priority;
	bool has_fairshare;
	struct sim_usage_rule usage; /* usage.qos is set from `qos` */
	struct sim_qos_use qos;
	const struct sim_grants_rule *grants; /* NULL: no job is in bonus */
	/* With SCHEDULE_PREEMPT: jobs of a higher one may preempt jobs of a lower one. */
	int64_t run_priority, bonus_run_priority;
	struct sim_nodes kinds[SIM_KINDS_MAX];
	size_t n_kinds;
};

/* Keeps a pointer to the trace. *ret needs sim_policy_done(). -EINVAL: no node, or weights that
 * do not add up; -ENOMEM. */
int sim_profile_new(const struct sim_profile *p, const struct sim_trace *t,
		    struct sim_policy *ret, struct err *err);
