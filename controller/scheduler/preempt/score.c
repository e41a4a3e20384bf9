/* SPDX-License-Identifier: GPL-2.0-or-later */
/* score.c - the XFactor of a job, and the score of a pair of preemptor and preemptee. preempt.h has
 * the formulas and their source. */
#include <math.h>
#include "controller/scheduler/preempt/preempt.h"

static double clamp_to(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

static double cube(double x)
{
	return x * x * x;
}

static double at_least_one(int64_t n)
{
	return n > 1 ? (double)n : 1;
}

static double xfactor_of(const struct preempt_job *j, double projected_s)
{
	double limit = at_least_one(j->limit_s);

	return (limit + (double)j->suspended_s + (double)j->overdue_s + projected_s) / limit;
}

double preempt_xfactor(const struct preempt_job *j)
{
	return xfactor_of(j, 0);
}

struct preempt_score preempt_score(const struct preempt_job *a, const struct preempt_job *b)
{
	struct preempt_score s = { .xfactor = xfactor_of(b, (double)(a->limit_s - a->ran_s)) };
	double size = log2(at_least_one(a->cores) / at_least_one(b->cores)) / 4;
	double running = log2((1 + (double)b->n_running) / (1 + (double)a->n_running)) / 6;
	double done = clamp_to((double)b->ran_s / at_least_one(b->limit_s), 0, 1);

	s.size = cube(clamp_to(size, -1, 1));
	s.running = cube(clamp_to(running, -1, 1));
	s.expansion = -cube(clamp_to((s.xfactor - 1) / (PREEMPT_XFACTOR - 1), 0, 2));
	done *= done;
	done *= done;
	s.done = -2 * done * done;
	s.sum = s.size + s.running + s.expansion + s.done;
	s.may_parallel = s.sum > 0 && s.xfactor <= PREEMPT_XFACTOR && b->cores < a->cores;
	return s;
}
