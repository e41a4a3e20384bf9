/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_amount.c - amounts are exact or refused, and what is printed can be read back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
