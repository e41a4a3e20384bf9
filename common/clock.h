/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock - what a clock of the kernel shows, in nanoseconds: CLOCK_REALTIME, since the epoch;
 * CLOCK_MONOTONIC and CLOCK_BOOTTIME, for differences. */
#pragma once
#include <time.h>
#include "common/time_units.h"

static inline int64_t clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return t.tv_sec * S_NS + t.tv_nsec;
}

/* For waits: nothing steps this clock. */
static inline int64_t monotonic_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / MS_NS;
}
