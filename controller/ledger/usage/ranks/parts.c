/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts.c - an array of parts; the one that was used longest ago goes first. See parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/ledger/usage/ranks/parts.h"

struct part {
	struct part_key key; /* its cluster is malloc()ed */
	struct packed sums;
	uint64_t used; /* when: a count of uses */
};
struct parts {
	struct part *of;
	size_t n, room, bytes;
	uint64_t uses;
};

struct parts *parts_new(void)
{
	return calloc(1, sizeof(struct parts));
}

static void part_done(struct part *p)
{
	free((char *)p->key.cluster);
	packed_done(&p->sums);
}

struct parts *parts_free(struct parts *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->n; i++)
		part_done(&p->of[i]);
	free(p->of);
	free(p);
	return NULL;
}

static bool is_of(const struct part *p, const struct part_key *k)
{
	return p->key.begins == k->begins && p->key.span == k->span && p->key.kind == k->kind &&
	       !strcmp(p->key.cluster, k->cluster);
}

static struct part *find_part(struct parts *p, const struct part_key *k)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_of(&p->of[i], k))
			return &p->of[i];
	return NULL;
}

static size_t count_bytes(const struct part *p)
{
	return sizeof(*p) + strlen(p->key.cluster) + 1 + p->sums.size;
}

static void drop_part(struct parts *p, struct part *part)
{
	p->bytes -= count_bytes(part);
	part_done(part);
	*part = p->of[--p->n];
}

static void drop_oldest(struct parts *p)
{
	struct part *oldest = &p->of[0];

	for (size_t i = 1; i < p->n; i++)
		if (p->of[i].used < oldest->used)
			oldest = &p->of[i];
	drop_part(p, oldest);
}

const struct packed *parts_find(struct parts *p, const struct part_key *k)
{
	struct part *found = find_part(p, k);

	if (!found || found->key.version != k->version)
		return NULL;
	found->used = ++p->uses;
	return &found->sums;
}

static int grow_parts(struct parts *p)
{
	size_t room = p->room ? p->room * 2 : 128;
	struct part *of = p->n < p->room ? p->of : reallocarray(p->of, room, sizeof(*of));

	if (!of)
		return -ENOMEM;
	if (p->n == p->room)
		p->room = room;
	p->of = of;
	return 0;
}

int parts_keep(struct parts *p, const struct part_key *k, struct packed sums)
{
	struct part *old = find_part(p, k), new = { .key = *k, .sums = sums };

	if (old)
		drop_part(p, old);
	new.key.cluster = strdup(k->cluster);
	if (!new.key.cluster || grow_parts(p) < 0) {
		part_done(&new);
		return -ENOMEM;
	}
	while (p->n > 0 && p->bytes + count_bytes(&new) > PARTS_BYTES_MAX)
		drop_oldest(p);
	new.used = ++p->uses;
	p->bytes += count_bytes(&new);
	p->of[p->n++] = new;
	return 0;
}
