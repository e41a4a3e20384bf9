/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words.c - the sentence on what a projection means for an allocation; see projection.h. */
#include <inttypes.h>
#include <stdio.h>
#include "controller/ledger/calendar.h"
#include "controller/quota/projection/projection.h"

#define PERCENT_MAX 32

/* Of the allocation, in percent with one decimal, rounded half up. */
static const char *format_part(int64_t ms, int64_t allocation_ms, char buf[static PERCENT_MAX])
{
	__int128 tenths =
		((__int128)(ms < 0 ? 0 : ms) * 1000 + allocation_ms / 2) / allocation_ms;

	if (tenths > INT64_MAX)
		tenths = INT64_MAX;
	snprintf(buf, PERCENT_MAX, "%" PRId64 ".%" PRId64 " %%", (int64_t)(tenths / 10),
		 (int64_t)(tenths % 10));
	return buf;
}

/* "At the rate of the last 30 days" */
static int write_rate(const struct projection_outlook *o, char *buf, size_t size)
{
	if (o->recent_days == 1)
		return snprintf(buf, size, "At the rate of the last day");
	return snprintf(buf, size, "At the rate of the last %" PRId64 " days", o->recent_days);
}

static int write_first(const struct projection_outlook *o, char *buf, size_t size)
{
	char part[PERCENT_MAX], end[CALENDAR_DAY_MAX], last[CALENDAR_DAY_MAX];
	int n = 0;

	calendar_format_day(o->last_day, last);
	if (o->used_ms >= o->allocation_ms)
		return snprintf(
			buf, size,
			"The allocation is used up: %s of it is used, and the period ends "
			"on %s.",
			format_part(o->used_ms, o->allocation_ms, part), last);
	n = write_rate(o, buf, size);
	if (o->end_day >= 0)
		return n + snprintf(buf + n, size - (size_t)n,
				    " the allocation is used up on %s; the period ends on %s.",
				    calendar_format_day(o->end_day, end), last);
	return n +
	       snprintf(buf + n, size - (size_t)n,
			" %s of the allocation will be unused when the period ends on %s.",
			format_part(o->allocation_ms - o->by_recent_ms, o->allocation_ms, part),
			last);
}

const char *projection_words(const struct projection_outlook *o,
			     char buf[static PROJECTION_WORDS_MAX])
{
	char part[PERCENT_MAX];
	int n = write_first(o, buf, PROJECTION_WORDS_MAX);

	snprintf(buf + n, PROJECTION_WORDS_MAX - (size_t)n,
		 " At the rate of the whole period so far %s of it will be used by then.",
		 format_part(o->by_year_ms, o->allocation_ms, part));
	return buf;
}
