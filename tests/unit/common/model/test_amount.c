/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_amount.c - amounts are exact or refused, and what is printed can be read back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/amount.h"

static void sizes_are_read_as_written(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "17", 17 },
		{ "17B", 17 },
		{ "2GB", 2000000000 },
		{ "2gb", 2000000000 },
		{ "2GiB", 2147483648 },
		{ "2G", 2147483648 },
		{ "2g", 2147483648 },
		{ "1.5GB", 1500000000 },
		{ "0.5GiB", 536870912 },
		{ "1.0000000000000000000B", 1 },
		{ "4.8GB", 4800000000 },
		{ "47000MB", 47000000000 },
		{ "8191PiB", 8191LL << 50 },
		{ "9223372036854775807", INT64_MAX },
	};
	struct err err;
	int64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(amount_parse_bytes(good[i].text, &v, &err), 0);
		assert_int_equal(v, good[i].bytes);
	}
}

static void bad_sizes_are_refused_and_named(void **state)
{
	static const char *const bad[] = { "",
					   "-1",
					   "+1",
					   "G",
					   "1e9",
					   "4GBs",
					   "1.GB",
					   "1.5B",
					   ".5G",
					   "1 GB",
					   "0.3K",
					   "8192PiB",
					   "9223372036854775808",
					   "99999999999999999999GB",
					   "1.0000000000000001B",
					   "0x10",
					   "1,5GB",
					   "NaN" };
	struct err err;
	int64_t v = 42;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(amount_parse_bytes(bad[i], &v, &err), -EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
		assert_int_equal(v, 42);
	}
}

static void durations_are_read_as_written(void **state)
{
	static const struct {
		const char *text;
		int64_t s;
	} good[] = { { "0", 0 },
		     { "90", 90 },
		     { "0:10:00", 600 },
		     { "10:00", 600 },
		     { "100:00:00", 360000 },
		     { "2-12:00:00", 216000 },
		     { "1h30m", 5400 },
		     { "90s", 90 },
		     { "1d2h3m4s", 93784 },
		     { "5m", 300 } };
	static const char *const bad[] = { "",
					   "-5",
					   "1:60",
					   "1:2:3:4",
					   "1:00:60",
					   "2-12:00",
					   "h",
					   "1m1h",
					   "1h1h",
					   "1-24:00:00",
					   "10:",
					   ":10",
					   "5x",
					   "1.5h",
					   "9223372036854775807m",
					   "9223372036854775807:00" };
	struct err err;
	int64_t v = 42;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(amount_parse_seconds(good[i].text, &v, &err), 0);
		assert_int_equal(v, good[i].s);
	}
	v = 42;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(amount_parse_seconds(bad[i], &v, &err), -EINVAL);
		assert_int_equal(v, 42);
	}
}

/* Every power of two and ten, and its neighbours. */
static void exact_texts_read_back_to_the_same_value(void **state)
{
	char buf[AMOUNT_TEXT_MAX];
	int64_t v;

	(void)state;
	for (int shift = 0; shift < 63; shift++)
		for (int64_t d = -1; d <= 1; d++) {
			int64_t x = (1LL << shift) + d;

			assert_int_equal(
				amount_parse_bytes(amount_format_bytes_exact(x, buf), &v, NULL),
				0);
			assert_int_equal(v, x);
			assert_int_equal(
				amount_parse_seconds(amount_format_seconds(x, buf), &v, NULL),
				0);
			assert_int_equal(v, x);
		}
	assert_string_equal(amount_format_bytes_exact(2000000000, buf), "2GB");
	assert_string_equal(amount_format_bytes_exact(1536LL << 20, buf), "1536MiB");
}

static void people_see_three_digits(void **state)
{
	char buf[AMOUNT_TEXT_MAX];

	(void)state;
	assert_string_equal(amount_format_bytes(0, buf), "0 B");
	assert_string_equal(amount_format_bytes(1023, buf), "1023 B");
	assert_string_equal(amount_format_bytes(1024, buf), "1.00 KiB");
	assert_string_equal(amount_format_bytes(1280LL << 20, buf), "1.25 GiB");
	assert_string_equal(amount_format_bytes((1LL << 30) - 1, buf), "1.00 GiB");
	assert_string_equal(amount_format_bytes(INT64_MAX, buf), "8.00 EiB");
	assert_string_equal(amount_format_bytes_like(100000000, 100000000, buf), "100 MB");
	assert_string_equal(amount_format_bytes_like(999999999, 2000000000, buf), "1.00 GB");
	assert_string_equal(amount_format_bytes_like(1 << 30, 1 << 30, buf), "1.00 GiB");
	assert_string_equal(amount_format_bytes_like(INT64_MAX, 100000, buf), "9.22 EB");
}

static void calendar_is_right_at_its_edges(void **state)
{
	char buf[AMOUNT_TEXT_MAX];

	(void)state;
	assert_string_equal(amount_format_utc(0, buf), "1970-01-01 00:00:00 UTC");
	assert_string_equal(amount_format_utc(951782400LL * 1000000000, buf),
			    "2000-02-29 00:00:00 UTC");
	assert_string_equal(amount_format_utc(4107542399LL * 1000000000, buf),
			    "2100-02-28 23:59:59 UTC");
	assert_string_equal(amount_format_utc(4107542400LL * 1000000000, buf),
			    "2100-03-01 00:00:00 UTC");
	assert_string_equal(amount_format_utc(1795255923LL * 1000000000, buf),
			    "2026-11-21 10:12:03 UTC");
}

static void days_may_have_any_hour_of_a_day(void **state)
{
	int64_t s;

	(void)state;
	assert_int_equal(amount_parse_seconds("1-00:00:00", &s, NULL), 0);
	assert_int_equal(s, 86400);
	assert_int_equal(amount_parse_seconds("0-23:59:59", &s, NULL), 0);
	assert_int_equal(s, 86399);
	assert_true(amount_parse_seconds("1-24:00:00", &s, NULL) < 0);
	assert_int_equal(s, 86399);
}

/* "", b, or a prefix with nothing, b or ib behind it, in any case; 0: no unit. */
static int64_t unit_of(const char *word, enum amount_units units)
{
	static const char letters[] = "kmgtp";
	const char *at = *word ? strchr(letters, *word | 0x20) : NULL;
	bool is_binary = units == AMOUNT_BINARY;
	int64_t unit = 1;

	if (!*word || !strcasecmp(word, "b"))
		return 1;
	if (!at || (word[1] && strcasecmp(word + 1, "b") && strcasecmp(word + 1, "ib")))
		return 0;
	if ((word[1] | 0x20) == 'i' || (!word[1] && units == AMOUNT_AS_WRITTEN))
		is_binary = true;
	for (const char *p = letters; p <= at; p++)
		unit *= is_binary ? 1024 : 1000;
	return unit;
}

/* Every word of up to four letters behind a number, under each rule for K, M, G. */
static void a_unit_is_one_of_the_known_words_and_no_other(void **state)
{
	static const char letters[] = "kmgtpbiKMGTPBI x";

	(void)state;
	for (int code = 0; code < 17 * 17 * 17 * 17; code++) {
		char text[8] = "3";
		size_t n = 1;

		for (int rest = code; rest; rest /= 17)
			if (rest % 17)
				text[n++] = letters[rest % 17 - 1];
		for (int u = 0; u < _AMOUNT_UNITS_MAX; u++) {
			int64_t unit = unit_of(text + 1, (enum amount_units)u), v = -1;
			int r = amount_parse_bytes_in(text, (enum amount_units)u, &v, NULL);

			if (unit ? r != 0 || v != 3 * unit : r != -EINVAL || v != -1)
				fail_msg("'%s' under rule %d: %lld", text, u, (long long)v);
		}
	}
}

static void sizes_are_read_up_to_the_largest_number(void **state)
{
	static const struct {
		const char *text, *why; /* NULL: it is INT64_MAX */
	} of[] = {
		{ "9007199254740991.9990234375K", NULL },
		{ "9223372036854775.807KB", NULL },
		{ "9223372036854775.808KB", "it is too large" },
		{ "9223372036854776KB", "it is too large" },
		{ "9223372036854775808", "it is too large" },
		{ "92233720368547758070", "it is too large" },
		{ "x", "it does not begin with a digit" },
		{ "1.", "digits are missing after the point" },
		{ "1.x", "digits are missing after the point" },
		{ "1x", "the unit is unknown" },
		{ "1.5", "it is not a whole number of bytes" },
		{ "1.0000000000000001PB", "it is not a whole number of bytes" },
	};
	int64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct err err = { "" };

		v = 42;
		assert_int_equal(amount_parse_bytes(of[i].text, &v, &err),
				 of[i].why ? -EINVAL : 0);
		assert_int_equal(v, of[i].why ? 42 : INT64_MAX);
		if (of[i].why && !strstr(err.text, of[i].why))
			fail_msg("%s: %s", of[i].text, err.text);
	}
	/* 15 digits of a fraction are read, and zeros behind them do not count. */
	assert_int_equal(amount_parse_bytes("0.000000000000001PB", &v, NULL), 0);
	assert_int_equal(v, 1);
	assert_int_equal(amount_parse_bytes("1.999999999999999000PB", &v, NULL), 0);
	assert_int_equal(v, 1999999999999999);
}

static void durations_are_read_up_to_the_largest_number(void **state)
{
	static const struct {
		const char *text;
		int64_t s; /* -1: refused */
	} of[] = {
		{ "9223372036854775807", INT64_MAX },
		{ "9223372036854775807s", INT64_MAX },
		{ "9223372036854775808s", -1 },
		{ "153722867280912930:07", INT64_MAX },
		{ "153722867280912930:08", -1 },
		{ "153722867280912931:00", -1 },
		{ "2562047788015215:30:07", INT64_MAX },
		{ "2562047788015215:30:08", -1 },
		{ "106751991167300-15:30:07", INT64_MAX },
		{ "106751991167300-15:30:08", -1 },
		{ "384307168202282325-08:00:00", -1 },
		{ "384307168202282326-00:00:00", -1 },
		{ "2562047788015215h30m7s", INT64_MAX },
		{ "2562047788015215h30m8s", -1 },
		{ "2562047788015216h", -1 },
		{ "106751991167300d15h30m7s", INT64_MAX },
		{ "106751991167301d", -1 },
		{ "0d", 0 },
		{ "0:59", 59 },
		{ "59:59", 3599 },
		{ "0:60:00", -1 },
		{ "0-0:0:0", 0 },
		{ "1:2-3:4", -1 },
		{ "1--1:00:00", -1 },
		{ "1-x:00:00", -1 },
		{ "1-1:00", -1 },
		{ "1-1:0:0:0", -1 },
		{ "1:00:-1", -1 },
		{ "1s1s", -1 },
		{ "1s1m", -1 },
		{ "1h1d", -1 },
		{ "1D2H3M4S", 93784 },
		{ "1m ", -1 },
		{ "x1s", -1 },
		{ "1xs", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct err err = { "" };
		int64_t s = -1;
		int r = amount_parse_seconds(of[i].text, &s, &err);

		if (r != (of[i].s < 0 ? -EINVAL : 0) || s != of[i].s)
			fail_msg("%s: %lld", of[i].text, (long long)s);
		if (of[i].s < 0)
			assert_non_null(strstr(err.text, "is not a duration"));
	}
}

/* Every day that an int64_t of nanoseconds can name, at some second of it. */
static void every_day_is_that_of_the_calendar(void **state)
{
	char buf[AMOUNT_TEXT_MAX], want[AMOUNT_TEXT_MAX];

	(void)state;
	for (int64_t day = 0; day < INT64_MAX / 1000000000 / 86400; day++) {
		time_t s = day * 86400 + day * 7919 % 86400;
		struct tm tm;

		strftime(want, sizeof(want), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&s, &tm));
		assert_string_equal(amount_format_utc(s * 1000000000 + 999999999, buf), want);
	}
}

/* The digits change where the next one would be rounded to, and the unit before four digits would be needed. */
static void digits_and_units_change_at_their_edges(void **state)
{
	static const struct {
		int64_t bytes, like;
		const char *text;
	} of[] = {
		{ 10 * 1024 - 1, 0, "10.00 KiB" },    { 10 * 1024, 0, "10.0 KiB" },
		{ 100 * 1024 - 1, 0, "100.0 KiB" },   { 100 * 1024, 0, "100 KiB" },
		{ 1048063, 0, "1023 KiB" }, /* 1023.499 KiB */
		{ 1048064, 0, "1.00 MiB" }, /* 1023.5 KiB */
		{ (1 << 20) + 5243, 0, "1.01 MiB" },  { 999, 100000, "999 B" },
		{ 1000, 100000, "1.00 KB" },	      { 9999, 100000, "10.00 KB" },
		{ 10000, 100000, "10.0 KB" },	      { 100000, 100000, "100 KB" },
		{ 999499, 100000, "999 KB" },	      { 999500, 100000, "1.00 MB" },
		{ 100000, 99999, "97.7 KiB" },	      { 100000, 200000, "100 KB" },
		{ 100000, 100001, "97.7 KiB" },	      { 100000, 1000000, "100 KB" },
		{ 100000, 104857600000, "97.7 KiB" }, /* 100000 MiB: of both kinds */
		{ 1 << 20, 1048576, "1.00 MiB" },
	};
	char buf[AMOUNT_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		assert_string_equal(amount_format_bytes_like(of[i].bytes, of[i].like, buf),
				    of[i].text);
}

/* The largest unit that divides an amount, whichever kind it is of. */
static void an_exact_amount_has_the_largest_unit_that_divides_it(void **state)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} of[] = {
		{ 0, "0B" },
		{ -5, "-5B" },
		{ 1, "1B" },
		{ 1000, "1KB" },
		{ 1024, "1KiB" },
		{ 1024000, "1000KiB" },
		{ 1000000, "1MB" },
		{ 1048576000, "1000MiB" },
		{ 1000000000, "1GB" },
		{ 1000000000000, "1TB" },
		{ 1000000000000000, "1000TB" },
		{ 1LL << 40, "1TiB" },
		{ 1LL << 50, "1PiB" },
		{ 1LL << 60, "1024PiB" },
	};
	char buf[AMOUNT_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		assert_string_equal(amount_format_bytes_exact(of[i].bytes, buf), of[i].text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_may_have_any_hour_of_a_day),
		cmocka_unit_test(sizes_are_read_as_written),
		cmocka_unit_test(bad_sizes_are_refused_and_named),
		cmocka_unit_test(durations_are_read_as_written),
		cmocka_unit_test(exact_texts_read_back_to_the_same_value),
		cmocka_unit_test(people_see_three_digits),
		cmocka_unit_test(calendar_is_right_at_its_edges),
		cmocka_unit_test(a_unit_is_one_of_the_known_words_and_no_other),
		cmocka_unit_test(sizes_are_read_up_to_the_largest_number),
		cmocka_unit_test(durations_are_read_up_to_the_largest_number),
		cmocka_unit_test(every_day_is_that_of_the_calendar),
		cmocka_unit_test(digits_and_units_change_at_their_edges),
		cmocka_unit_test(an_exact_amount_has_the_largest_unit_that_divides_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
