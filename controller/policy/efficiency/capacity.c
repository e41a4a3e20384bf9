/* SPDX-License-Identifier: GPL-2.0-or-later */
/* capacity.c - spreads the capacity of nodes over days, and splits a day's into used and free. See capacity.h. */
#include "common/time_units.h"
#include "controller/policy/efficiency/capacity.h"

void capacity_add(const struct capacity_days *days, const struct capacity_change *c,
		  int64_t from_ns, int64_t to_ns)
{
	const struct tally_days *k = days->calendar;
	int64_t day = k->day_of(k->ctx, from_ns);

	if (day < days->first_day)
		day = days->first_day;
	for (; from_ns < to_ns && day < days->first_day + days->n; day++) {
		struct capacity_day *d = &days->of[day - days->first_day];
		int64_t first = k->first_ns(k->ctx, day), end = k->first_ns(k->ctx, day + 1);
		int64_t from = from_ns > first ? from_ns : first;
		int64_t to = to_ns < end ? to_ns : end;

		if (to > from) {
			d->core_ms[c->state] += (to - from) / MS_NS * c->ncpus;
			d->gpu_ms[c->state] += (to - from) / MS_NS * c->ngpus;
		}
		from_ns = to_ns < end ? to_ns : end;
	}
}

struct capacity_use capacity_split(const int64_t by_state[static _CAPACITY_STATE_MAX],
				   int64_t charged)
{
	struct capacity_use use = { .charged = charged,
				    .drained = by_state[CAPACITY_DRAINED],
				    .down = by_state[CAPACITY_DOWN] };
	int64_t beyond = charged - by_state[CAPACITY_UP];

	if (beyond <= 0)
		use.free = -beyond;
	else
		use.drained = beyond < use.drained ? use.drained - beyond : 0;
	return use;
}
