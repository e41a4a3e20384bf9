/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target - an allocation as a rate to average over a period; a job is never refused for it.
 *
 * Pure, exact integers. Source: Alliance, "What is an allocation?" and "What happens if my
 * group overuses my CPU or GPU allocation?". A target of 100 core-years a year is a rate of
 * 100: an outage earns nothing, and extending the period takes nothing away. The amount due by a
 * moment, and how fast the target is used, leave outages out; the target itself does not change.
 *
 * Units: milli-equivalent-seconds and nanoseconds since the epoch. Shares are per million,
 * projections whole units, both rounded half up.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/time_units.h"
#include "controller/policy/charge/charge.h"
#include "controller/policy/quota/outage.h"

#define TARGET_RECENT_NS (30 * DAY_NS)

struct target {
	struct fraction rate; /* equivalents to average; above 0 */
	int64_t start_ns, end_ns;
	struct outage_list outages;
};

struct target_use {
	int64_t used_ms;   /* since the start of the period */
	int64_t recent_ms; /* of that, in the last recent_ns */
	int64_t recent_ns; /* 0: 30 days. Where usage is known by day: from the first instant of
			      the day 29 days ago until now */
};

/* Projects the usage at the end of the period, by two rules (times without outages):
 * the year to date goes on:	used x whole / passed
 * the last days go on:		used + recent x what is left / recent_ns (at most what passed)
 * Rounded half up. -EINVAL: nothing has passed (passed_ns <= 0), more has than the whole,
 * negative use, or more in the recent days than in all; -ERANGE. */
struct target_pace {
	struct target_use use;
	int64_t whole_ns, passed_ns;
};
int target_project(const struct target_pace *p, int64_t *ret_by_year_ms,
		   int64_t *ret_by_recent_ms);

/* When the last days' rate uses up the allocation: *ret_ns from now, 0 where it is used up already.
 * -ENOENT: not within what is left of the period; -EINVAL as target_project(), or no allocation. */
int target_find_end(const struct target_pace *p, int64_t total_ms, int64_t *ret_ns);

struct target_view {
	int64_t total_ms;     /* rate x the whole period */
	int64_t due_ms;	      /* rate x the elapsed time without outages */
	int64_t used_ppm;     /* used of the total */
	int64_t due_ppm;      /* due of the total */
	int64_t passed_ppm;   /* part of the period that has passed, outages included */
	int64_t outage_ns;    /* in the elapsed time */
	bool has_projection;  /* some of the period has passed */
	int64_t by_year_ms;   /* the year to date goes on: used x period / passed */
	int64_t by_recent_ms; /* the last 30 days (or what has passed, if less) go on:
				 used + recent x what is left / 30 days */
	int64_t by_year_ppm, by_recent_ppm; /* of the total */
	int64_t end_ns; /* when it is used up, from now (target_find_end()); -1: not within the period */
};

/* Before the start nothing has passed; after the end all has, and both projections are what
 * was used. -EINVAL: an empty period, no rate, negative use, or more in the last 30 days than
 * in all; -ERANGE. */
int target_compute(const struct target *t, const struct target_use *u, int64_t now_ns,
		   struct target_view *ret);
