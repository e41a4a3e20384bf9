/* profile.c - see simulate/profile.h. */
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

/* A trace tells no queue, quality of service or resource but cores: their weights fall away. */
static void read_policy(const struct config_policy *p, struct sim_profile *ret)
{
	ret->priority = (struct priority_rule){
		.weight = { [PRIORITY_AGE] = p->weight_age,
			    [PRIORITY_FAIRSHARE] = p->weight_fairshare,
			    [PRIORITY_SIZE] = p->weight_job_size },
		.max_age_s = p->max_age_s,
		.size = rank_size(p),
	};
	ret->rule = rules[p->scheduler];
	ret->late_s = p->late_after_s;
	ret->has_fairshare = p->weight_fairshare > 0;
	ret->usage = (struct sim_usage_rule){
		.half_life_s = p->usage_half_life_s,
		.is_classic = p->fairshare == CONFIG_FAIR_CLASSIC,
	};
}

static void read_machine(const struct machine *m, struct sim_profile *ret)
{
	ret->n_kinds = m->n_kinds;
	for (size_t i = 0; i < m->n_kinds; i++)
		ret->kinds[i] = (struct sim_nodes){ m->kinds[i].nodes, m->kinds[i].cores };
	if (!m->n_kinds)
		ret->kinds[ret->n_kinds++] = (struct sim_nodes){ 1, m->cores };
}
_Static_assert(MACHINE_KINDS_MAX <= SIM_KINDS_MAX, "room for all kinds");

int simulate_load_profile(const char *name, const struct machine *m, struct sim_profile *ret,
			  struct err *err)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *path = NULL;
	struct sim_profile p = { 0 };
	int r = profile_find(name, &path, err);

	if (r == 0)
		r = config_load(path, &config, err);
	if (r < 0)
		return r;
	read_policy(&config->policy, &p);
	read_machine(m, &p);
	*ret = p;
	return 0;
}
