/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.c - runs the live system's scheduler as a policy of a replay; see profile.h. */
#include <errno.h>
#include <inttypes.h>
#include "common/err.h"
#include "controller/simulate/limits.h"
#include "controller/simulate/profile.h"

struct engine {
	struct sim_profile p;
	const struct sim_trace *trace;
	struct schedule *schedule;
	struct sim_usage *usage;   /* NULL: fairshare does not count */
	struct sim_limits *limits; /* NULL: there are none */
	struct sim_grants *grants; /* NULL: there are none */
	int64_t whole, all_nodes, all_cores;
	int32_t *number;   /* of each job of the trace, in the schedule */
	uint32_t *waiting; /* jobs of the trace */
	uint32_t *place;   /* of each job, in waiting */
	size_t n_waiting, n_suspended;
	int64_t ranked_s;
	const struct schedule_action *actions; /* of the last pass; NULL: all were returned */
	size_t n_actions, done;
};

static void engine_free(void *self)
{
	struct engine *e = self;

	schedule_free(e->schedule);
	sim_usage_free(e->usage);
	sim_limits_free(e->limits);
	sim_grants_free(e->grants);
	free(e->number);
	free(e->waiting);
	free(e->place);
	free(e);
}
DEFINE_CLEANUP(struct engine *, engine_free)

/* ---- priorities ---- */

static int compute_priority(const struct engine *e, uint32_t job, int64_t now_s, int64_t *ret)
{
	const struct sim_job *j = &e->trace->jobs[job];
	const struct sim_qos *qos = sim_qos_of(&e->p.qos, job);
	const struct priority_job ask = {
		.eligible_s = now_s - j->submit_s,
		.fairshare = e->usage ? sim_usage_factor(e->usage, job) : 0,
		.nodes = (j->cores + e->whole - 1) / e->whole,
		.cores = j->cores,
		.all_nodes = e->all_nodes,
		.all_cores = e->all_cores,
		.limit_s = j->estimate_s,
		.own = { [PRIORITY_QOS] = qos ? qos->priority : 0 },
	};
	struct priority p;
	int r = priority_explain(&e->p.priority, &ask, &p);

	if (r == 0)
		*ret = p.value;
	return r;
}

static bool uses_priority(const struct engine *e)
{
	for (int i = 0; i < _PRIORITY_FACTOR_MAX; i++)
		if (e->p.priority.weight[i])
			return e->p.rule == SCHEDULE_PRIORITY;
	return false;
}

/* Computes ranks and priorities of all waiting jobs again, every SIM_RANK_EVERY_S. */
static int update_ranks(struct engine *e, int64_t now_s)
{
	int r = 0;

	if (!uses_priority(e) || now_s - e->ranked_s < SIM_RANK_EVERY_S)
		return 0;
	e->ranked_s = now_s;
	if (e->usage)
		r = sim_usage_rank(e->usage, now_s, NULL);
	for (size_t i = 0; i < e->n_waiting && r == 0; i++) {
		uint32_t job = e->waiting[i];
		int64_t priority;

		r = compute_priority(e, job, now_s, &priority);
		if (r == 0)
			schedule_set_priority(e->schedule, e->number[job], priority);
	}
	return r;
}

/* ---- events ---- */

/* Splits the cores into whole nodes and one chunk of the rest. Returns the number of kinds of
 * chunks. */
static int32_t split_chunks(const struct engine *e, int64_t cores,
			    struct schedule_chunk ret[static 2])
{
	int32_t n = 0;

	if (cores >= e->whole)
		ret[n++] = (struct schedule_chunk){ .cores = e->whole,
						    .n = (int32_t)(cores / e->whole) };
	if (cores % e->whole)
		ret[n++] = (struct schedule_chunk){ .cores = cores % e->whole, .n = 1 };
	return n;
}

enum { QUEUE_NORMAL, QUEUE_BONUS };

/* What its running counts in fairshare: nothing in bonus. */
static int64_t usage_cores(const struct engine *e, uint32_t job)
{
	if (e->grants && sim_grants_is_bonus(e->grants, job))
		return 0;
	return e->trace->jobs[job].cores;
}

static int on_arrive(void *self, uint32_t job, int64_t now_s)
{
	struct engine *e = self;
	const struct sim_job *j = &e->trace->jobs[job];
	struct schedule_chunk chunks[2];
	struct schedule_job ask = { .id = job,
				    .user = (int32_t)j->user,
				    .group = (int32_t)j->group,
				    .chunks = chunks,
				    .n_chunks = split_chunks(e, j->cores, chunks),
				    .submit_s = j->submit_s,
				    .limit_s = j->estimate_s };
	int r = e->grants ? sim_grants_arrive(e->grants, job, now_s) : 0;

	if (r < 0)
		return r;
	ask.queue = r > 0 ? QUEUE_BONUS : QUEUE_NORMAL;
	r = uses_priority(e) ? compute_priority(e, job, now_s, &ask.priority) : 0;
	if (r == 0)
		r = schedule_add(e->schedule, &ask, &e->number[job]);
	if (r < 0)
		return r;
	e->place[job] = (uint32_t)e->n_waiting;
	e->waiting[e->n_waiting++] = job;
	return 0;
}

static int on_end(void *self, uint32_t job, int64_t now_s)
{
	struct engine *e = self;

	schedule_remove(e->schedule, e->number[job]);
	if (e->limits)
		sim_limits_end(e->limits, job);
	if (e->usage)
		sim_usage_hold(e->usage, job, now_s, -usage_cores(e, job));
	if (e->grants)
		sim_grants_end(e->grants, job);
	return 0;
}

static void remove_waiting(struct engine *e, uint32_t job)
{
	uint32_t last = e->waiting[--e->n_waiting];

	e->waiting[e->place[job]] = last;
	e->place[last] = e->place[job];
}

static struct sim_action apply_action(struct engine *e, const struct schedule_action *a,
				      int64_t now_s)
{
	static const enum sim_act acts[] = { [SCHEDULE_START] = SIM_START,
					     [SCHEDULE_RESUME] = SIM_RESUME,
					     [SCHEDULE_SUSPEND] = SIM_SUSPEND };
	uint32_t job = (uint32_t)schedule_job(e->schedule, a->job)->id;
	int64_t cores = usage_cores(e, job);

	if (a->what == SCHEDULE_START)
		remove_waiting(e, job);
	else
		e->n_suspended +=
			a->what == SCHEDULE_SUSPEND ? 1 : (size_t)-1; /* else resumed */
	if (e->limits && a->what == SCHEDULE_SUSPEND)
		sim_limits_suspend(e->limits, job);
	else if (e->limits && a->what == SCHEDULE_RESUME)
		sim_limits_resume(e->limits, job);
	if (e->usage)
		sim_usage_hold(e->usage, job, now_s,
			       a->what == SCHEDULE_SUSPEND ? -cores : cores);
	return (struct sim_action){ acts[a->what], job };
}

/* A pass returns a list of actions; the replay takes them one by one. A pass is made again
 * until it returns none: what one pass starts may let the next one decide more. */
static int on_next(void *self, int64_t now_s, struct sim_action *ret)
{
	struct engine *e = self;
	int r = 0;

	if (!e->n_waiting && !e->n_suspended && !e->actions)
		return 0;
	if (!e->actions) {
		r = update_ranks(e, now_s);
		if (r == 0)
			r = schedule_pass(e->schedule, now_s, &e->actions, &e->n_actions);
		e->done = 0;
	}
	if (r < 0)
		return r;
	if (e->done < e->n_actions) {
		*ret = apply_action(e, &e->actions[e->done++], now_s);
		return 1;
	}
	e->actions = NULL;
	return 0;
}

static int64_t on_wake(void *self, int64_t now_s)
{
	const struct engine *e = self;

	if (e->p.rule != SCHEDULE_PREEMPT || (!e->n_waiting && !e->n_suspended))
		return SIM_NEVER;
	return now_s + SIM_WAKE_S;
}

static const struct sim_policy_ops engine_ops = {
	.arrive = on_arrive,
	.end = on_end,
	.next = on_next,
	.wake_s = on_wake,
	.free = engine_free,
};

/* ---- limits ---- */

static bool may_start(void *ctx, int64_t id)
{
	const struct engine *e = ctx;

	return sim_limits_may_start(e->limits, (uint32_t)id);
}

static void on_start(void *ctx, int64_t id, bool is_withdrawn)
{
	struct engine *e = ctx;

	(is_withdrawn ? sim_limits_end : sim_limits_start)(e->limits, (uint32_t)id);
}

/* ---- the machine ---- */

static int add_nodes(struct engine *e)
{
	int r = 0;

	for (size_t k = 0; k < e->p.n_kinds; k++) {
		const struct schedule_node node = { .cores = e->p.kinds[k].cores,
						    .is_open = true };

		e->all_nodes += e->p.kinds[k].nodes;
		e->all_cores += e->p.kinds[k].nodes * node.cores;
		if (!e->whole || node.cores < e->whole)
			e->whole = node.cores;
		for (int64_t i = 0; i < e->p.kinds[k].nodes && r == 0; i++)
			r = schedule_add_node(e->schedule, &node);
	}
	return r == 0 && e->all_nodes == 0 ? -EINVAL : r;
}

static int open_parts(struct engine *e, struct err *err)
{
	size_t n = e->trace->n;
	int r = sim_limits_new(e->trace, &e->p.qos, &e->limits);
	const struct schedule_config config = { .rule = e->p.rule,
						.run_priority = { e->p.run_priority,
								  e->p.bonus_run_priority },
						.reserve_after_s = e->p.reserve_after_s,
						.may_start = e->limits ? may_start : NULL,
						.on_start = e->limits ? on_start : NULL,
						.ctx = e };

	if (r == 0 && e->p.grants)
		r = sim_grants_new(e->trace, e->p.grants, &e->p.qos, &e->grants);
	if (r == 0)
		r = schedule_new(&config, &e->schedule);

	e->number = malloc((n + 1) * sizeof(*e->number));
	e->waiting = malloc((n + 1) * sizeof(*e->waiting));
	e->place = malloc((n + 1) * sizeof(*e->place));
	if (r == 0 && (!e->number || !e->waiting || !e->place))
		r = -ENOMEM;
	if (r == 0)
		r = add_nodes(e);
	if (r < 0)
		return err_set(err, r,
			       r == -ENOMEM ? "out of memory" : "the machine has no nodes");
	if (!e->p.has_fairshare || !uses_priority(e))
		return 0;
	r = sim_usage_new(e->trace, &e->p.usage, &e->usage, err);
	return r < 0 ? r : sim_usage_rank(e->usage, 0, err);
}

int sim_profile_new(const struct sim_profile *p, const struct sim_trace *t,
		    struct sim_policy *ret, struct err *err)
{
	_cleanup_(engine_freep) struct engine *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->p = *p;
	e->p.usage.qos = p->qos;
	e->trace = t;
	r = open_parts(e, err);
	if (r == 0)
		*ret = (struct sim_policy){ &engine_ops, TAKE_PTR(e) };
	return r;
}
