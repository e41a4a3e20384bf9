/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target.c - the state of a target at a moment and its projections; see target.h. */
#include <errno.h>
#include "controller/policy/quota/target.h"

#define PPM 1000000

/* v x num / den, rounded half up; all >= 0, den > 0. */
static int scale_half_up(int64_t v, int64_t num, int64_t den, int64_t *ret)
{
	__int128 n = (__int128)v * num, q = n / den, rest = n % den;

	q += rest >= den - rest;
	if (q > INT64_MAX)
		return -ERANGE;
	*ret = (int64_t)q;
	return 0;
}

int target_project(const struct target_pace *p, int64_t *ret_by_year_ms,
		   int64_t *ret_by_recent_ms)
{
	const struct target_use *u = &p->use;
	int64_t recent_ns = u->recent_ns > 0 ? u->recent_ns : TARGET_RECENT_NS;
	int64_t by_year, more;
	int r;

	if (p->passed_ns <= 0 || p->passed_ns > p->whole_ns || u->recent_ms < 0 ||
	    u->recent_ms > u->used_ms)
		return -EINVAL;
	if (recent_ns > p->passed_ns)
		recent_ns = p->passed_ns;
	r = scale_half_up(u->used_ms, p->whole_ns, p->passed_ns, &by_year);
	if (r == 0)
		r = scale_half_up(u->recent_ms, p->whole_ns - p->passed_ns, recent_ns, &more);
	if (r < 0)
		return r;
	if (__builtin_add_overflow(u->used_ms, more, &more))
		return -ERANGE;
	*ret_by_year_ms = by_year;
	*ret_by_recent_ms = more;
	return 0;
}

int target_find_end(const struct target_pace *p, int64_t total_ms, int64_t *ret_ns)
{
	int64_t recent_ns = p->use.recent_ns > 0 ? p->use.recent_ns : TARGET_RECENT_NS;
	int64_t by_year, by_recent;
	int r = total_ms > 0 ? target_project(p, &by_year, &by_recent) : -EINVAL;

	if (r < 0)
		return r;
	*ret_ns = 0;
	if (p->use.used_ms >= total_ms)
		return 0;
	if (by_recent < total_ms || p->use.recent_ms == 0)
		return -ENOENT;
	if (recent_ns > p->passed_ns)
		recent_ns = p->passed_ns;
	r = scale_half_up(total_ms - p->use.used_ms, recent_ns, p->use.recent_ms, ret_ns);
	if (r < 0 || *ret_ns <= p->whole_ns - p->passed_ns)
		return r;
	*ret_ns = p->whole_ns - p->passed_ns; /* rounding: by_recent is the total */
	return 0;
}

/* None before the period begins: nothing has passed to extrapolate from. */
static int add_projection(const struct target_pace *p, struct target_view *v)
{
	int r;

	v->has_projection = p->passed_ns > 0;
	if (!v->has_projection || target_find_end(p, v->total_ms, &v->end_ns) < 0)
		v->end_ns = -1;
	if (!v->has_projection)
		return 0;
	r = target_project(p, &v->by_year_ms, &v->by_recent_ms);
	if (r == 0)
		r = scale_half_up(v->by_year_ms, PPM, v->total_ms, &v->by_year_ppm);
	return r < 0 ? r : scale_half_up(v->by_recent_ms, PPM, v->total_ms, &v->by_recent_ppm);
}

/* The elapsed part of the period at a moment. */
static int64_t find_passed(const struct target *t, int64_t now_ns)
{
	if (now_ns <= t->start_ns)
		return 0;
	return (now_ns < t->end_ns ? now_ns : t->end_ns) - t->start_ns;
}

/* The same without outages, and the last days' too. */
static struct target_pace find_pace(const struct target *t, const struct target_use *u,
				    int64_t passed_ns)
{
	const int64_t now = t->start_ns + passed_ns;
	int64_t recent_ns = u->recent_ns > 0 ? u->recent_ns : TARGET_RECENT_NS;
	struct target_pace p = {
		.use = *u,
		.whole_ns = outage_time_without(&t->outages, t->start_ns, t->end_ns),
		.passed_ns = outage_time_without(&t->outages, t->start_ns, now),
	};

	if (recent_ns > passed_ns)
		recent_ns = passed_ns;
	p.use.recent_ns = outage_time_without(&t->outages, now - recent_ns, now);
	return p;
}

/* end_ns counts time without outages: becomes a time from now. */
static void pass_outages(const struct target *t, int64_t passed_ns, struct target_view *v)
{
	const int64_t now = t->start_ns + passed_ns;

	if (v->end_ns > 0)
		v->end_ns = outage_moment_after(&t->outages, now, v->end_ns) - now;
}

int target_compute(const struct target *t, const struct target_use *u, int64_t now_ns,
		   struct target_view *ret)
{
	struct target_view v = { 0 };
	struct target_pace pace;
	int64_t whole_ns, passed_ns;
	int r;

	if (__builtin_sub_overflow(t->end_ns, t->start_ns, &whole_ns))
		return -ERANGE;
	if (whole_ns <= 0 || t->rate.num <= 0 || t->rate.den <= 0 || u->recent_ms < 0 ||
	    u->recent_ms > u->used_ms)
		return -EINVAL;
	passed_ns = find_passed(t, now_ns);
	pace = find_pace(t, u, passed_ns);
	v.outage_ns = passed_ns - pace.passed_ns;
	r = charge_requested(t->rate, whole_ns, &v.total_ms);
	if (r == 0 && v.total_ms == 0)
		return -EINVAL;
	if (r == 0)
		r = charge_requested(t->rate, pace.passed_ns, &v.due_ms);
	if (r == 0)
		r = scale_half_up(u->used_ms, PPM, v.total_ms, &v.used_ppm);
	if (r == 0)
		r = scale_half_up(v.due_ms, PPM, v.total_ms, &v.due_ppm);
	if (r == 0)
		r = scale_half_up(passed_ns, PPM, whole_ns, &v.passed_ppm);
	if (r == 0)
		r = add_projection(&pace, &v);
	if (r < 0)
		return r;
	pass_outages(t, passed_ns, &v);
	*ret = v;
	return 0;
}
