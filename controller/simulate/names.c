/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - a hash table from names to numbers, with open addressing; see names.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/hash.h"
#include "controller/simulate/names.h"

void sim_names_done(struct sim_names *s)
{
	free(s->texts);
	free(s->slots);
	*s = (struct sim_names){ 0 };
}

static size_t find_slot(const struct sim_names *s, const char *name)
{
	size_t at = (size_t)hash_fold(hash_text(HASH_BEGIN, name)) & (s->slots_n - 1);

	while (s->slots[at] && strcmp(s->texts[s->slots[at] - 1], name) != 0)
		at = (at + 1) & (s->slots_n - 1);
	return at;
}

/* Room for one more, with half of the slots empty. */
static int grow_names(struct sim_names *s)
{
	size_t slots_n = s->slots_n ? s->slots_n * 2 : 64;
	void *texts = realloc(s->texts, slots_n / 2 * sizeof(*s->texts));
	uint32_t *slots;

	if (!texts)
		return -ENOMEM;
	s->texts = texts;
	slots = calloc(slots_n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->slots_n = slots_n;
	s->room = slots_n / 2;
	for (size_t i = 0; i < s->n; i++)
		slots[find_slot(s, s->texts[i])] = (uint32_t)i + 1;
	return 0;
}

int sim_names_number(struct sim_names *s, const char *name, uint32_t *ret)
{
	int r = s->n == s->room ? grow_names(s) : 0;
	size_t at;

	if (r < 0)
		return r;
	at = find_slot(s, name);
	if (!s->slots[at]) {
		snprintf(s->texts[s->n], sizeof(s->texts[s->n]), "%s", name);
		s->slots[at] = (uint32_t)++s->n;
	}
	*ret = s->slots[at] - 1;
	return 0;
}
