/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.c - computes the running and the suspended time of a job; see clock.h. */
#include "agent/enforce/clock.h"
#include "common/time_units.h"

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* From start to end, or to `now_ns` while the job has not ended. 0 before the start. */
static int64_t elapsed_ns(const struct clock *c, int64_t now_ns)
{
	int64_t until = c->end_ns ? c->end_ns : now_ns;

	return c->start_ns && until > c->start_ns ? until - c->start_ns : 0;
}

void clock_start(struct clock *c, int64_t at_ns)
{
	*c = (struct clock){ .start_ns = at_ns };
}

/* A second freeze, and one of a job that has ended, changes nothing; so does a thaw without a freeze: events
 * may come twice, from a hook and from the file. */
void clock_freeze(struct clock *c, int64_t at_ns)
{
	if (!c->since_ns && c->start_ns && !c->end_ns)
		c->since_ns = at_ns > c->start_ns ? at_ns : c->start_ns;
}

void clock_thaw(struct clock *c, int64_t at_ns)
{
	if (!c->since_ns || c->end_ns)
		return;
	if (at_ns > c->since_ns)
		c->frozen_ns += at_ns - c->since_ns;
	c->since_ns = 0;
}

/* The account is the kernel's own: it replaces what single events added up to, some of which may be lost. */
void clock_sync(struct clock *c, struct clock_account k, int64_t at_ns)
{
	int64_t open_ns;

	if (!c->start_ns || c->end_ns)
		return;
	c->since_ns = k.frozen ? clamp(k.since_ns, c->start_ns, at_ns) : 0;
	open_ns = c->since_ns ? at_ns - c->since_ns : 0;
	c->frozen_ns = clamp(k.total_ns - open_ns, 0, elapsed_ns(c, at_ns));
}

void clock_stop(struct clock *c, int64_t at_ns)
{
	if (!c->start_ns || c->end_ns)
		return;
	clock_thaw(c, at_ns);
	c->end_ns = at_ns > c->start_ns ? at_ns : c->start_ns;
}

int64_t clock_suspended_ns(const struct clock *c, int64_t now_ns)
{
	int64_t open_ns = c->since_ns && now_ns > c->since_ns ? now_ns - c->since_ns : 0;

	return clamp(c->frozen_ns + open_ns, 0, elapsed_ns(c, now_ns));
}

int64_t clock_running_ns(const struct clock *c, int64_t now_ns)
{
	return elapsed_ns(c, now_ns) - clock_suspended_ns(c, now_ns);
}

/* A frozen job has none: its deadline moves until it is thawed. */
int64_t clock_deadline_ns(const struct clock *c, int64_t limit_s)
{
	int64_t limit_ns, at_ns;

	if (!c->start_ns || c->end_ns || c->since_ns || limit_s <= 0)
		return CLOCK_NEVER;
	if (__builtin_mul_overflow(limit_s, S_NS, &limit_ns) ||
	    __builtin_add_overflow(c->start_ns + c->frozen_ns, limit_ns, &at_ns))
		return CLOCK_NEVER;
	return at_ns;
}
