/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packed.c - the figures that were measured and the cores that were used, and nothing else; see packed.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/report/packed.h"

struct packed_usage {
	uint64_t have;	/* as in struct usage: bit i is figure i */
	size_t n_cores; /* behind the figures */
	int64_t figures[];
};

static size_t count_figures(uint64_t have)
{
	return (size_t)__builtin_popcountll(have);
}

static size_t packed_size(uint64_t have, size_t n_cores)
{
	return sizeof(struct packed_usage) + count_figures(have) * sizeof(int64_t) +
	       n_cores * sizeof(struct usage_core);
}

int packed_set(struct packed_usage **at, const struct usage *u)
{
	size_t size = packed_size(u->have, (size_t)u->n_cores), n = 0;
	struct packed_usage *p = *at;

	if (!p || packed_size(p->have, p->n_cores) != size)
		p = realloc(p, size);
	if (!p)
		return -ENOMEM;
	p->have = u->have;
	p->n_cores = (size_t)u->n_cores;
	for (int i = 0; usage_fields[i].name; i++)
		if (u->have >> i & 1)
			memcpy(&p->figures[n++], (const char *)u + usage_fields[i].offset,
			       sizeof(p->figures[0]));
	memcpy(&p->figures[count_figures(u->have)], u->cores, p->n_cores * sizeof(u->cores[0]));
	*at = p;
	return 0;
}

void packed_get(const struct packed_usage *p, struct usage *ret)
{
	size_t n = 0;

	memset(ret, 0, sizeof(*ret));
	if (!p)
		return;
	ret->have = p->have;
	ret->n_cores = (int32_t)p->n_cores;
	for (int i = 0; usage_fields[i].name; i++)
		if (p->have >> i & 1)
			memcpy((char *)ret + usage_fields[i].offset, &p->figures[n++],
			       sizeof(p->figures[0]));
	memcpy(ret->cores, &p->figures[count_figures(p->have)],
	       p->n_cores * sizeof(ret->cores[0]));
}
