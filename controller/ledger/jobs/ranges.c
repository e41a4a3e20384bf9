/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ranges.c - sets of whole numbers as sorted arrays of ranges, read from and written as text. See
 * ranges.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "controller/ledger/jobs/ranges.h"

#define NUMBER_TEXT 21 /* digits of an int64_t, and what stands behind them */

void ranges_done(struct ranges *r)
{
	free(r->at);
	*r = (struct ranges){ 0 };
}

static int append_range(struct ranges *r, struct range one)
{
	struct range *p = realloc(r->at, (r->n + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	r->at = p;
	r->at[r->n++] = one;
	return 0;
}

/* Up to 18 digits: no overflow. Moves *p behind them. */
static bool read_number(const char **p, int64_t *ret)
{
	const char *s = *p;
	int64_t n = 0;

	while (*s >= '0' && *s <= '9' && s - *p < 18)
		n = n * 10 + (*s++ - '0');
	if (s == *p)
		return false;
	*p = s;
	*ret = n;
	return true;
}

static int parse_ranges(const char *p, struct ranges *ret)
{
	int64_t least = 0;

	while (*p) {
		struct range one;
		int r;

		if (!read_number(&p, &one.from))
			return -EINVAL;
		one.to = one.from;
		if (*p == '-') {
			p++;
			if (!read_number(&p, &one.to))
				return -EINVAL;
		}
		if (one.from < least || one.to < one.from || (*p && (*p != ',' || !p[1])))
			return -EINVAL;
		least = one.to + 2;
		r = append_range(ret, one);
		if (r < 0)
			return r;
		p += *p == ',';
	}
	return 0;
}

int ranges_parse(const char *text, struct ranges *ret)
{
	struct ranges read = { 0 };
	int r = parse_ranges(text, &read);

	if (r < 0) {
		ranges_done(&read);
		return r;
	}
	*ret = read;
	return 0;
}

char *ranges_format(const struct ranges *r)
{
	char *text = malloc(r->n * 2 * NUMBER_TEXT + 1), *p = text;

	if (!text)
		return NULL;
	*p = '\0';
	for (size_t i = 0; i < r->n; i++) {
		const struct range *one = &r->at[i];

		p += snprintf(p, NUMBER_TEXT + 1, "%s%lld", i ? "," : "", (long long)one->from);
		if (one->to > one->from)
			p += snprintf(p, NUMBER_TEXT, "-%lld", (long long)one->to);
	}
	return text;
}

int64_t ranges_count(const struct ranges *r)
{
	int64_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->at[i].to - r->at[i].from + 1;
	return n;
}

bool ranges_has(const struct ranges *r, int64_t number)
{
	for (size_t i = 0; i < r->n; i++)
		if (number >= r->at[i].from && number <= r->at[i].to)
			return true;
	return false;
}

static void drop_range(struct ranges *r, size_t i)
{
	r->n--;
	if (r->n > i)
		memmove(&r->at[i], &r->at[i + 1], (r->n - i) * sizeof(*r->at));
}

size_t ranges_take(struct ranges *r, size_t max, int64_t *ret)
{
	size_t n = 0;

	while (n < max && r->n > 0) {
		ret[n++] = r->at[0].from++;
		if (r->at[0].from > r->at[0].to)
			drop_range(r, 0);
	}
	return n;
}

/* Removes `number` from inside range i, which becomes two. 1, or -ENOMEM. */
static int split_range(struct ranges *r, size_t i, int64_t number)
{
	const struct range above = { number + 1, r->at[i].to };

	if (append_range(r, above) < 0)
		return -ENOMEM;
	memmove(&r->at[i + 2], &r->at[i + 1], (r->n - i - 2) * sizeof(*r->at));
	r->at[i + 1] = above;
	r->at[i].to = number - 1;
	return 1;
}

int ranges_remove(struct ranges *r, int64_t number)
{
	for (size_t i = 0; i < r->n; i++) {
		struct range *one = &r->at[i];

		if (number < one->from || number > one->to)
			continue;
		if (one->from == one->to)
			drop_range(r, i);
		else if (number == one->from)
			one->from++;
		else if (number == one->to)
			one->to--;
		else
			return split_range(r, i, number);
		return 1;
	}
	return 0;
}
