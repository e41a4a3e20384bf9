/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outage.c - sums the time between outages; see outage.h. */
#include "controller/policy/quota/outage.h"

static int64_t larger_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t outage_time_without(const struct outage_list *o, int64_t from_ns, int64_t to_ns)
{
	int64_t at = from_ns, sum = 0; /* at: all before it is counted */

	for (size_t i = 0; i < o->n && o->of[i].from_ns < to_ns; i++) {
		if (o->of[i].from_ns > at)
			sum += o->of[i].from_ns - at;
		at = larger_of(at, o->of[i].to_ns);
	}
	return to_ns > at ? sum + to_ns - at : sum;
}

int64_t outage_moment_after(const struct outage_list *o, int64_t from_ns, int64_t ns)
{
	int64_t at = from_ns;

	for (size_t i = 0; i < o->n; i++) {
		int64_t free_ns = o->of[i].from_ns > at ? o->of[i].from_ns - at : 0;

		if (ns <= free_ns)
			break;
		ns -= free_ns;
		at = larger_of(at, o->of[i].to_ns);
	}
	return ns > INT64_MAX - at ? INT64_MAX : at + ns;
}
