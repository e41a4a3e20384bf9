/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants.c - finds the grants of a replay, and the one in force for a group; see grants.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/simulate/grants.h"
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"

void simulate_grants_done(struct simulate_grants *g)
{
	free(g->granted_ms);
	calendar_close(g->days);
	*g = (struct simulate_grants){ 0 };
}

/* The index of the allocation of the group's account, or of the nearest account above it. */
static int32_t find_grant(void *ctx, uint32_t group, int64_t now_s)
{
	const struct simulate_grants *g = ctx;
	const struct accounts_query ask = {
		.account = (int32_t)g->groups->of_group[group],
		.kind = ACCOUNTS_GRANT,
		.pool = CHARGE_POOL_CPU,
		.cluster = g->cluster,
		.day = (int32_t)calendar_day(g->days, (g->begin_s + now_s) * S_NS),
	};
	const struct accounts_allocation *found = NULL;

	if ((size_t)ask.account < g->accounts->n_accounts)
		found = accounts_allocation(g->accounts, &ask);
	return found ? (int32_t)(found - g->accounts->allocations) : -1;
}

/* Why they are not simulated; NULL: they are. */
static const char *find_obstacle(const struct simulate_grants_ask *ask)
{
	char bonus[REQUEST_NAME_MAX];
	bool has_grants = false;

	if (!ask->accounts)
		return "give them by --accounts";
	for (size_t i = 0; i < ask->accounts->n_allocations; i++)
		has_grants |= ask->accounts->allocations[i].kind == ACCOUNTS_GRANT;
	if (!has_grants)
		return "the file of --accounts has no [Allocation] of Kind = grant";
	if (ask->trace->begin_s < 0)
		return "the trace does not say when it begins (UnixStartTime)";
	if (ask->config->policy.grant_beyond != CONFIG_BEYOND_BONUS ||
	    !config_bonus_queue(ask->config, "", bonus))
		return "a replay refuses no job, and the profile has no queue for jobs beyond "
		       "the grant";
	return NULL;
}

static int read_amounts(const struct accounts *a, int64_t **ret, struct err *err)
{
	_cleanup_free_ int64_t *ms = calloc(a->n_allocations + 1, sizeof(*ms));

	if (!ms)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < a->n_allocations; i++)
		if (a->allocations[i].kind == ACCOUNTS_GRANT &&
		    charge_requested(a->allocations[i].amount, HOUR_NS, &ms[i]) < 0)
			return err_set(
				err, -ERANGE,
				"the grant %s of account %s is too large to be simulated",
				a->allocations[i].label,
				a->accounts[a->allocations[i].account].name);
	*ret = TAKE_PTR(ms);
	return 0;
}

static void read_queues(const struct config *c, struct simulate_grants *g)
{
	char name[REQUEST_NAME_MAX];
	const struct config_queue *q;

	config_default_queue(config_cluster(c, ""), name);
	q = config_queue(c, name);
	g->run_priority = q ? q->run_priority : 0;
	g->rule.factor = q ? q->factor : FRACTION_ONE;
	config_bonus_queue(c, "", name);
	g->bonus_run_priority = config_queue(c, name)->run_priority;
}

static int read_rule(const struct simulate_grants_ask *ask, struct simulate_grants *g,
		     struct err *err)
{
	const struct config_policy *p = &ask->config->policy;

	g->accounts = ask->accounts;
	g->groups = ask->groups;
	g->begin_s = ask->trace->begin_s;
	snprintf(g->cluster, sizeof(g->cluster), "%s",
		 ask->cluster ? ask->cluster : config_cluster(ask->config, "")->name);
	g->rule = (struct sim_grants_rule){
		.granted_ms = g->granted_ms,
		.n = ask->accounts->n_allocations,
		.rule.cover = p->grant_cover == CONFIG_COVER_ANY ? GRANT_COVER_ANY
								 : GRANT_COVER_WHOLE,
		.find = find_grant,
		.ctx = g,
		.count = &g->count,
	};
	read_queues(ask->config, g);
	if (charge_requested((struct fraction){ p->grant_overdraft, 1 }, HOUR_NS,
			     &g->rule.rule.overdraft) < 0)
		return err_set(err, -ERANGE, "GrantOverdraft is too large to be simulated");
	return calendar_open(p->time_zone, &g->days, err);
}

int simulate_grants_open(const struct simulate_grants_ask *ask, struct simulate_grants *ret,
			 struct err *err)
{
	const char *why;
	int r;

	*ret = (struct simulate_grants){ 0 };
	if (ask->config->policy.quota == CONFIG_QUOTA_WINDOW ||
	    ask->config->policy.quota == CONFIG_QUOTA_WINDOW_3X)
		snprintf(
			ret->why, sizeof(ret->why),
			"monthly quotas are not simulated, and no job is in low-priority mode");
	if (ask->config->policy.quota != CONFIG_QUOTA_GRANT)
		return 0;
	why = find_obstacle(ask);
	if (why) {
		snprintf(ret->why, sizeof(ret->why),
			 "grants are not simulated, and no job is in bonus: %s", why);
		return 0;
	}
	r = read_amounts(ask->accounts, &ret->granted_ms, err);
	if (r == 0)
		r = read_rule(ask, ret, err);
	ret->is_simulated = r == 0;
	return r;
}
