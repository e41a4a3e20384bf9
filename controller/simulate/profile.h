/* profile - a site's policy as a policy of a replay: the scheduler of the live system
 * (controller/scheduler), driven by the times of a trace.
 *
 * Pure. A job asks for whole nodes and one chunk of the rest; on a machine of several kinds of
 * nodes "whole" is that of the smallest. On a pool it asks for its cores. All jobs are of one
 * queue: a trace has no figures of others. A job's QOS counts with its priority, its factor and
 * what each user may run at once in it.
 *
 * Priorities are those of controller/policy/priority/priority.h. Usage and ages go into them when a job
 * comes, and for all that wait each SIM_RANK_EVERY_S.
 */
#pragma once
#include "controller/policy/priority/priority.h"
#include "controller/scheduler/schedule.h"
#include "controller/simulate/policy.h"
#include "controller/simulate/usage.h"

#define SIM_RANK_EVERY_S 300
#define SIM_WAKE_S 3600 /* the cycle with suspension looks at what waits so often */
#define SIM_KINDS_MAX 16

struct sim_nodes {
	int64_t nodes, cores; /* so many of so many cores each */
};

struct sim_profile {
	enum schedule_rule rule;
	int64_t reserve_after_s; /* of struct schedule_config */
	struct priority_rule priority;
	bool has_fairshare;
	struct sim_usage_rule usage; /* its qos is that of below */
	struct sim_qos_use qos;
	struct sim_nodes kinds[SIM_KINDS_MAX];
	size_t n_kinds;
};

/* The trace is kept. *ret needs sim_policy_done(). -EINVAL: no node, or weights that do not add
 * up; -ENOMEM. */
int sim_profile_new(const struct sim_profile *p, const struct sim_trace *t,
		    struct sim_policy *ret, struct err *err);
