/* target - an allocation as a rate to average over a period; nothing is ever refused by it.
 *
 * Pure, exact integers. Source: Alliance, "What is an allocation?" and "What happens if my
 * group overuses my CPU or GPU allocation?". A target of 100 core-years a year is a rate of
 * 100: an outage earns nothing, and extending the period takes nothing away.
 *
 * Units: milli-equivalent-seconds and nanoseconds since the epoch. Shares are per million,
 * projections whole units, both rounded half up.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "controller/policy/charge.h"

#define TARGET_RECENT_NS (30 * 86400 * INT64_C(1000000000))

struct target {
	struct fraction rate; /* equivalents to average; above 0 */
	int64_t start_ns, end_ns;
};

struct target_use {
	int64_t used_ms;   /* since the start of the period */
	int64_t recent_ms; /* of that, in the last 30 days */
};

struct target_view {
	int64_t total_ms;     /* rate x the whole period */
	int64_t due_ms;	      /* rate x what has passed of it */
	int64_t used_ppm;     /* used of the total */
	int64_t passed_ppm;   /* of the period */
	bool has_projection;  /* some of the period has passed */
	int64_t by_year_ms;   /* the year to date goes on: used x period / passed */
	int64_t by_recent_ms; /* the last 30 days (or what has passed, if less) go on:
				 used + recent x what is left / 30 days */
	int64_t by_year_ppm, by_recent_ppm; /* of the total */
};

/* Before the start nothing has passed; after the end all has, and both projections are what
 * was used. -EINVAL: an empty period, no rate, negative use, or more in the last 30 days than
 * in all; -ERANGE. */
int target_look(const struct target *t, const struct target_use *u, int64_t now_ns,
		struct target_view *ret);
