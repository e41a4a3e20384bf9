/* SPDX-License-Identifier: GPL-2.0-or-later */
/* capacity - what the nodes of a cluster had on each day, by state: sums of cores x time and GPUs x time.
 *
 * Pure. Time before the first record of a node, and behind `now`, counts for nothing.
 */
#pragma once
#include <stdint.h>
#include "controller/policy/charge/tally.h"

/* On disk as numbers. */
enum capacity_state { CAPACITY_UP, CAPACITY_DRAINED, CAPACITY_DOWN, _CAPACITY_STATE_MAX };

struct capacity_day {
	int64_t core_ms[_CAPACITY_STATE_MAX], gpu_ms[_CAPACITY_STATE_MAX];
};

/* From this moment on a node was in this state, with so many cores and GPUs. */
struct capacity_change {
	int64_t at_ns;
	enum capacity_state state;
	int64_t ncpus, ngpus;
};

/* Adds the time in [from_ns, to_ns) after the change to the days [first_day, first_day + n). */
struct capacity_days {
	struct capacity_day *of;
	int64_t first_day;
	int64_t n;
	const struct tally_days *calendar;
};
void capacity_add(const struct capacity_days *days, const struct capacity_change *c,
		  int64_t from_ns, int64_t to_ns);

/* How the capacity of one day was used. What is charged runs on nodes that are up, or on drained ones until it
 * ends. */
struct capacity_use {
	int64_t charged, free, drained, down;
};
struct capacity_use capacity_split(const int64_t by_state[static _CAPACITY_STATE_MAX],
				   int64_t charged);
