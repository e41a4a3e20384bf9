/* score.c - see preempt.h. */
#include <math.h>
#include "controller/scheduler/preempt.h"

static double within(double x, double low, double high)
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

static double xfactor(const struct preempt_side *j, double projected_s)
{
	double limit = at_least_one(j->limit_s);

	return (limit + (double)j->suspended_s + (double)j->late_s + projected_s) / limit;
}

double preempt_xfactor(const struct preempt_side *j)
{
	return xfactor(j, 0);
}

struct preempt_score preempt_score(const struct preempt_side *a, const struct preempt_side *b)
{
	struct preempt_score s = { .xfactor = xfactor(b, (double)(a->limit_s - a->ran_s)) };
	double size = log2(at_least_one(a->cores) / at_least_one(b->cores)) / 4;
	double running = log2((1 + (double)b->n_running) / (1 + (double)a->n_running)) / 6;
	double done = within((double)b->ran_s / at_least_one(b->limit_s), 0, 1);

	s.size = cube(within(size, -1, 1));
	s.running = cube(within(running, -1, 1));
	s.expansion = -cube(within((s.xfactor - 1) / (PREEMPT_XFACTOR - 1), 0, 2));
	done *= done;
	done *= done;
	s.done = -2 * done * done;
	s.sum = s.size + s.running + s.expansion + s.done;
	s.may_parallel = s.sum > 0 && s.xfactor <= PREEMPT_XFACTOR && b->cores < a->cores;
	return s;
}
