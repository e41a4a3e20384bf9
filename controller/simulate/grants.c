/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants.c - counts the reserved and used amounts of each grant; see grants.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/time_units.h"
#include "controller/simulate/grants.h"

#define IN_BONUS (-1)

struct sim_grants {
	const struct sim_trace *trace;
	struct sim_grants_rule rule;
	struct sim_qos_use qos;
	struct grant *of;
	int32_t *grant;	   /* of each job that was submitted: its grant, or IN_BONUS */
	int64_t *reserved; /* of each job: by it */
	bool *has_bonus;   /* each group: a job of it was in bonus */
};

struct sim_grants *sim_grants_free(struct sim_grants *g)
{
	if (!g)
		return NULL;
	free(g->of);
	free(g->grant);
	free(g->reserved);
	free(g->has_bonus);
	free(g);
	return NULL;
}

int sim_grants_new(const struct sim_trace *t, const struct sim_grants_rule *rule,
		   const struct sim_qos_use *qos, struct sim_grants **ret)
{
	_cleanup_(sim_grants_freep) struct sim_grants *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->trace = t;
	g->rule = *rule;
	g->qos = *qos;
	g->of = calloc(rule->n + 1, sizeof(*g->of));
	g->grant = calloc(t->n + 1, sizeof(*g->grant));
	g->reserved = calloc(t->n + 1, sizeof(*g->reserved));
	g->has_bonus = calloc(t->groups.n + 1, sizeof(*g->has_bonus));
	if (!g->of || !g->grant || !g->reserved || !g->has_bonus)
		return -ENOMEM;
	for (size_t i = 0; i < rule->n; i++)
		g->of[i].granted = g->of[i].available = rule->granted_ms[i];
	*rule->count = (struct sim_grants_count){ 0 };
	*ret = TAKE_PTR(g);
	return 0;
}

/* The charge of `run_s` seconds of the job. */
static int find_charge(const struct sim_grants *g, uint32_t job, int64_t run_s, int64_t *ret)
{
	const struct sim_job *j = &g->trace->jobs[job];
	const struct sim_qos *qos = sim_qos_of(&g->qos, job);
	struct fraction rate, of_qos = { 1, 1 };
	int r = fraction_multiply((struct fraction){ j->cores, 1 }, g->rule.factor, &rate);

	if (r == 0 && qos)
		r = fraction_make(qos->factor_micro, SIM_MICRO, &of_qos);
	if (r == 0)
		r = fraction_multiply(rate, of_qos, &rate);
	return r < 0 ? r : charge_requested(rate, run_s * S_NS, ret);
}

static int put_in_bonus(struct sim_grants *g, uint32_t job)
{
	uint32_t group = g->trace->jobs[job].group;

	g->grant[job] = IN_BONUS;
	g->rule.count->jobs++;
	g->rule.count->groups += !g->has_bonus[group];
	g->has_bonus[group] = true;
	return 1;
}

int sim_grants_arrive(struct sim_grants *g, uint32_t job, int64_t now_s)
{
	const struct sim_job *j = &g->trace->jobs[job];
	int32_t at = g->rule.find(g->rule.ctx, j->group, now_s);
	enum grant_verdict verdict = GRANT_BONUS;
	int64_t need;
	int r;

	if (at < 0)
		return put_in_bonus(g, job);
	r = find_charge(g, job, j->estimate_s, &need);
	if (r == 0)
		r = grant_admit(&g->of[at], &g->rule.rule, need, &verdict);
	if (r < 0)
		return -ERANGE;
	if (verdict != GRANT_COVERED)
		return put_in_bonus(g, job);
	g->grant[job] = at;
	g->reserved[job] = need;
	g->of[at].reserved += need;
	g->of[at].available -= need;
	return 0;
}

void sim_grants_end(struct sim_grants *g, uint32_t job)
{
	struct grant *of = g->grant[job] == IN_BONUS ? NULL : &g->of[g->grant[job]];
	int64_t used = 0;

	if (!of)
		return;
	find_charge(g, job, g->trace->jobs[job].run_s, &used); /* no more than was reserved */
	of->reserved -= g->reserved[job];
	of->used += used;
	of->available += g->reserved[job] - used;
}

bool sim_grants_is_bonus(const struct sim_grants *g, uint32_t job)
{
	return g->grant[job] == IN_BONUS;
}
