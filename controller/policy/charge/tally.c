/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tally.c - makes the cumulative tally of an attempt and splits its growth at the days; see
 * tally.h. */
#include "controller/policy/charge/tally.h"

/* Cpu time, at most cores x running time. The kernel's figure includes the start and the end of
 * the unit, which lie outside the running time: without the bound, a short job would appear to
 * have used more cores than it had. -1 (not measured) stays -1. */
static int64_t cpu_within(const struct tally_terms *t, const struct tally_use *u)
{
	int64_t held_ns;

	if (__builtin_mul_overflow(t->ncpus, u->running_ns, &held_ns) || u->cpu_ns < held_ns)
		return u->cpu_ns;
	return held_ns;
}

int tally_make(const struct tally_terms *t, const struct tally_use *u, struct tally *ret)
{
	const struct charge_use use = { u->running_ns, cpu_within(t, u), u->mem_peak_bytes,
					t->ngpus - u->gpus_idle };
	struct tally made = { .running_ns = u->running_ns,
			      .suspended_ns = u->suspended_ns,
			      .cpu_ns = u->cpu_ns > 0 ? u->cpu_ns : 0 };
	int r = charge_requested(t->rate, u->running_ns, &made.charge_requested_ms);

	if (r >= 0)
		r = charge_used(&t->bundle, &use, &made.charge_used_ms);
	if (r >= 0)
		r = charge_requested((struct fraction){ t->ncpus, 1 }, u->running_ns,
				     &made.core_ms);
	if (r >= 0)
		r = charge_requested((struct fraction){ t->ngpus, 1 }, u->running_ns,
				     &made.gpu_ms);
	if (r < 0)
		return r;
	*ret = made;
	return 0;
}

struct tally tally_minus(const struct tally *b, const struct tally *a)
{
	return (struct tally){
		.running_ns = b->running_ns - a->running_ns,
		.suspended_ns = b->suspended_ns - a->suspended_ns,
		.cpu_ns = b->cpu_ns - a->cpu_ns,
		.charge_requested_ms = b->charge_requested_ms - a->charge_requested_ms,
		.charge_used_ms = b->charge_used_ms - a->charge_used_ms,
		.core_ms = b->core_ms - a->core_ms,
		.gpu_ms = b->gpu_ms - a->gpu_ms,
	};
}

/* The cumulative tally at a moment inside the span. Times are interpolated; charges are
 * computed from the interpolated running time, never interpolated themselves: rounded once, as
 * charge.h says. The charge as used has no such formula and is interpolated. */
static int tally_at(const struct tally_terms *t, const struct tally_span *s, int64_t at_ns,
		    struct tally *ret)
{
	const struct tally gain = tally_minus(&s->after, &s->before);
	int64_t part = at_ns - s->from_ns, whole = s->to_ns - s->from_ns;
	struct tally at = s->before;
	int r;

	if (at_ns >= s->to_ns) {
		*ret = s->after;
		return 0;
	}
	at.running_ns += charge_part(gain.running_ns, part, whole);
	at.suspended_ns += charge_part(gain.suspended_ns, part, whole);
	at.cpu_ns += charge_part(gain.cpu_ns, part, whole);
	at.charge_used_ms += charge_part(gain.charge_used_ms, part, whole);
	r = charge_requested(t->rate, at.running_ns, &at.charge_requested_ms);
	if (r >= 0)
		r = charge_requested((struct fraction){ t->ncpus, 1 }, at.running_ns,
				     &at.core_ms);
	if (r >= 0)
		r = charge_requested((struct fraction){ t->ngpus, 1 }, at.running_ns,
				     &at.gpu_ms);
	if (r < 0)
		return r;
	*ret = at;
	return 0;
}

int tally_split(const struct tally_terms *t, const struct tally_span *span,
		const struct tally_days *d, tally_day_fn fn, void *ctx)
{
	/* The moment `to` itself is outside: a span that ends at midnight ends the day before.
	 */
	int64_t last = d->day_of(d->ctx, span->to_ns - (span->to_ns > span->from_ns));
	int64_t day = span->from_ns < span->to_ns ? d->day_of(d->ctx, span->from_ns) : last;
	int64_t from_ns = span->from_ns;
	struct tally done = span->before;

	for (; day <= last; day++) {
		int64_t end_ns = d->first_ns(d->ctx, day + 1);
		struct tally at = span->after, gained;
		int r = day == last ? 0 : tally_at(t, span, end_ns, &at);

		if (r < 0)
			return r;
		if (day != last && end_ns <= from_ns)
			continue;
		gained = tally_minus(&at, &done);
		r = fn(ctx, day, &gained);
		if (r < 0)
			return r;
		done = at;
		from_ns = end_ns;
	}
	return 0;
}
