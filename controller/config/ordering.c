/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ordering.c - see ordering.h. */
#include "common/cleanup.h"
#include "common/engine.h"
#include "controller/config/ordering.h"

static const char *const names[_CONFIG_ORDERING_MAX] = {
	[CONFIG_ORDERING_SUBMISSION] = "submission",
	[CONFIG_ORDERING_PRIORITY] = "priority",
	[CONFIG_ORDERING_SHUFFLE] = "shuffle",
	[CONFIG_ORDERING_FOREIGN] = "foreign",
};

const char *config_ordering_name(enum config_ordering o)
{
	return names[o];
}

bool config_is_ranked(const struct config *c)
{
	const struct config_policy *p = &c->policy;

	return p->weight_age || p->weight_fairshare || p->weight_job_size ||
	       p->weight_partition || p->weight_qos;
}

enum config_ordering config_ordering(const struct config *c, const char *cluster)
{
	const struct config_cluster *cl = cluster ? config_cluster(c, cluster) : NULL;

	/* Slurm adds Reeve's fairshare to its own priority (docs/slurm.md); PBS takes nothing. */
	if (cl && cl->engine == ENGINE_SLURM && c->policy.weight_fairshare)
		return CONFIG_ORDERING_PRIORITY;
	if (cl && cl->engine != ENGINE_REEVE)
		return CONFIG_ORDERING_FOREIGN;
	if (c->policy.scheduler == CONFIG_SCHEDULER_SUSPEND)
		return CONFIG_ORDERING_SHUFFLE;
	return config_is_ranked(c) ? CONFIG_ORDERING_PRIORITY : CONFIG_ORDERING_SUBMISSION;
}

bool config_orders_by_usage(const struct config *c, const char *cluster)
{
	return c->policy.weight_fairshare &&
	       config_ordering(c, cluster) == CONFIG_ORDERING_PRIORITY;
}

const char *config_ordering_queue(const struct config *c)
{
	bool is_strict = c->policy.scheduler == CONFIG_SCHEDULER_FIFO;

	switch (config_ordering(c, NULL)) {
	case CONFIG_ORDERING_SHUFFLE:
		return "Queues are shuffled: of each queue, jobs whose user and account have the "
		       "fewest cores before them, running or queued, are next.";
	case CONFIG_ORDERING_PRIORITY:
		return is_strict
			       ? "Jobs start in order of priority, which is the sum of the "
				 "factors."
			       : "Jobs start in order of priority, which is the sum of the "
				 "factors; a later job may pass where it delays none before it.";
	default:
		return is_strict
			       ? "Jobs start in order of submission: no PriorityWeight... is set."
			       : "Jobs start in order of submission: no PriorityWeight... is set; "
				 "a later job may pass where it delays none before it.";
	}
}

const char *config_ordering_unless(const struct config *c)
{
	switch (config_ordering(c, NULL)) {
	case CONFIG_ORDERING_SHUFFLE:
		return "unless a job of a higher queue, or of a user with fewer cores, arrives "
		       "before then";
	case CONFIG_ORDERING_PRIORITY:
		return "unless a higher-priority job arrives before then";
	default:
		return "unless an earlier job is released before then";
	}
}

const char *config_ordering_overuse(const struct config *c, const char *cluster)
{
	if (config_orders_by_usage(c, cluster) && c->policy.usage_half_life_s)
		return "priority is lower until usage has faded";
	if (config_orders_by_usage(c, cluster))
		return c->policy.usage_reset == CONFIG_RESET_NEVER
			       ? "priority is lower, and usage never fades"
			       : "priority is lower until usage is reset";
	switch (config_ordering(c, cluster)) {
	case CONFIG_ORDERING_SHUFFLE:
		return "its jobs start no later, since queues are shuffled";
	case CONFIG_ORDERING_FOREIGN:
		return "its jobs start no later, since the cluster's batch system orders them";
	default:
		return "its jobs start no later, since fairshare has no weight";
	}
}

const char *config_ordering_without_usage(const struct config *c, const char *cluster)
{
	if (config_orders_by_usage(c, cluster))
		return NULL;
	switch (config_ordering(c, cluster)) {
	case CONFIG_ORDERING_SHUFFLE:
		return "Fairshare orders no jobs here: queues are shuffled, and users and accounts "
		       "with few cores come first.";
	case CONFIG_ORDERING_FOREIGN:
		return "Fairshare orders no jobs here: the cluster's batch system orders them.";
	default:
		return "Fairshare orders no jobs here: PriorityWeightFairshare is 0.";
	}
}

/* Windows and grants act by themselves, and shuffled queues need no share. */
const char *config_ordering_warning(const struct config *c)
{
	bool is_by_share =
		c->policy.quota == CONFIG_QUOTA_NONE || c->policy.quota == CONFIG_QUOTA_TARGET;

	if (!is_by_share || c->policy.weight_fairshare ||
	    c->policy.scheduler == CONFIG_SCHEDULER_SUSPEND)
		return NULL;
	return config_is_ranked(c)
		       ? "PriorityWeightFairshare is 0: fairshare orders nothing"
		       : "no weight is set: fairshare orders nothing (PriorityWeightFairshare)";
}
