/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calendar - the civil days of a time zone: which day a moment is on, and where a day begins.
 *
 * A day has the number of its date: days since 1970-01-01 of the Gregorian calendar, the same
 * in every zone. It begins at its first instant, which is not 00:00 where clocks skip midnight,
 * and ends where the next one begins; so days have 23, 24 or 25 hours, and a date that a zone
 * left out (Apia, 2011-12-30) has none. Where clocks went back over midnight, what comes again
 * of the earlier date counts to the later one: days never interleave.
 *
 * The zone's rules are libc's (zoneinfo). Opening sets TZ for the whole process: programs have
 * one zone, set once, before threads. Moments are nanoseconds since the epoch.
 */
#pragma once
#include <stdint.h>
#include "common/cleanup.h"
#include "controller/policy/charge/tally.h"

struct err;
struct calendar;

/* "America/Toronto"; "UTC". -EINVAL: no such zone on this machine. */
int calendar_open(const char *zone, struct calendar **ret, struct err *err);
struct calendar *calendar_close(struct calendar *c);
DEFINE_CLEANUP(struct calendar *, calendar_close)

const char *calendar_zone(const struct calendar *c);
int64_t calendar_day(struct calendar *c, int64_t at_ns);
/* The last day of a span, which is half open: one that ends at midnight ends on the day before;
 * an empty one is on the day of its moment. */
int64_t calendar_last_day(struct calendar *c, int64_t from_ns, int64_t to_ns);
int64_t calendar_first_ns(struct calendar *c, int64_t day);
/* When the zone's clocks showed `local_s`, seconds since 1970-01-01 as if they were UTC's: the
 * first or the second time where they went back over it; where they skipped it, as if they had
 * not yet. */
enum calendar_which { CALENDAR_EARLIER, CALENDAR_LATER };
int64_t calendar_moment_s(struct calendar *c, int64_t local_s, enum calendar_which which);
/* Both, as tally_split() takes them; good as long as the calendar. */
const struct tally_days *calendar_days(const struct calendar *c);

/* What `--at` and at= mean everywhere: "2026-11-21", the end of that day, that is the first
 * instant of the next; or that instant of the zone's clocks, "2026-11-21T08:00" or with
 * seconds, a space for the T. -EINVAL. */
int calendar_parse_at(struct calendar *c, const char *text, int64_t *ret_ns);

/* ---- dates: the same in every zone ---- */

#define CALENDAR_DAY_MAX 16 /* "2026-11-21" */
const char *calendar_format_day(int64_t day, char buf[static CALENDAR_DAY_MAX]);
const char *calendar_format_month(int64_t month, char buf[static CALENDAR_DAY_MAX]);
/* "2026-11-21" and nothing else, years 1700 to 2200. -EINVAL. */
int calendar_parse_day(const char *text, int64_t *ret);
/* Months are numbered on: year x 12 + month from 0. */
int64_t calendar_month(int64_t day);
int64_t calendar_month_first(int64_t month); /* its first day */
