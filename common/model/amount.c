/* SPDX-License-Identifier: GPL-2.0-or-later */
/* amount.c - parses and formats sizes, counts, durations and times; see amount.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads decimal digits at *s; -1 when there are none or the value passes INT64_MAX. */
static int64_t read_digits(const char **s)
{
	const char *p = *s;
	int64_t v = 0;

	if (!is_digit(*p))
		return -1;
	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
		    __builtin_add_overflow(v, (int64_t)(*p - '0'), &v))
			return -1;
	*s = p;
	return v;
}

int amount_parse_count(const char *text, int64_t *ret, struct err *err)
{
	const char *p = text;
	int64_t v = read_digits(&p);

	if (v < 0 || *p)
		return err_set(err, -EINVAL, "'%.64s' is not a whole number, e.g. 4", text);
	*ret = v;
	return 0;
}

const char *const amount_units_words[] = { "as-written", "binary", "decimal", NULL };
_Static_assert(ARRAY_LEN(amount_units_words) == _AMOUNT_UNITS_MAX + 1, "a word each");

static const char prefixes[] = "kmgtp";

/* of ** n; no overflow for the units here (1024 ** 5 at most). */
static int64_t raise_power(int64_t of, size_t n)
{
	int64_t v = 1;

	while (n--)
		v *= of;
	return v;
}

/* "", "b", or a prefix followed by nothing, "b" or "ib", in any case. 0: no unit. */
static int64_t find_byte_unit(const char *name, enum amount_units units)
{
	const char *prefix, *rest = name + 1;
	bool is_binary;

	if (!*name || (!rest[0] && (*name | 0x20) == 'b'))
		return 1;
	prefix = strchr(prefixes, *name | 0x20);
	if (!prefix)
		return 0;
	is_binary = units == AMOUNT_BINARY || (units == AMOUNT_AS_WRITTEN && !*rest);
	if ((*rest | 0x20) == 'i' && (rest[1] | 0x20) == 'b') {
		is_binary = true;
		rest++;
	}
	if ((*rest | 0x20) == 'b')
		rest++;
	if (*rest)
		return 0;
	return raise_power(is_binary ? 1024 : 1000, (size_t)(prefix - prefixes) + 1);
}

/* 0.DIGITS of `unit` in bytes; -1 when that is no whole number. At most 15
 * digits are tried, so that num * unit fits 128 bits (10^15 * 2^50 < 2^100). */
static int64_t fraction_bytes(const char *digits, size_t n, int64_t unit)
{
	__int128 num = 0, den = 1;

	while (n && digits[n - 1] == '0')
		n--;
	if (n > 15)
		return -1;
	for (size_t i = 0; i < n; i++) {
		num = num * 10 + (digits[i] - '0');
		den *= 10;
	}
	if (num * unit % den)
		return -1;
	return (int64_t)(num * unit / den);
}

static int bad_size(const char *text, const char *why, struct err *err)
{
	return err_set(
		err, -EINVAL,
		"'%.64s' is not a size: %s; write e.g. 2GB (10^9), 2GiB (2^30) or 2G (= 2GiB)",
		text, why);
}

int amount_parse_bytes(const char *text, int64_t *ret_bytes, struct err *err)
{
	return amount_parse_bytes_in(text, AMOUNT_AS_WRITTEN, ret_bytes, err);
}

int amount_parse_bytes_in(const char *text, enum amount_units units, int64_t *ret_bytes,
			  struct err *err)
{
	const char *p = text, *frac = "";
	size_t n_frac = 0;
	int64_t whole, unit, part, bytes;

	if (!is_digit(*p))
		return bad_size(text, "it does not begin with a digit", err);
	whole = read_digits(&p);
	if (whole < 0)
		return bad_size(text, "it is too large", err);
	if (*p == '.') {
		frac = ++p;
		n_frac = strspn(p, "0123456789");
		if (!n_frac)
			return bad_size(text, "digits are missing after the point", err);
		p += n_frac;
	}
	unit = find_byte_unit(p, units);
	if (!unit)
		return bad_size(text, "the unit is unknown", err);
	part = fraction_bytes(frac, n_frac, unit);
	if (part < 0)
		return bad_size(text, "it is not a whole number of bytes", err);
	if (__builtin_mul_overflow(whole, unit, &bytes) ||
	    __builtin_add_overflow(bytes, part, &bytes))
		return bad_size(text, "it is too large", err);
	*ret_bytes = bytes;
	return 0;
}

static int bad_time(const char *text, struct err *err)
{
	return err_set(err, -EINVAL,
		       "'%.64s' is not a duration; write e.g. 1:30:00 (h:mm:ss), 90s, 1h30m, "
		       "2-12:00:00 (2 days and a half) or 5400",
		       text);
}

/* *sum = *sum * scale + v; false: overflow. */
static bool scale_and_add(int64_t *sum, int64_t scale, int64_t v)
{
	return !__builtin_mul_overflow(*sum, scale, sum) &&
	       !__builtin_add_overflow(*sum, v, sum);
}

static int64_t unit_seconds(char c)
{
	switch (c | 0x20) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return HOUR_S;
	case 'd':
		return DAY_S;
	}
	return 0;
}

/* "1d2h30m15s": each unit once, largest first. */
static int parse_unit_seconds(const char *text, int64_t *ret_s, struct err *err)
{
	int64_t sum = 0, last = INT64_MAX;
	const char *p = text;

	do {
		int64_t v = read_digits(&p), unit, s;

		unit = v < 0 ? 0 : unit_seconds(*p);
		if (!unit || unit >= last || __builtin_mul_overflow(v, unit, &s) ||
		    __builtin_add_overflow(sum, s, &sum))
			return bad_time(text, err);
		last = unit;
		p++;
	} while (*p);
	*ret_s = sum;
	return 0;
}

/* [D-]HH:MM:SS, MM:SS or SS; the largest stated unit may be any number. */
int amount_parse_seconds(const char *text, int64_t *ret_s, struct err *err)
{
	size_t colons = 0, n = strlen(text);
	bool days = strchr(text, '-') != NULL;
	const char *p = text;
	int64_t sum, v;

	if (n && unit_seconds(text[n - 1]))
		return parse_unit_seconds(text, ret_s, err);
	for (const char *c = text; *c; c++)
		colons += *c == ':';
	sum = read_digits(&p);
	if (sum < 0 || colons > 2 || (days && colons != 2))
		return bad_time(text, err);
	if (days) {
		if (*p++ != '-' || (v = read_digits(&p)) < 0 || v > 23 ||
		    !scale_and_add(&sum, 24, v))
			return bad_time(text, err);
	}
	while (*p == ':') {
		p++;
		v = read_digits(&p);
		if (v < 0 || v > 59 || !scale_and_add(&sum, 60, v))
			return bad_time(text, err);
	}
	if (*p)
		return bad_time(text, err);
	*ret_s = sum;
	return 0;
}

/* Three digits and the unit; `step` is 1000 or 1024. */
static const char *format_scaled(int64_t bytes, int64_t step, const char *const names[7],
				 char buf[static AMOUNT_TEXT_MAX])
{
	int64_t unit = 1;
	int i = 0;

	if (bytes < step) {
		snprintf(buf, AMOUNT_TEXT_MAX, "%lld B", (long long)bytes);
		return buf;
	}
	/* Up one unit where rounding would print four digits: 1023.96 MiB is 1.00 GiB. */
	while (i < 6 && (__int128)bytes * 10 >= (__int128)unit * (step * 10 - 5)) {
		unit *= step;
		i++;
	}
	snprintf(buf, AMOUNT_TEXT_MAX, "%.*f %s",
		 bytes / 10 < unit    ? 2
		 : bytes / 100 < unit ? 1
				      : 0,
		 (double)bytes / (double)unit, names[i]);
	return buf;
}

const char *amount_format_bytes(int64_t bytes, char buf[static AMOUNT_TEXT_MAX])
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	return format_scaled(bytes, 1024, names, buf);
}

const char *amount_format_bytes_like(int64_t bytes, int64_t like,
				     char buf[static AMOUNT_TEXT_MAX])
{
	static const char *const names[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };

	if (like >= 100000 && like % 100000 == 0 && like % 1048576)
		return format_scaled(bytes, 1000, names, buf);
	return amount_format_bytes(bytes, buf);
}

const char *amount_format_bytes_exact(int64_t bytes, char buf[static AMOUNT_TEXT_MAX])
{
	static const struct byte_unit {
		const char *name;
		int64_t bytes;
	} units[] = {
		{ "PiB", 1LL << 50 },	{ "TiB", 1LL << 40 },
		{ "GiB", 1LL << 30 },	{ "MiB", 1LL << 20 },
		{ "KiB", 1LL << 10 },	{ "TB", 1000000000000LL },
		{ "GB", 1000000000LL }, { "MB", 1000000LL },
		{ "KB", 1000LL },	{ "B", 1 },
	};
	const struct byte_unit *best = &units[ARRAY_LEN(units) - 1];

	for (size_t i = 0; i < ARRAY_LEN(units) && bytes > 0; i++)
		if (bytes % units[i].bytes == 0 && units[i].bytes > best->bytes)
			best = &units[i];
	snprintf(buf, AMOUNT_TEXT_MAX, "%lld%s", (long long)(bytes / best->bytes), best->name);
	return buf;
}

const char *amount_format_seconds(int64_t s, char buf[static AMOUNT_TEXT_MAX])
{
	snprintf(buf, AMOUNT_TEXT_MAX, "%lld:%02d:%02d", (long long)(s / HOUR_S),
		 (int)(s / 60 % 60), (int)(s % 60));
	return buf;
}

const char *amount_format_utc(int64_t realtime_ns, char buf[static AMOUNT_TEXT_MAX])
{
	int64_t s = realtime_ns / S_NS, days = s / DAY_S, z, era, doe, yoe, doy, mp;
	int year, month;

	s -= days * DAY_S;
	/* Civil date from days, Gregorian: years begin in March, so that the leap day is last.
	 */
	z = days + 719468;
	era = z / 146097;
	doe = z - era * 146097;
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	month = (int)(mp < 10 ? mp + 3 : mp - 9);
	year = (int)(yoe + era * 400 + (month <= 2));
	snprintf(buf, AMOUNT_TEXT_MAX, "%04d-%02d-%02d %02d:%02d:%02d UTC", year, month,
		 (int)(doy - (153 * mp + 2) / 5 + 1), (int)(s / HOUR_S), (int)(s / 60 % 60),
		 (int)(s % 60));
	return buf;
}
