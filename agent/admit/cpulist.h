/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpulist - a set of cpu (or NUMA node) numbers, and its text as the kernel writes it.
 *
 * Pure. "0-3,8": ranges ascending, no blanks. The empty set is the empty text.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define CPULIST_MAX 1024      /* numbers 0 .. CPULIST_MAX-1 */
#define CPULIST_TEXT_MAX 2560 /* every set's text fits */

struct cpulist {
	uint64_t words[CPULIST_MAX / 64];
};

static inline bool cpulist_has(const struct cpulist *s, int n)
{
	return n >= 0 && n < CPULIST_MAX && (s->words[n / 64] >> (n % 64) & 1);
}

void cpulist_add(struct cpulist *s, int n);			     /* out of range: nothing */
void cpulist_join(struct cpulist *s, const struct cpulist *other);   /* s |= other */
void cpulist_remove(struct cpulist *s, const struct cpulist *other); /* s &= ~other */
int cpulist_count(const struct cpulist *s);
bool cpulist_is_empty(const struct cpulist *s);
bool cpulist_is_equal(const struct cpulist *a, const struct cpulist *b);
bool cpulist_overlaps(const struct cpulist *a, const struct cpulist *b);
bool cpulist_contains(const struct cpulist *s, const struct cpulist *part);
/* The smallest member above `n`; start with -1. -1: no more. */
int cpulist_next(const struct cpulist *s, int n);

/* Accepts what the kernel writes, with a final newline. -EINVAL: anything else, a descending
 * range, a number >= CPULIST_MAX; *ret is then untouched. */
int cpulist_parse(const char *text, struct cpulist *ret, struct err *err);
/* Returns buf. Too small a buffer gets as many whole ranges as fit and "..." (>= 4 bytes). */
const char *cpulist_format(const struct cpulist *s, char *buf, size_t size);
