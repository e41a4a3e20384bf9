/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c - checks the limits of users in a QOS by the rule of policy/quota/eligible; see
 * limits.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/cleanup.h"
#include "controller/policy/quota/eligible.h"
#include "controller/simulate/limits.h"

struct sim_limits {
	const struct sim_trace *trace;
	struct sim_qos_use use;
	struct eligible_world world; /* scope i: user i / use.n in QOS i % use.n */
};

struct sim_limits *sim_limits_free(struct sim_limits *l)
{
	if (!l)
		return NULL;
	free(l->world.scopes);
	free(l);
	return NULL;
}

static bool is_limited(const struct sim_qos *q)
{
	return q->running_cores != ELIGIBLE_NO_LIMIT || q->running_jobs != ELIGIBLE_NO_LIMIT;
}

static bool limits_any(const struct sim_qos_use *use)
{
	bool any = false;

	for (size_t i = 0; i < use->n; i++)
		any |= is_limited(&use->list[i]);
	return any && use->of;
}

int sim_limits_new(const struct sim_trace *t, const struct sim_qos_use *use,
		   struct sim_limits **ret)
{
	size_t n = t->users.n * use->n;
	struct sim_limits *l;

	*ret = NULL;
	if (!limits_any(use))
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->trace = t;
	l->use = *use;
	l->world.n_scopes = n;
	l->world.scopes = n > INT32_MAX ? NULL : calloc(n + 1, sizeof(*l->world.scopes));
	if (!l->world.scopes) {
		sim_limits_free(l);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct sim_qos *q = &use->list[i % use->n];

		l->world.scopes[i] = (struct eligible_scope){
			.kind = ELIGIBLE_QOS,
			.name = "",
			.of = q->name,
			.limit = { q->running_cores, ELIGIBLE_NO_LIMIT, ELIGIBLE_NO_LIMIT,
				   q->running_jobs },
		};
	}
	*ret = l;
	return 0;
}

/* The job as eligible_check() wants it; its only scope is stored in *scope, which must stay. */
static struct eligible_job eligible_of(const struct sim_limits *l, uint32_t job, int32_t *scope)
{
	const struct sim_job *j = &l->trace->jobs[job];
	const struct sim_qos *q = sim_qos_of(&l->use, job);

	if (q)
		*scope = (int32_t)(j->user * l->use.n + (size_t)(q - l->use.list));
	return (struct eligible_job){ .want = { .cores = j->cores, .jobs = 1 },
				      .scopes = scope,
				      .n_scopes = q && is_limited(q),
				      .has_quota = true,
				      .account = "" };
}

bool sim_limits_may_start(const struct sim_limits *l, uint32_t job)
{
	char why[ELIGIBLE_WHY_MAX];
	int32_t scope = 0;
	const struct eligible_job ask = eligible_of(l, job, &scope);

	return eligible_check(&l->world, &ask, why);
}

void sim_limits_start(struct sim_limits *l, uint32_t job)
{
	int32_t scope = 0;
	const struct eligible_job ask = eligible_of(l, job, &scope);

	eligible_add(&l->world, &ask);
}

void sim_limits_end(struct sim_limits *l, uint32_t job)
{
	int32_t scope = 0;
	const struct eligible_job ask = eligible_of(l, job, &scope);

	eligible_remove(&l->world, &ask);
}

static void hold_cores(struct sim_limits *l, uint32_t job, int sign)
{
	int32_t scope = 0;
	const struct eligible_job ask = eligible_of(l, job, &scope);

	if (ask.n_scopes)
		l->world.scopes[scope].running.cores += sign * ask.want.cores;
}

void sim_limits_suspend(struct sim_limits *l, uint32_t job)
{
	hold_cores(l, job, -1);
}

void sim_limits_resume(struct sim_limits *l, uint32_t job)
{
	hold_cores(l, job, 1);
}
