/* SPDX-License-Identifier: GPL-2.0-or-later */
/* time_units - lengths of time, each written once: NS, MS or S says the unit of the number. Names
 * of variables say their unit the same way (at_ns, running_ms, walltime_s).
 */
#pragma once
#include <stdint.h>

#define MS_NS INT64_C(1000000)
#define S_NS INT64_C(1000000000)
#define MIN_NS (60 * S_NS)
#define HOUR_NS (3600 * S_NS)
#define DAY_NS (86400 * S_NS)

#define S_MS INT64_C(1000)
#define HOUR_MS (3600 * S_MS)

#define S_US UINT64_C(1000000)

#define HOUR_S INT64_C(3600)
#define DAY_S INT64_C(86400)

/* How much later than its time a timer of an event loop may come, where that time is often "now". sd-event makes full use of what it
 * is allowed: with 1000 each such timer costs a millisecond in which nothing is done, and with 0 it takes its default of 250 ms. */
#define TIMER_AT_ONCE_US 1
