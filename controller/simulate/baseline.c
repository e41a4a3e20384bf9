/* SPDX-License-Identifier: GPL-2.0-or-later */
/* baseline.c - adapts the policies fcfs and easy to the interface of a replay (policy.h). */
#include <errno.h>
#include <string.h>
#include "controller/simulate/pool/easy.h"
#include "controller/simulate/pool/fcfs.h"
#include "controller/simulate/policy.h"

struct baseline {
	struct pool_job *jobs;
	struct fcfs fcfs;
	struct easy *easy;
};

static void baseline_free(void *self)
{
	struct baseline *b = self;

	easy_free(b->easy);
	free(b->jobs);
	free(b);
}

static int on_fcfs_arrive(void *self, uint32_t job, int64_t now_s)
{
	struct baseline *b = self;

	(void)job;
	(void)now_s;
	fcfs_arrive(&b->fcfs);
	return 0;
}

static int on_fcfs_end(void *self, uint32_t job, int64_t now_s)
{
	struct baseline *b = self;

	(void)now_s;
	fcfs_end(&b->fcfs, job);
	return 0;
}

static int on_fcfs_next(void *self, int64_t now_s, struct sim_action *ret)
{
	struct baseline *b = self;

	(void)now_s;
	ret->act = SIM_START;
	return fcfs_next(&b->fcfs, &ret->job);
}

static int on_easy_arrive(void *self, uint32_t job, int64_t now_s)
{
	struct baseline *b = self;

	(void)job;
	(void)now_s;
	easy_arrive(b->easy);
	return 0;
}

static int on_easy_end(void *self, uint32_t job, int64_t now_s)
{
	struct baseline *b = self;

	(void)now_s;
	easy_end(b->easy, job);
	return 0;
}

static int on_easy_next(void *self, int64_t now_s, struct sim_action *ret)
{
	struct baseline *b = self;

	ret->act = SIM_START;
	return easy_next(b->easy, now_s, &ret->job);
}

static const struct sim_policy_ops fcfs_ops = {
	.arrive = on_fcfs_arrive,
	.end = on_fcfs_end,
	.next = on_fcfs_next,
	.free = baseline_free,
};

static const struct sim_policy_ops easy_ops = {
	.arrive = on_easy_arrive,
	.end = on_easy_end,
	.next = on_easy_next,
	.free = baseline_free,
};

static struct pool_job *copy_jobs(const struct sim_trace *t)
{
	struct pool_job *jobs = malloc((t->n ? t->n : 1) * sizeof(*jobs));

	for (size_t i = 0; jobs && i < t->n; i++)
		jobs[i] = (struct pool_job){ t->jobs[i].cores, t->jobs[i].estimate_s };
	return jobs;
}

int sim_baseline_new(const char *name, const struct sim_trace *t, int64_t cores,
		     struct sim_policy *ret)
{
	bool is_easy = !strcmp(name, "easy");
	struct baseline *b;
	int r = 0;

	if (!is_easy && strcmp(name, "fcfs") != 0)
		return -ENOENT;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->jobs = copy_jobs(t);
	if (!b->jobs)
		r = -ENOMEM;
	else if (is_easy)
		r = easy_new(b->jobs, t->n, cores, &b->easy);
	else
		b->fcfs = fcfs_init(b->jobs, cores);
	if (r < 0)
		baseline_free(b);
	else
		*ret = (struct sim_policy){ is_easy ? &easy_ops : &fcfs_ops, b };
	return r;
}
