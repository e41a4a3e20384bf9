/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_set.c - an array of texts, and a hash table of their numbers + 1, probed linearly, at most half full. See name_set.h. */
#include <errno.h>
#include <string.h>
#include "common/hash.h"
#include "controller/ledger/usage/ranks/name_set.h"

#define SLOTS_FIRST 1024

struct name_set {
	char **text;
	uint32_t *slot;
	size_t n, room, n_slots; /* n_slots: a power of two */
};

/* The slot of the text, or the free one where it would stand. */
static size_t find_slot(const struct name_set *n, const char *text)
{
	size_t at = (size_t)hash_fold(hash_text(HASH_BEGIN, text)) & (n->n_slots - 1);

	while (n->slot[at] && strcmp(n->text[n->slot[at] - 1], text) != 0)
		at = (at + 1) & (n->n_slots - 1);
	return at;
}

struct name_set *name_set_new(void)
{
	_cleanup_(name_set_freep) struct name_set *n = calloc(1, sizeof(*n));

	if (n)
		n->slot = calloc(SLOTS_FIRST, sizeof(*n->slot));
	if (!n || !n->slot)
		return NULL;
	n->n_slots = SLOTS_FIRST;
	return TAKE_PTR(n);
}

struct name_set *name_set_free(struct name_set *n)
{
	if (!n)
		return NULL;
	for (size_t i = 0; i < n->n; i++)
		free(n->text[i]);
	free(n->text);
	free(n->slot);
	free(n);
	return NULL;
}

static int grow_slots(struct name_set *n)
{
	uint32_t *slot = calloc(n->n_slots * 2, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	free(n->slot);
	n->slot = slot;
	n->n_slots *= 2;
	for (size_t i = 0; i < n->n; i++)
		n->slot[find_slot(n, n->text[i])] = (uint32_t)i + 1;
	return 0;
}

static int grow_texts(struct name_set *n)
{
	size_t room = n->room ? n->room * 2 : SLOTS_FIRST;
	char **text = room > INT32_MAX ? NULL : reallocarray(n->text, room, sizeof(*text));

	if (!text)
		return -ENOMEM;
	n->text = text;
	n->room = room;
	return 0;
}

int32_t name_set_add(struct name_set *n, const char *text)
{
	size_t at = find_slot(n, text);
	char *copy;

	if (n->slot[at])
		return (int32_t)n->slot[at] - 1;
	if ((n->n == n->room && grow_texts(n) < 0) ||
	    ((n->n + 1) * 2 > n->n_slots && grow_slots(n) < 0))
		return -ENOMEM;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	n->slot[find_slot(n, text)] = (uint32_t)n->n + 1;
	n->text[n->n] = copy;
	return (int32_t)n->n++;
}

int32_t name_set_find(const struct name_set *n, const char *text)
{
	return (int32_t)n->slot[find_slot(n, text)] - 1;
}

const char *name_set_text(const struct name_set *n, int32_t number)
{
	return n->text[number];
}

size_t name_set_count(const struct name_set *n)
{
	return n->n;
}
