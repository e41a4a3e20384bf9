/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entries.c - the associations of a share tree, in a hash table by account and user; see
 * tree.h. */
#include <stdio.h>
#include <string.h>
#include "common/hash.h"
#include "controller/sharetree/tree/tree.h"

/* 0xff between the texts, so that "ab", "c" is not "a", "bc". */
static uint64_t hash_association(const char *account, const char *user)
{
	return hash_fold(hash_text(hash_number(hash_text(HASH_BEGIN, account), 0xff), user));
}

/* The slot of the association, or the free one where it belongs. At most half of the slots are
 * in use, so the search ends. */
static int32_t *slot_of(const struct tree *t, const char *account, const char *user)
{
	for (uint64_t h = hash_association(account, user);; h++) {
		int32_t *slot = &t->slots[h & (t->n_slots - 1)];
		const struct tree_entry *e = *slot ? &t->entries[*slot - 1] : NULL;

		if (!e || (!strcmp(e->user, user) && !strcmp(e->account, account)))
			return slot;
	}
}

static bool grow_entries(struct tree *t)
{
	size_t larger = t->max_entries ? t->max_entries * 2 : 64;
	struct tree_entry *entries = realloc(t->entries, larger * sizeof(*entries));
	int32_t *slots;

	if (!entries)
		return false;
	t->entries = entries;
	slots = calloc(larger * 2, sizeof(*slots));
	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->n_slots = larger * 2;
	t->max_entries = larger;
	for (size_t i = 0; i < t->n_entries; i++)
		*slot_of(t, t->entries[i].account, t->entries[i].user) = (int32_t)i + 1;
	return true;
}

struct tree_entry *tree_find(const struct tree *t, const char *account, const char *user)
{
	int32_t *slot = t->n_slots ? slot_of(t, account, user) : NULL;

	return slot && *slot ? &t->entries[*slot - 1] : NULL;
}

/* Pointers to entries are valid until the next call: the array may move. */
struct tree_entry *tree_entry(struct tree *t, const char *account, const char *user)
{
	struct tree_entry *e = tree_find(t, account, user);

	if (e)
		return e;
	if (t->n_entries == t->max_entries && !grow_entries(t))
		return NULL;
	e = &t->entries[t->n_entries++];
	*e = (struct tree_entry){ .row = FAIRSHARE_NO_ROW };
	snprintf(e->account, sizeof(e->account), "%s", account);
	snprintf(e->user, sizeof(e->user), "%s", user);
	*slot_of(t, e->account, e->user) = (int32_t)t->n_entries;
	return e;
}
