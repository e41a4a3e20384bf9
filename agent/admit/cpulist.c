/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpulist.c - sets of cpu numbers and their text; see cpulist.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "agent/admit/cpulist.h"
#include "common/cleanup.h"
#include "common/err.h"

void cpulist_add(struct cpulist *s, int n)
{
	if (n >= 0 && n < CPULIST_MAX)
		s->words[n / 64] |= (uint64_t)1 << (n % 64);
}

void cpulist_join(struct cpulist *s, const struct cpulist *other)
{
	for (size_t i = 0; i < ARRAY_LEN(s->words); i++)
		s->words[i] |= other->words[i];
}

void cpulist_remove(struct cpulist *s, const struct cpulist *other)
{
	for (size_t i = 0; i < ARRAY_LEN(s->words); i++)
		s->words[i] &= ~other->words[i];
}

int cpulist_count(const struct cpulist *s)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(s->words); i++)
		n += __builtin_popcountll(s->words[i]);
	return n;
}

bool cpulist_is_empty(const struct cpulist *s)
{
	return cpulist_next(s, -1) < 0;
}

bool cpulist_is_equal(const struct cpulist *a, const struct cpulist *b)
{
	return memcmp(a->words, b->words, sizeof(a->words)) == 0;
}

bool cpulist_overlaps(const struct cpulist *a, const struct cpulist *b)
{
	for (size_t i = 0; i < ARRAY_LEN(a->words); i++)
		if (a->words[i] & b->words[i])
			return true;
	return false;
}

bool cpulist_contains(const struct cpulist *s, const struct cpulist *part)
{
	for (size_t i = 0; i < ARRAY_LEN(s->words); i++)
		if (part->words[i] & ~s->words[i])
			return false;
	return true;
}

int cpulist_next(const struct cpulist *s, int n)
{
	for (int i = n < 0 ? 0 : n + 1; i < CPULIST_MAX; i = (i / 64 + 1) * 64) {
		uint64_t rest = s->words[i / 64] >> (i % 64);

		if (rest)
			return i + __builtin_ctzll(rest);
	}
	return -1;
}

/* Reads a number of at most four digits; -1: none here, or too large. */
static int take_number(const char **at)
{
	int n = 0, digits = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++) {
		if (++digits > 4)
			return -1;
		n = n * 10 + (**at - '0');
	}
	return digits && n < CPULIST_MAX ? n : -1;
}

/* One "N" or "N-M" into *s. */
static int take_range(const char **at, struct cpulist *s)
{
	int first = take_number(at), last = first;

	if (first < 0)
		return -1;
	if (**at == '-') {
		(*at)++;
		last = take_number(at);
	}
	if (last < first)
		return -1;
	for (int n = first; n <= last; n++)
		cpulist_add(s, n);
	return 0;
}

int cpulist_parse(const char *text, struct cpulist *ret, struct err *err)
{
	struct cpulist s = { 0 };
	const char *at = text;

	while (*at && *at != '\n') {
		if (take_range(&at, &s) < 0)
			goto bad;
		if (*at == ',' && at[1] >= '0' && at[1] <= '9')
			at++;
		else if (*at && *at != '\n')
			goto bad;
	}
	if (*at == '\n' && at[1])
		goto bad;
	*ret = s;
	return 0;
bad:
	return err_set(err, -EINVAL, "'%.64s' is not a list of numbers below %d like 0-3,8",
		       text, CPULIST_MAX);
}

/* The end of the run of members that starts at `first`. */
static int run_end(const struct cpulist *s, int first)
{
	int last = first;

	while (cpulist_has(s, last + 1))
		last++;
	return last;
}

const char *cpulist_format(const struct cpulist *s, char *buf, size_t size)
{
	size_t used = 0;
	int first, last;

	buf[0] = '\0';
	for (first = cpulist_next(s, -1); first >= 0; first = cpulist_next(s, last)) {
		const char *comma = used ? "," : "";
		char item[16];
		size_t n, room;

		last = run_end(s, first);
		if (first == last)
			n = (size_t)snprintf(item, sizeof(item), "%s%d", comma, first);
		else
			n = (size_t)snprintf(item, sizeof(item), "%s%d-%d", comma, first, last);
		/* Unless this is the last one, the dots must fit behind it. */
		room = cpulist_next(s, last) < 0 ? 1 : sizeof("...");
		if (used + n + room > size) {
			memcpy(buf + used, "...", sizeof("..."));
			return buf;
		}
		memcpy(buf + used, item, n + 1);
		used += n;
	}
	return buf;
}
