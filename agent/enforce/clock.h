/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h - how long a job has run, without the time it was suspended.
 *
 * Pure arithmetic on CLOCK_BOOTTIME nanoseconds that the caller passes. Running time is the time
 * since the start less the time frozen, by the agent or by root. Times may arrive late or out of
 * order; no result is below zero, and running + suspended = elapsed always.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct clock {
	int64_t start_ns;  /* 0: not started */
	int64_t end_ns;	   /* 0: goes on */
	int64_t frozen_ns; /* of the frozen intervals that have ended */
	int64_t since_ns;  /* frozen since; 0: not frozen */
};

#define CLOCK_NEVER INT64_MAX

void clock_start(struct clock *c, int64_t at_ns);
/* A second freeze, or a thaw of what is not frozen, changes nothing. */
void clock_freeze(struct clock *c, int64_t at_ns);
void clock_thaw(struct clock *c, int64_t at_ns);
/* Replace our figures by the kernel's: `total_ns` frozen up to `at_ns`, the present interval
 * included. They are exact, and may be less than ours. */
struct clock_account {
	bool frozen;
	int64_t since_ns, total_ns;
};
void clock_sync(struct clock *c, struct clock_account k, int64_t at_ns);
/* The job has ended; an interval that is still open ends with it. */
void clock_stop(struct clock *c, int64_t at_ns);

int64_t clock_running_ns(const struct clock *c, int64_t now_ns);
int64_t clock_suspended_ns(const struct clock *c, int64_t now_ns);
/* When a job with `limit_s` of running time reaches it if it is not frozen again;
 * CLOCK_NEVER while frozen, not started, over, or without limit (0). */
int64_t clock_deadline_ns(const struct clock *c, int64_t limit_s);
