/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tally - sums by user, by account (group) and by both: cores or jobs. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct tally {
	struct tally_slot {
		uint64_t key;
		int64_t n;
		uint64_t stamp; /* other than the table's: the slot is free */
	} * slots;
	size_t size, n; /* slots, a power of two; keys */
	uint64_t stamp;
};
#define TALLY_USER(u) (UINT64_C(1) << 62 | (uint32_t)(u))
#define TALLY_GROUP(g) (UINT64_C(2) << 62 | (uint32_t)(g))
#define TALLY_BOTH(u, g) (UINT64_C(3) << 62 | (uint64_t)(uint32_t)(u) << 31 | (uint32_t)(g))

void tally_clear(struct tally *t);
/* Room for n more keys: before tally_add(), which does not grow the table. -ENOMEM. */
int tally_reserve(struct tally *t, size_t n);
/* Adds n to the sum of a key. Returns the new sum. */
int64_t tally_add(struct tally *t, uint64_t key, int64_t n);
