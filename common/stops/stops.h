/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stops - measures how long each dispatch of a daemon's event loop keeps it from the next event, and names the cause. The program has one
 * such record, as it has one log. Only the loop's thread calls these functions, except stops_now().
 *
 * Code that may take long names itself. Names nest: the time counts for the innermost name. A dispatch is counted under the name that
 * had most of its time.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The rest of the enclosing scope has this name. `name`: a constant; the program has a few dozen of them. */
#define STOPS_IN(name)                                                                         \
	__attribute__((cleanup(stops_leavep), unused)) int stops_outer_ = stops_enter(name)

/* Around each dispatch of the event loop. A stop of STOPS_LOG_NS and more is logged, at most one in ten seconds. */
#define STOPS_LOG_NS (200 * 1000000LL)
void stops_begin(void);
void stops_end(void);

/* Returns what stops_leave() takes. */
int stops_enter(const char *name);
void stops_leave(int outer);
static inline void stops_leavep(int *outer)
{
	stops_leave(*outer);
}

/* The name that runs now. Any thread may ask. */
const char *stops_now(void);

/* The counts. Bucket i has the stops up to stops_bounds_ms[i] that no earlier bucket has; the last bucket has the longest stops. */
#define STOPS_BOUNDS 10
extern const int stops_bounds_ms[STOPS_BOUNDS];
struct stops_row {
	const char *name;
	int64_t buckets[STOPS_BOUNDS + 1], sum_ns, longest_ns;
};
/* The rows with a count, in no order; NULL: there are no more. */
const struct stops_row *stops_row(size_t i);
