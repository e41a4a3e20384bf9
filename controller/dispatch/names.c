/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - a hash table (FNV-1a, linear probing, at most half full) from texts to their numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/hash.h"
#include "controller/dispatch/names.h"

static size_t find_slot(const struct names *n, const char *text)
{
	uint64_t hash = hash_text(HASH_BEGIN, text);
	size_t i;

	for (i = (size_t)hash & (n->size - 1); n->slots[i]; i = (i + 1) & (n->size - 1))
		if (!strcmp(n->texts[n->slots[i] - 1], text))
			break;
	return i;
}

static int grow_table(struct names *n)
{
	struct names new = { .texts = n->texts, .size = n->size ? n->size * 2 : 64 };
	char **texts = realloc(n->texts, new.size * sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	n->texts = new.texts = texts;
	new.slots = calloc(new.size, sizeof(*new.slots));
	if (!new.slots)
		return -ENOMEM;
	for (size_t i = 0; i < n->n; i++)
		new.slots[find_slot(&new, n->texts[i])] = (int32_t)i + 1;
	free(n->slots);
	n->slots = new.slots;
	n->size = new.size;
	return 0;
}

int32_t names_number(struct names *n, const char *text)
{
	size_t i;

	if (2 * (n->n + 1) > n->size && grow_table(n) < 0)
		return -ENOMEM;
	i = find_slot(n, text);
	if (n->slots[i])
		return n->slots[i] - 1;
	n->texts[n->n] = strdup(text);
	if (!n->texts[n->n])
		return -ENOMEM;
	n->slots[i] = (int32_t)++n->n;
	return n->slots[i] - 1;
}

int32_t names_find(const struct names *n, const char *text)
{
	return n->size ? n->slots[find_slot(n, text)] - 1 : -1;
}

void names_done(struct names *n)
{
	for (size_t i = 0; i < n->n; i++)
		free(n->texts[i]);
	free(n->texts);
	free(n->slots);
	*n = (struct names){ 0 };
}
