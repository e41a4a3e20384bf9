/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tally.c - sums by key in a hash table with linear probing; it is at most half full. */
#include <errno.h>
#include <stdlib.h>
#include "controller/scheduler/preempt/tally.h"

void tally_clear(struct tally *t)
{
	t->stamp++; /* clearing a table would take longer than filling it */
	t->n = 0;
}

static struct tally_slot *find_slot(const struct tally *t, uint64_t key)
{
	size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (t->size - 1);

	while (t->slots[i].stamp == t->stamp && t->slots[i].key != key)
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

int tally_reserve(struct tally *t, size_t n)
{
	struct tally new = { .size = t->size ? t->size : 64, .n = t->n, .stamp = t->stamp };

	while (new.size < 2 * (t->n + n))
		new.size *= 2;
	if (new.size == t->size)
		return 0;
	new.slots = calloc(new.size, sizeof(*new.slots));
	if (!new.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].stamp == t->stamp)
			*find_slot(&new, t->slots[i].key) = t->slots[i];
	free(t->slots);
	*t = new;
	return 0;
}

int64_t tally_add(struct tally *t, uint64_t key, int64_t n)
{
	struct tally_slot *at = find_slot(t, key);

	if (at->stamp != t->stamp) {
		*at = (struct tally_slot){ .key = key, .stamp = t->stamp };
		t->n++;
	}
	return at->n += n;
}
