/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outage - time without jobs on a cluster, as operators declared it: the amount due by a moment, and how fast an
 * allocation is used, leave it out.
 *
 * Pure. An allocation does not change by it. Source: Alliance, "What is an allocation?": an outage of a week earns no
 * additional week.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct outage_span {
	int64_t from_ns, to_ns; /* half open */
};

/* In the order of from_ns; spans may overlap, and then count once. */
struct outage_list {
	struct outage_span *of;
	size_t n;
};

/* How long there was no outage from `from_ns` up to `to_ns`; 0 if that is before it. */
int64_t outage_time_without(const struct outage_list *o, int64_t from_ns, int64_t to_ns);
/* The moment at which `ns` (>= 0) without outages have passed since from_ns. */
int64_t outage_moment_after(const struct outage_list *o, int64_t from_ns, int64_t ns);
