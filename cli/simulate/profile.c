/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.c - loads a site's profile as the policy of a replay; see profile.h. */
#include <errno.h>
#include <string.h>
#include "cli/simulate/profile.h"
#include "common/err.h"
#include "controller/sharetree/rank.h"
#include "controller/config/config.h"
#include "controller/config/profile.h"

static const enum schedule_rule rules[] = {
	[CONFIG_SCHEDULER_BACKFILL] = SCHEDULE_PRIORITY,
	[CONFIG_SCHEDULER_FIFO] = SCHEDULE_FIFO,
	[CONFIG_SCHEDULER_SUSPEND] = SCHEDULE_PREEMPT,
};

/* A trace has no queues: their weight is 0; that of QOS too where the site has none. */
static void read_policy(const struct config *c, struct sim_profile *ret)
{
	const struct config_policy *p = &c->policy;

	ret->priority = rank_rule(c);
	ret->priority.weight[PRIORITY_PARTITION] = 0;
	if (c->n_qos == 0)
		ret->priority.weight[PRIORITY_QOS] = 0;
	ret->rule = rules[p->scheduler];
	ret->reserve_after_s = p->late_after_s;
	ret->has_fairshare = p->weight_fairshare > 0;
	ret->usage = (struct sim_usage_rule){
		.half_life_s = p->usage_half_life_s,
		.is_classic = p->fairshare == CONFIG_FAIR_CLASSIC,
		.root_shares = p->root_shares,
	};
}

/* Without kinds of nodes the pool is one node with all cores. */
static void read_machine(const struct machine *m, struct sim_profile *ret)
{
	ret->n_kinds = m->n_kinds;
	for (size_t i = 0; i < m->n_kinds; i++)
		ret->kinds[i] = (struct sim_nodes){ m->kinds[i].nodes, m->kinds[i].cores };
	if (!m->n_kinds)
		ret->kinds[ret->n_kinds++] = (struct sim_nodes){ 1, m->cores };
}
_Static_assert(MACHINE_KINDS_MAX <= SIM_KINDS_MAX, "room for all kinds");

int simulate_profile_load(const struct simulate_profile_ask *ask, struct simulate_profile *ret,
			  struct err *err)
{
	_cleanup_free_ char *path = NULL;
	int r = profile_find(ask->name, &path, err);

	*ret = (struct simulate_profile){ .trace = ask->trace };
	if (r == 0)
		r = config_load(path, &ret->config, err);
	if (r == 0)
		r = simulate_qos_open(&(struct simulate_qos_ask){ ret->config, ask->accounts,
								  ask->trace, ask->qos },
				      &ret->qos, err);
	if (r == 0)
		r = simulate_grants_open(
			&(struct simulate_grants_ask){ ret->config, ask->accounts, ask->groups,
						       ask->trace, ask->cluster },
			&ret->grants, err);
	if (r < 0)
		return r;
	if (ret->config->n_qos)
		ret->trace = &ret->qos.view;
	read_policy(ret->config, &ret->policy);
	read_machine(ask->machine, &ret->policy);
	ret->policy.qos = ret->qos.use;
	ret->policy.usage.tree = &ask->groups->tree;
	if (ret->grants.is_simulated)
		ret->policy.grants = &ret->grants.rule;
	ret->policy.run_priority = ret->grants.run_priority;
	ret->policy.bonus_run_priority = ret->grants.bonus_run_priority;
	return 0;
}

void simulate_profile_done(struct simulate_profile *p)
{
	simulate_qos_done(&p->qos);
	simulate_grants_done(&p->grants);
	config_free(p->config);
	*p = (struct simulate_profile){ 0 };
}
