/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calendar.c - the days of a time zone, computed in blocks of some 500 days and cached. See calendar.h.
 *
 * An import needs the day of a moment a million times, and localtime_r() is slow. For each block the
 * offset from UTC is sampled every few hours, each change of it is found to the second by bisection,
 * and the first instants of the days follow by arithmetic.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"

#define ZONES "/usr/share/zoneinfo"
#define BLOCK_DAYS 512
#define BLOCKS 16	    /* kept at a time: 22 years */
#define STEP_S (3 * HOUR_S) /* no zone ever changed its offset twice in that time */
#define CHANGES_MAX 32
#define NO_BLOCK INT64_MIN
#define OFFSETS 64 /* days whose offsets are kept */

struct block {
	int64_t number; /* of the days from number * BLOCK_DAYS on */
	int64_t first_s[BLOCK_DAYS + 1];
};

/* Of UTC, well before and well after a day: they differ where clocks change about that day. */
struct offsets {
	int64_t day, before_s, after_s;
};

struct calendar {
	char *zone, *tz; /* tz: as in the environment */
	struct offsets offsets[OFFSETS];
	struct tally_days days;
	struct block blocks[BLOCKS];
};

/* ---- dates ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

struct date {
	int64_t year, month, day; /* month from 0, day from 1 */
};

/* Years begin in March here, so that the leap day is the last of its year; 400 of them have
 * 146097 days. */
static int64_t day_of_date(struct date d)
{
	int64_t y = d.year - (d.month < 2), era = floor_div(y, 400), yoe = y - era * 400;
	int64_t doy = (153 * ((d.month + 10) % 12) + 2) / 5 + d.day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static struct date date_of_day(int64_t day)
{
	int64_t z = day + 719468, era = floor_div(z, 146097), doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int64_t month = (mp + 2) % 12;

	return (struct date){ yoe + era * 400 + (month < 2), month,
			      doy - (153 * mp + 2) / 5 + 1 };
}

const char *calendar_format_day(int64_t day, char buf[static CALENDAR_DAY_MAX])
{
	struct date d = date_of_day(day);

	snprintf(buf, CALENDAR_DAY_MAX, "%04d-%02d-%02d", (int)d.year % 10000,
		 (int)d.month % 12 + 1, (int)d.day % 100);
	return buf;
}

const char *calendar_format_month(int64_t month, char buf[static CALENDAR_DAY_MAX])
{
	snprintf(buf, CALENDAR_DAY_MAX, "%04d-%02d", (int)floor_div(month, 12) % 10000,
		 (int)(month - floor_div(month, 12) * 12) % 12 + 1);
	return buf;
}

int calendar_parse_day(const char *text, int64_t *ret)
{
	static const char form[] = "dddd-dd-dd";
	int64_t n[3] = { 0 }, day;
	char again[CALENDAR_DAY_MAX];

	for (int i = 0, part = 0; i < (int)sizeof(form); i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !is_digit : text[i] != form[i])
			return -EINVAL;
		if (is_digit)
			n[part] = n[part] * 10 + (text[i] - '0');
		else
			part++;
	}
	if (n[0] < 1700 || n[0] > 2200 || n[1] < 1 || n[1] > 12 || n[2] < 1)
		return -EINVAL;
	day = day_of_date((struct date){ n[0], n[1] - 1, n[2] });
	/* The 31st of a short month must not become another day. */
	if (strcmp(calendar_format_day(day, again), text) != 0)
		return -EINVAL;
	*ret = day;
	return 0;
}

/* "08:00" or "08:00:15": seconds of the day. */
static int parse_clock(const char *text, int64_t *ret_s)
{
	int h, m, s = 0, n = -1, k = -1;

	if (strspn(text, "0123456789:") != strlen(text) ||
	    sscanf(text, "%2d:%2d%n:%2d%n", &h, &m, &n, &s, &k) < 2)
		return -EINVAL;
	if ((n != 5 || text[5]) && (k != 8 || text[8]))
		return -EINVAL;
	if (h > 23 || m > 59 || s > 59)
		return -EINVAL;
	*ret_s = h * HOUR_S + m * 60LL + s;
	return 0;
}

int calendar_parse_at(struct calendar *c, const char *text, int64_t *ret_ns)
{
	char date[CALENDAR_DAY_MAX];
	int64_t day, clock_s;

	snprintf(date, sizeof(date), "%.10s", text);
	if (calendar_parse_day(date, &day) < 0)
		return -EINVAL;
	if (!text[10]) {
		*ret_ns = calendar_first_ns(c, day + 1);
		return 0;
	}
	if ((text[10] != 'T' && text[10] != ' ') || parse_clock(text + 11, &clock_s) < 0)
		return -EINVAL;
	*ret_ns = calendar_moment_s(c, day * DAY_S + clock_s, CALENDAR_EARLIER) * S_NS;
	return 0;
}

int64_t calendar_month(int64_t day)
{
	struct date d = date_of_day(day);

	return d.year * 12 + d.month;
}

int64_t calendar_month_first(int64_t month)
{
	int64_t year = floor_div(month, 12);

	return day_of_date((struct date){ year, month - year * 12, 1 });
}

/* ---- the zone ---- */

static int64_t offset_at(int64_t at_s)
{
	time_t t = (time_t)at_s;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* From `from_s` on, local time is UTC + offset_s. */
struct change {
	int64_t from_s, offset_s;
};

/* The second in (low, high] from which the offset is the one at `high`. */
static int64_t find_change(int64_t low_s, int64_t high_s)
{
	int64_t offset = offset_at(high_s);

	while (high_s - low_s > 1) {
		int64_t middle = low_s + (high_s - low_s) / 2;

		if (offset_at(middle) == offset)
			high_s = middle;
		else
			low_s = middle;
	}
	return high_s;
}

static int find_changes(int64_t from_s, int64_t to_s, struct change ret[CHANGES_MAX])
{
	int n = 1;

	ret[0] = (struct change){ from_s, offset_at(from_s) };
	for (int64_t at = from_s + STEP_S; at < to_s && n < CHANGES_MAX; at += STEP_S) {
		int64_t offset = offset_at(at);

		if (offset != ret[n - 1].offset_s)
			ret[n++] = (struct change){ find_change(at - STEP_S, at), offset };
	}
	return n;
}

/* The first second whose local date is `day` or later. */
static int64_t first_second(const struct change *c, int n, int64_t day)
{
	int64_t at_s = 0;

	for (int i = 0; i < n; i++) {
		at_s = day * DAY_S - c[i].offset_s;
		if (at_s < c[i].from_s)
			at_s = c[i].from_s;
		if (i + 1 == n || at_s < c[i + 1].from_s)
			break;
	}
	return at_s;
}

/* TZ belongs to the process, and another calendar may have been opened since. */
static void use_zone(const struct calendar *c)
{
	const char *tz = getenv("TZ");

	if (tz && !strcmp(tz, c->tz))
		return;
	setenv("TZ", c->tz, 1);
	tzset();
}

static void fill_block(const struct calendar *c, struct block *b, int64_t number)
{
	int64_t day = number * BLOCK_DAYS, from_s = (day - 2) * DAY_S;
	struct change changes[CHANGES_MAX];
	int n;

	use_zone(c);
	n = find_changes(from_s, (day + BLOCK_DAYS + 3) * DAY_S, changes);
	for (int i = 0; i <= BLOCK_DAYS; i++)
		b->first_s[i] = first_second(changes, n, day + i);
	b->number = number;
}

static int64_t first_s(struct calendar *c, int64_t day)
{
	int64_t number = floor_div(day, BLOCK_DAYS);
	struct block *b = &c->blocks[(uint64_t)number % BLOCKS];

	if (b->number != number)
		fill_block(c, b, number);
	return b->first_s[day - number * BLOCK_DAYS];
}

int64_t calendar_day(struct calendar *c, int64_t at_ns)
{
	int64_t at_s = floor_div(at_ns, S_NS), day = floor_div(at_s, DAY_S);

	while (at_s < first_s(c, day))
		day--;
	while (at_s >= first_s(c, day + 1))
		day++;
	return day;
}

int64_t calendar_last_day(struct calendar *c, int64_t from_ns, int64_t to_ns)
{
	return calendar_day(c, to_ns - (to_ns > from_ns));
}

int64_t calendar_first_ns(struct calendar *c, int64_t day)
{
	return first_s(c, day) * S_NS;
}

static const struct offsets *offsets_about(struct calendar *c, int64_t day)
{
	struct offsets *o = &c->offsets[(uint64_t)day % OFFSETS];

	if (o->day == day)
		return o;
	use_zone(c);
	*o = (struct offsets){ day, offset_at((day - 1) * DAY_S),
			       offset_at((day + 2) * DAY_S) };
	return o;
}

int64_t calendar_moment_s(struct calendar *c, int64_t local_s, enum calendar_which which)
{
	const struct offsets *o = offsets_about(c, floor_div(local_s, DAY_S));
	int64_t old_s = local_s - o->before_s, new_s = local_s - o->after_s;
	bool is_old, is_new;

	if (old_s == new_s)
		return old_s;
	use_zone(c);
	is_old = offset_at(old_s) == o->before_s;
	is_new = offset_at(new_s) == o->after_s;
	if (is_old && is_new)
		return which == CALENDAR_LATER ? new_s : old_s;
	return is_new ? new_s : old_s;
}

static int64_t day_of(void *ctx, int64_t at_ns)
{
	return calendar_day(ctx, at_ns);
}

static int64_t first_of(void *ctx, int64_t day)
{
	return calendar_first_ns(ctx, day);
}

const struct tally_days *calendar_days(const struct calendar *c)
{
	return &c->days;
}

const char *calendar_zone(const struct calendar *c)
{
	return c->zone;
}

static bool is_zone(const char *zone)
{
	char path[256], magic[4] = "";
	_cleanup_close_ int fd = -1;

	if (*zone && *zone != '/' && !strstr(zone, "..") &&
	    snprintf(path, sizeof(path), ZONES "/%s", zone) < (int)sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       !memcmp(magic, "TZif", sizeof(magic));
}

int calendar_open(const char *zone, struct calendar **ret, struct err *err)
{
	_cleanup_(calendar_closep) struct calendar *c = calloc(1, sizeof(*c));

	if (!is_zone(zone))
		return err_set(err, -EINVAL,
			       "'%.64s' is not a time zone in " ZONES
			       "; write it like Europe/Berlin",
			       zone);
	if (!c || !(c->zone = strdup(zone)) || asprintf(&c->tz, ":" ZONES "/%s", zone) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	c->days = (struct tally_days){ day_of, first_of, c };
	for (int i = 0; i < BLOCKS; i++)
		c->blocks[i].number = NO_BLOCK;
	for (int i = 0; i < OFFSETS; i++)
		c->offsets[i].day = NO_BLOCK;
	if (setenv("TZ", c->tz, 1) < 0)
		return err_set(err, -errno, "set the time zone: %m");
	tzset();
	*ret = TAKE_PTR(c);
	return 0;
}

struct calendar *calendar_close(struct calendar *c)
{
	if (!c)
		return NULL;
	free(c->zone);
	free(c->tz);
	free(c);
	return NULL;
}
