/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seen.c - see seen.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/import/seen.h"

#define SIZE_MIN 1024

static uint64_t mix_bits(uint64_t v)
{
	v = (v ^ (v >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ (v >> 27)) * UINT64_C(0x94d049bb133111eb);
	return v ^ (v >> 31);
}

/* Never 0, which is a free slot. */
static uint64_t mark_of(const struct history_job *j)
{
	uint64_t h = 0;

	for (const char *p = j->cluster; *p; p++)
		h = mix_bits(h + (unsigned char)*p);
	h = mix_bits(h + (uint64_t)j->number);
	h = mix_bits(h + (uint64_t)j->start_s);
	return h ? h : 1;
}

static bool put_mark(struct import_seen *s, uint64_t mark)
{
	size_t at = mark & (s->size - 1);

	while (s->slots[at] && s->slots[at] != mark)
		at = (at + 1) & (s->size - 1);
	if (s->slots[at])
		return false;
	s->slots[at] = mark;
	return true;
}

static int grow_set(struct import_seen *s)
{
	struct import_seen more = { .size = s->size ? s->size * 2 : SIZE_MIN, .n = s->n };

	more.slots = calloc(more.size, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < s->size; i++)
		if (s->slots[i])
			put_mark(&more, s->slots[i]);
	free(s->slots);
	*s = more;
	return 0;
}

void import_seen_done(struct import_seen *s)
{
	free(s->slots);
	*s = (struct import_seen){ 0 };
}

int import_seen_add(struct import_seen *s, const struct history_job *j)
{
	if (2 * s->n >= s->size && grow_set(s) < 0)
		return -ENOMEM;
	if (!put_mark(s, mark_of(j)))
		return 1;
	s->n++;
	return 0;
}
