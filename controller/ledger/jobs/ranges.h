/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ranges - a set of whole numbers from 0 on, stored as text: "0-99,150,200-999".
 *
 * Pure. The tasks of an array that have no row yet are such a set: a few ranges, mostly one, also for
 * an array of a million tasks.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	int64_t from, to; /* both in it */
};
struct ranges {
	struct range *at; /* malloc()ed; rising, apart by at least one number */
	size_t n;
};
void ranges_done(struct ranges *r);

/* -EINVAL: not such a text; -ENOMEM. "" is the empty set. */
int ranges_parse(const char *text, struct ranges *ret);
/* malloc()ed; NULL: out of memory. */
char *ranges_format(const struct ranges *r);
int64_t ranges_count(const struct ranges *r);
bool ranges_has(const struct ranges *r, int64_t number);
/* Takes the lowest `max` out, into `ret`; returns how many there were. */
size_t ranges_take(struct ranges *r, size_t max, int64_t *ret);
/* Takes one out. 1: it was in; 0: it was not; -ENOMEM. */
int ranges_remove(struct ranges *r, int64_t number);
