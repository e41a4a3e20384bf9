/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_set.c - rollups in memory: two hash tables, of associations by name and of sums by day. Each has
 * its items in an array, and slots with their index + 1, probed linearly, at most half full. See
 * rollup_set.h. */
#include <errno.h>
#include <string.h>
#include "common/hash.h"
#include "controller/ledger/usage/rollup/rollup_set.h"

struct slots {
	uint32_t *slot;
	size_t n_slots; /* a power of two */
};

struct rollup_set {
	struct slots by_name, by_day;
	struct rollup_set_association *associations;
	struct rollup_set_entry *entries;
	size_t n_associations, n_entries, room_associations, room_entries;
};

#define SLOTS_FIRST 1024

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ (h >> 29);
}

static uint64_t hash_name(const char *cluster, const char *account, const char *user)
{
	const uint64_t of_cluster = mix_hash(hash_text(HASH_BEGIN, cluster), 0xff);
	const uint64_t of_account = mix_hash(hash_text(of_cluster, account), 0xff);

	return mix_hash(hash_text(of_account, user), 0xff);
}

static uint64_t hash_entry(int32_t association, int32_t pool, int64_t day)
{
	return mix_hash(mix_hash(mix_hash(0, (uint64_t)association), (uint64_t)pool),
			(uint64_t)day);
}

/* The table has a free slot. */
static void fill_slot(struct slots *t, uint64_t hash, size_t item)
{
	size_t at = hash & (t->n_slots - 1);

	while (t->slot[at])
		at = (at + 1) & (t->n_slots - 1);
	t->slot[at] = (uint32_t)item + 1;
}

/* Grows an array of n items of `size` bytes to have room for one more. NULL: out of memory, and the
 * array is as it was. */
static void *grow_array(void *items, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 256;
	void *p;

	if (n < *room)
		return items;
	if (more > UINT32_MAX / 4)
		return NULL;
	p = reallocarray(items, more, size);
	if (p)
		*room = more;
	return p;
}

static bool is_crowded(const struct slots *t, size_t n)
{
	return (n + 1) * 2 > t->n_slots;
}

/* Doubles the slots, all empty: the caller fills them from its items. */
static bool grow_slots(struct slots *t)
{
	size_t n = t->n_slots ? t->n_slots * 2 : SLOTS_FIRST;
	uint32_t *slot = calloc(n, sizeof(*slot));

	if (!slot)
		return false;
	free(t->slot);
	*t = (struct slots){ slot, n };
	return true;
}

static bool room_for_association(struct rollup_set *s)
{
	void *p = grow_array(s->associations, s->n_associations, &s->room_associations,
			     sizeof(*s->associations));

	if (!p)
		return false;
	s->associations = p;
	if (!is_crowded(&s->by_name, s->n_associations))
		return true;
	if (!grow_slots(&s->by_name))
		return false;
	for (size_t i = 0; i < s->n_associations; i++) {
		const struct rollup_set_association *a = &s->associations[i];

		fill_slot(&s->by_name, hash_name(a->cluster, a->account, a->user), i);
	}
	return true;
}

static bool room_for_entry(struct rollup_set *s)
{
	void *p = grow_array(s->entries, s->n_entries, &s->room_entries, sizeof(*s->entries));

	if (!p)
		return false;
	s->entries = p;
	if (!is_crowded(&s->by_day, s->n_entries))
		return true;
	if (!grow_slots(&s->by_day))
		return false;
	for (size_t i = 0; i < s->n_entries; i++) {
		const struct rollup_set_entry *e = &s->entries[i];

		fill_slot(&s->by_day, hash_entry(e->association, e->pool, e->day), i);
	}
	return true;
}

struct rollup_set *rollup_set_new(void)
{
	_cleanup_(rollup_set_freep) struct rollup_set *s = calloc(1, sizeof(*s));

	if (!s || !grow_slots(&s->by_name) || !grow_slots(&s->by_day))
		return NULL;
	return TAKE_PTR(s);
}

struct rollup_set *rollup_set_free(struct rollup_set *s)
{
	if (!s)
		return NULL;
	free(s->by_name.slot);
	free(s->by_day.slot);
	free(s->associations);
	free(s->entries);
	free(s);
	return NULL;
}

int rollup_set_find(struct rollup_set *s, const char *cluster, const char *account,
		    const char *user)
{
	uint64_t hash = hash_name(cluster, account, user);
	size_t mask = s->by_name.n_slots - 1;
	struct rollup_set_association *a;

	for (size_t at = hash & mask; s->by_name.slot[at]; at = (at + 1) & mask) {
		a = &s->associations[s->by_name.slot[at] - 1];
		if (!strcmp(a->user, user) && !strcmp(a->account, account) &&
		    !strcmp(a->cluster, cluster))
			return (int)s->by_name.slot[at] - 1;
	}
	if (strlen(cluster) >= sizeof(a->cluster) || strlen(account) >= sizeof(a->account) ||
	    strlen(user) >= sizeof(a->user))
		return -ENAMETOOLONG;
	if (!room_for_association(s))
		return -ENOMEM;
	a = &s->associations[s->n_associations];
	*a = (struct rollup_set_association){ .id = 0 };
	strcpy(a->cluster, cluster);
	strcpy(a->account, account);
	strcpy(a->user, user);
	fill_slot(&s->by_name, hash, s->n_associations);
	return (int)s->n_associations++;
}

struct rollup_set_association *rollup_set_association(struct rollup_set *s, int index)
{
	return &s->associations[index];
}

struct rollup *rollup_set_at(struct rollup_set *s, int association, int pool, int64_t day)
{
	uint64_t hash = hash_entry(association, pool, day);
	size_t mask = s->by_day.n_slots - 1;
	struct rollup_set_entry *e;

	for (size_t at = hash & mask; s->by_day.slot[at]; at = (at + 1) & mask) {
		e = &s->entries[s->by_day.slot[at] - 1];
		if (e->day == day && e->association == association && e->pool == pool)
			return &e->rollup;
	}
	if (!room_for_entry(s))
		return NULL;
	e = &s->entries[s->n_entries];
	*e = (struct rollup_set_entry){ .association = association, .pool = pool, .day = day };
	fill_slot(&s->by_day, hash, s->n_entries++);
	return &e->rollup;
}

size_t rollup_set_names(const struct rollup_set *s)
{
	return s->n_associations;
}

size_t rollup_set_size(const struct rollup_set *s)
{
	return s->n_entries;
}

struct rollup_set_entry *rollup_set_entry(struct rollup_set *s, size_t i)
{
	return &s->entries[i];
}

void rollup_set_clear(struct rollup_set *s)
{
	memset(s->by_day.slot, 0, s->by_day.n_slots * sizeof(*s->by_day.slot));
	s->n_entries = 0;
}
