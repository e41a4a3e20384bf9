/* SPDX-License-Identifier: GPL-2.0-or-later */
/* easy.c - EASY backfill on a pool of cores; see easy.h for the rule. */
#include <errno.h>
#include "controller/simulate/pool/easy.h"
#include "controller/simulate/pool/queue_tree.h"
#include "controller/simulate/pool/running_set.h"

struct easy {
	const struct pool_job *jobs;
	size_t n;
	struct queue_tree *queue;
	struct running_set *running;
	int64_t *end_s;		/* by its estimate, of each that has started */
	int64_t free;		/* cores */
	uint32_t arrived, next; /* next: the first place that this instant has to look at */
	uint32_t first;		/* no job before this place waits */
	bool has_head;
	uint32_t head;
	int64_t shadow_s, extra; /* of the head */
};

int easy_new(const struct pool_job *jobs, size_t n, int64_t cores, struct easy **ret)
{
	_cleanup_(easy_freep) struct easy *e = calloc(1, sizeof(*e));
	int r;

	if (!e || !(e->end_s = calloc(n ? n : 1, sizeof(*e->end_s))))
		return -ENOMEM;
	e->jobs = jobs;
	e->n = n;
	e->free = cores;
	r = queue_tree_new(n, &e->queue);
	if (r == 0)
		r = running_set_new(&e->running);
	if (r == 0)
		*ret = TAKE_PTR(e);
	return r;
}

struct easy *easy_free(struct easy *e)
{
	if (!e)
		return NULL;
	queue_tree_free(e->queue);
	running_set_free(e->running);
	free(e->end_s);
	free(e);
	return NULL;
}

void easy_arrive(struct easy *e)
{
	const struct pool_job *j = &e->jobs[e->arrived];

	queue_tree_add(e->queue, e->arrived++, j->cores, j->estimate_s);
}

void easy_end(struct easy *e, uint32_t job)
{
	const struct running_set_job j = { e->end_s[job], job, e->jobs[job].cores };

	running_set_remove(e->running, &j);
	e->free += j.cores;
	/* More cores are free: the head or its shadow time changes, and all jobs are
	 * candidates. */
	e->has_head = false;
	e->next = e->first;
}

static int start_job(struct easy *e, uint32_t job, int64_t now_s)
{
	const struct running_set_job j = { now_s + e->jobs[job].estimate_s, job,
					   e->jobs[job].cores };
	int r = running_set_add(e->running, &j);

	if (r < 0)
		return r;
	e->end_s[job] = j.end_s;
	e->free -= j.cores;
	queue_tree_remove(e->queue, job);
	return 1;
}

/* Starts the first waiting job if it fits (1). Otherwise it becomes the head, with shadow time
 * and extra cores (0, has_head); or nothing waits (0). */
static int start_head(struct easy *e, int64_t now_s, uint32_t *ret)
{
	uint32_t first = queue_tree_next(e->queue, e->next, &QUEUE_TREE_ALL);
	int64_t freed;

	if (first == QUEUE_TREE_NONE) {
		e->next = e->first = e->arrived;
		return 0;
	}
	e->first = first;
	e->next = first + 1;
	*ret = first;
	if (e->jobs[first].cores <= e->free)
		return start_job(e, first, now_s);
	e->head = first;
	/* Free and running cores are the whole pool, and no job is larger: this cannot fail. */
	if (running_set_when(e->running, e->jobs[first].cores - e->free, &e->shadow_s, &freed) <
	    0)
		return -EINVAL;
	e->extra = e->free + freed - e->jobs[first].cores;
	e->has_head = true;
	return 0;
}

/* A job that runs beyond the shadow time uses extra cores; one that ends before it does not. */
static int start_backfill(struct easy *e, int64_t now_s, uint32_t *ret)
{
	const struct queue_tree_limit limit = {
		.cores = e->free,
		.estimate_s = e->shadow_s - now_s,
		.any_cores = e->extra < e->free ? e->extra : e->free,
	};
	uint32_t job = queue_tree_next(e->queue, e->next, &limit);

	if (job == QUEUE_TREE_NONE) {
		e->next = e->arrived;
		return 0;
	}
	e->next = job + 1;
	if (e->jobs[job].estimate_s > limit.estimate_s)
		e->extra -= e->jobs[job].cores;
	*ret = job;
	return start_job(e, job, now_s);
}

int easy_next(struct easy *e, int64_t now_s, uint32_t *ret)
{
	int r = e->has_head ? 0 : start_head(e, now_s, ret);

	if (r != 0 || !e->has_head)
		return r;
	return start_backfill(e, now_s, ret);
}
