/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.c - computes waits, slowdowns, quantiles and overtaking from the times of a replay;
 * see summary.h. */
#include <errno.h>
#include <string.h>
#include "controller/simulate/summary.h"

/* ---- quantiles ---- */

static void swap_values(int64_t *a, int64_t *b)
{
	int64_t c = *a;

	*a = *b;
	*b = c;
}

static int64_t median_of(int64_t a, int64_t b, int64_t c)
{
	if (a > b)
		swap_values(&a, &b);
	if (b > c)
		swap_values(&b, &c);
	return a > b ? a : b;
}

/* Quickselect: the value at place k of v[from] to v[to - 1] if they were sorted; the smaller
 * ones are then before it and the larger behind. Partitions into smaller, equal and larger:
 * most waits are 0, and two parts would take quadratic time. */
static int64_t select_nth(int64_t *v, size_t from, size_t to, size_t k)
{
	while (to - from > 1) {
		int64_t pivot = median_of(v[from], v[from + (to - from) / 2], v[to - 1]);
		size_t low = from, high = to, i = from;

		while (i < high) {
			if (v[i] < pivot)
				swap_values(&v[i++], &v[low++]);
			else if (v[i] > pivot)
				swap_values(&v[i], &v[--high]);
			else
				i++;
		}
		if (k >= low && k < high)
			return pivot;
		from = k < low ? from : high;
		to = k < low ? low : to;
	}
	return v[from];
}

/* Nearest rank of n > 0 values: place ceil(p n), counted from 0. */
static size_t rank_of(size_t n, size_t percent)
{
	return (n * percent - 1) / 100;
}

static struct sim_quantiles find_quantiles(int64_t *v, size_t n)
{
	struct sim_quantiles q = { 0 };
	size_t p50 = rank_of(n, 50), p95 = rank_of(n, 95), p99 = rank_of(n, 99);

	if (n == 0)
		return q;
	/* Each leaves the larger ones behind it. */
	q.p50 = select_nth(v, 0, n, p50);
	q.p95 = select_nth(v, p50, n, p95);
	q.p99 = select_nth(v, p95, n, p99);
	q.max = select_nth(v, p99, n, n - 1);
	return q;
}

/* ---- figures of a job ---- */

static int64_t wait_of(const struct sim_replay *r, size_t i)
{
	return r->times[i].start_s - r->trace->jobs[i].submit_s;
}

static double bounded_slowdown(const struct sim_replay *r, size_t i)
{
	const struct sim_job *j = &r->trace->jobs[i];
	int64_t run_s = j->run_s > SIM_BOUND_S ? j->run_s : SIM_BOUND_S;
	double s = (double)(r->times[i].end_s - j->submit_s) / (double)run_s;

	return s > 1 ? s : 1;
}

/* ---- starvation ---- */

/* ret[i]: how many jobs behind i in the trace started before it did. Jobs are taken in the
 * order of their starts; a Fenwick tree counts those that have started by place. */
static int count_overtaken(const struct sim_replay *r, int64_t *ret)
{
	size_t n = r->trace->n;
	_cleanup_free_ uint32_t *tree = calloc(n + 1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	for (size_t k = 0, last = 0; k < n; k++) {
		size_t job = r->order[k], before = 0;

		last = job > last ? job : last;
		if (job == last)
			before = k;
		for (size_t i = job + 1; i > 0 && job != last; i &= i - 1)
			before += tree[i];
		ret[job] = (int64_t)(k - before);
		for (size_t i = job + 1; i <= n; i += i & -i)
			tree[i]++;
	}
	return 0;
}

/* ---- the whole ---- */

static void sum_up(const struct sim_replay *r, struct sim_summary *s)
{
	const struct sim_trace *t = r->trace;
	double used = 0, waits = 0, slowdowns = 0;
	int64_t last = t->n ? t->jobs[0].submit_s : 0;

	s->jobs = t->n;
	for (size_t i = 0; i < t->n; i++) {
		used += (double)t->jobs[i].run_s * (double)t->jobs[i].cores;
		waits += (double)wait_of(r, i);
		slowdowns += bounded_slowdown(r, i);
		s->suspended_s += r->times[i].suspended_s;
		s->suspensions += r->times[i].suspensions;
		last = r->times[i].end_s > last ? r->times[i].end_s : last;
	}
	if (t->n == 0)
		return;
	s->makespan_s = last - t->jobs[0].submit_s;
	s->wait_mean_s = waits / (double)t->n;
	s->bounded_slowdown_mean = slowdowns / (double)t->n;
	s->utilisation = used / ((double)r->cores * (double)s->makespan_s);
}

static void sum_xfactors(const struct sim_replay *r, int64_t *v, struct sim_summary *s)
{
	for (size_t i = 0; i < s->jobs; i++) {
		int64_t suspended_s = r->times[i].suspended_s;
		int64_t estimate_s = r->trace->jobs[i].estimate_s;

		v[i] = 1000 + suspended_s * 1000 / estimate_s;
		s->xfactor_over +=
			1 + (double)suspended_s / (double)estimate_s > SIM_XFACTOR_MOST;
	}
	s->xfactor_milli = find_quantiles(v, s->jobs);
}

static void sum_deviations(const struct sim_replay *r, struct sim_summary *s)
{
	size_t n = r->fair ? sim_fairness_groups(r->fair) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct sim_group g;

		sim_fairness_group(r->fair, i, &g);
		if (g.deviation < 0)
			g.deviation = -g.deviation;
		s->deviation_mean += g.deviation / (double)n;
		if (g.deviation > s->deviation_max)
			s->deviation_max = g.deviation;
	}
}

int sim_summarise(const struct sim_replay *r, struct sim_summary *ret)
{
	size_t n = r->trace->n;
	_cleanup_free_ int64_t *v = malloc((n ? n : 1) * sizeof(*v));
	int got;

	if (!v)
		return -ENOMEM;
	*ret = (struct sim_summary){ 0 };
	sum_up(r, ret);
	for (size_t i = 0; i < n; i++)
		v[i] = wait_of(r, i);
	ret->wait_s = find_quantiles(v, n);
	sum_xfactors(r, v, ret);
	sum_deviations(r, ret);
	got = count_overtaken(r, v);
	if (got == 0)
		ret->overtaken = find_quantiles(v, n);
	return got;
}

void sim_count_waits(const struct sim_replay *r, const int64_t *bounds, size_t n,
		     size_t *ret_counts)
{
	memset(ret_counts, 0, n * sizeof(*ret_counts));
	for (size_t i = 0; i < r->trace->n; i++) {
		size_t low = 0, high = n;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (wait_of(r, i) <= bounds[middle])
				high = middle;
			else
				low = middle + 1;
		}
		if (low < n)
			ret_counts[low]++;
	}
	for (size_t i = 1; i < n; i++)
		ret_counts[i] += ret_counts[i - 1];
}
