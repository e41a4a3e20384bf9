/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_calendar.c - days of a zone: exact over every change of clocks, and the same as libc
 * says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"

static struct calendar *open_zone(const char *zone)
{
	struct calendar *c = NULL;
	struct err err = { "" };

	if (calendar_open(zone, &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static int64_t parse_day(const char *text)
{
	int64_t d;

	assert_int_equal(calendar_parse_day(text, &d), 0);
	return d;
}

static int64_t seconds_between(struct calendar *c, const char *from, const char *to)
{
	return (calendar_first_ns(c, parse_day(to)) - calendar_first_ns(c, parse_day(from))) /
	       S_NS;
}

static void months_have_their_hours(void **state)
{
	static const struct {
		const char *zone, *from, *to;
		int64_t seconds;
	} cases[] = {
		{ "America/Toronto", "2025-03-01", "2025-04-01", 743 * 3600 },
		{ "America/Toronto", "2025-11-01", "2025-12-01", 721 * 3600 },
		{ "America/Toronto", "2025-03-09", "2025-03-10", 23 * 3600 },
		{ "America/Toronto", "2025-11-02", "2025-11-03", 25 * 3600 },
		{ "Australia/Lord_Howe", "2025-04-06", "2025-04-07", 49 * 1800 },
		{ "Australia/Lord_Howe", "2025-10-05", "2025-10-06", 47 * 1800 },
		{ "America/Sao_Paulo", "2018-11-04", "2018-11-05", 23 * 3600 },
		{ "America/Sao_Paulo", "2018-02-17", "2018-02-18", 25 * 3600 },
		{ "Pacific/Apia", "2011-12-29", "2011-12-30", 24 * 3600 },
		{ "Pacific/Apia", "2011-12-30", "2011-12-31", 0 },
		{ "Pacific/Apia", "2011-12-01", "2012-01-01", 30 * 86400 },
		{ "UTC", "2025-03-01", "2025-04-01", 744 * 3600 },
		{ "UTC", "2024-02-01", "2024-03-01", 29 * 86400 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(calendar_closep) struct calendar *c = open_zone(cases[i].zone);

		if (seconds_between(c, cases[i].from, cases[i].to) != cases[i].seconds)
			fail_msg("%s %s: %lld s", cases[i].zone, cases[i].from,
				 (long long)seconds_between(c, cases[i].from, cases[i].to));
	}
}

static void wall_clock_times_convert_to_moments(void **state)
{
	struct calendar *c = open_zone("America/Toronto");
	int64_t spring = parse_day("2025-03-09") * 86400,
		autumn = parse_day("2025-11-02") * 86400;

	(void)state;
	for (enum calendar_which w = CALENDAR_EARLIER; w <= CALENDAR_LATER; w++) {
		assert_int_equal(calendar_moment_s(c, spring + 7199, w),
				 spring + 7199 + 5 * 3600);
		assert_int_equal(calendar_moment_s(c, spring + 3 * 3600, w), spring + 7 * 3600);
		/* 02:30 was skipped. */
		assert_int_equal(calendar_moment_s(c, spring + 9000, w),
				 spring + 9000 + 5 * 3600);
		assert_int_equal(calendar_moment_s(c, autumn + 3599, w),
				 autumn + 3599 + 4 * 3600);
		assert_int_equal(calendar_moment_s(c, autumn + 7200, w), autumn + 7 * 3600);
		assert_int_equal(calendar_moment_s(c, autumn + 5400, w),
				 autumn + 5400 + (w == CALENDAR_LATER ? 5 : 4) * 3600);
	}
	/* Every hour of two years is the moment it came from. */
	for (int64_t at = parse_day("2025-01-01") * 86400; at < parse_day("2027-01-01") * 86400;
	     at += 3600) {
		struct tm tm;
		int64_t local;

		localtime_r(&(time_t){ at }, &tm);
		local = at + tm.tm_gmtoff;
		assert_true(calendar_moment_s(c, local, CALENDAR_EARLIER) == at ||
			    calendar_moment_s(c, local, CALENDAR_LATER) == at);
	}
	calendar_close(c);
}

static void what_ends_at_midnight_ends_the_day_before(void **state)
{
	struct calendar *c = open_zone("America/Toronto");
	int64_t d = parse_day("2025-11-03"), at = calendar_first_ns(c, d);

	(void)state;
	assert_int_equal(calendar_last_day(c, at - HOUR_NS, at), d - 1);
	assert_int_equal(calendar_last_day(c, at - HOUR_NS, at + 1), d);
	assert_int_equal(calendar_last_day(c, at, at), d);
	assert_int_equal(calendar_last_day(c, at, at + HOUR_NS), d);
	calendar_close(c);
}

static void a_missing_midnight_begins_the_day_late(void **state)
{
	_cleanup_(calendar_closep) struct calendar *c = open_zone("America/Sao_Paulo");
	int64_t first = calendar_first_ns(c, parse_day("2018-11-04"));

	(void)state;
	/* 00:00 -03 became 01:00 -02. */
	assert_int_equal(first, 1541300400 * S_NS);
	assert_int_equal(calendar_day(c, first), parse_day("2018-11-04"));
	assert_int_equal(calendar_day(c, first - 1), parse_day("2018-11-03"));
}

static void a_date_that_never_was_has_no_moment(void **state)
{
	_cleanup_(calendar_closep) struct calendar *c = open_zone("Pacific/Apia");
	int64_t gap = parse_day("2011-12-30"), at = calendar_first_ns(c, gap);

	(void)state;
	assert_int_equal(calendar_day(c, at - 1), gap - 1);
	assert_int_equal(calendar_day(c, at), gap + 1);
}

/* libc's own date of a moment. */
static int64_t date_of(int64_t at_ns)
{
	time_t t = (time_t)(at_ns / S_NS);
	struct tm tm;
	char text[CALENDAR_DAY_MAX];

	assert_non_null(localtime_r(&t, &tm));
	strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	return parse_day(text);
}

static void every_moment_is_on_the_day_libc_says(void **state)
{
	static const char *const zones[] = {
		"America/Toronto",  "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia",
		"Europe/Berlin",    "Asia/Kathmandu",	   "Africa/Casablanca", "UTC",
		"Antarctica/Troll", "Asia/Pyongyang",	   "Pacific/Kiritimati"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
		_cleanup_(calendar_closep) struct calendar *c = open_zone(zones[i]);
		int64_t last = INT64_MIN;

		for (int64_t at = 946684800; at < 1893456000; at += 3571) {
			int64_t got = calendar_day(c, at * S_NS), says = date_of(at * S_NS);

			/* A repeated hour of yesterday counts to today. */
			if (got != says && !(got == last && says == got - 1))
				fail_msg("%s %lld: day %lld, libc %lld", zones[i],
					 (long long)at, (long long)got, (long long)says);
			assert_true(got >= last);
			last = got;
		}
	}
}

static void a_day_is_the_moments_between_two_firsts(void **state)
{
	static const char *const zones[] = { "America/St_Johns", "Asia/Gaza", "Europe/Dublin" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
		_cleanup_(calendar_closep) struct calendar *c = open_zone(zones[i]);

		for (int64_t d = -30000; d < 40000; d++) {
			int64_t from = calendar_first_ns(c, d),
				to = calendar_first_ns(c, d + 1);

			assert_true(from < to);
			assert_int_equal(calendar_day(c, from), d);
			assert_int_equal(calendar_day(c, to - 1), d);
		}
	}
}

static void two_zones_do_not_mix(void **state)
{
	_cleanup_(calendar_closep) struct calendar *a = open_zone("Asia/Tokyo");
	_cleanup_(calendar_closep) struct calendar *b = open_zone("America/Toronto");

	(void)state;
	for (int64_t d = 10000; d < 14000; d += 37) {
		assert_int_equal(calendar_first_ns(a, d), d * 24 * HOUR_NS - 9 * HOUR_NS);
		assert_true(calendar_first_ns(b, d) >= d * 24 * HOUR_NS + 4 * HOUR_NS);
	}
}

static void unknown_zones_are_named(void **state)
{
	static const char *const bad[] = {
		"",	    "Europe/Atlantis", "/etc/passwd", "../../../etc/passwd",
		"zone.tab", "Europe"
	};
	struct calendar *c = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = { "" };

		assert_int_equal(calendar_open(bad[i], &c, &err), -EINVAL);
		assert_non_null(strstr(err.text, "time zone"));
	}
}

static void dates_are_dates_alone(void **state)
{
	static const char *const bad[] = { "2026-02-29", "2026-13-01", "2026-00-10",
					   "2026-1-1",	 "2026-11-31", "2026-11-1x",
					   "26-11-01",	 "",	       "2026-11-011",
					   "1500-01-01" };
	char text[CALENDAR_DAY_MAX];
	int64_t d, month = calendar_month(-40000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(calendar_parse_day(bad[i], &d), -EINVAL);
	assert_int_equal(parse_day("1970-01-01"), 0);
	assert_int_equal(parse_day("2000-03-01"), 11017);
	for (d = -40000; d < 60000; d++) {
		assert_int_equal(parse_day(calendar_format_day(d, text)), d);
		month += calendar_month_first(month + 1) == d;
		assert_int_equal(calendar_month(d), month);
	}
	assert_string_equal(calendar_format_month(2025 * 12 + 10, text), "2025-11");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(months_have_their_hours),
		cmocka_unit_test(wall_clock_times_convert_to_moments),
		cmocka_unit_test(what_ends_at_midnight_ends_the_day_before),
		cmocka_unit_test(a_missing_midnight_begins_the_day_late),
		cmocka_unit_test(a_date_that_never_was_has_no_moment),
		cmocka_unit_test(every_moment_is_on_the_day_libc_says),
		cmocka_unit_test(a_day_is_the_moments_between_two_firsts),
		cmocka_unit_test(two_zones_do_not_mix),
		cmocka_unit_test(unknown_zones_are_named),
		cmocka_unit_test(dates_are_dates_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
