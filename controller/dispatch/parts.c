/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts.c - sums the chunks of a job that lie on the same node: the ledger, the node and its agent know
 * parts, one for each node, not chunks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/dispatch/parts.h"

void parts_done(struct parts *p)
{
	free(p->want);
	free(p->nodes);
	free(p->of);
	*p = (struct parts){ 0 };
}

/* mem is summed only where every chunk states it (select_total()). */
static void add_chunk(struct resources *to, const struct select_chunk *c)
{
	to->ncpus += c->ncpus;
	to->vmem_bytes += c->vmem_bytes;
	to->mem_bytes = to->mem_bytes && c->mem_bytes ? to->mem_bytes + c->mem_bytes : 0;
	to->jobfs_bytes += c->jobfs_bytes;
	to->ngpus += c->ngpus;
}

static int allocate_arrays(struct parts *p, size_t n)
{
	p->want = calloc(n, sizeof(*p->want));
	p->nodes = calloc(n, sizeof(struct fit_node *));
	p->of = calloc(n, sizeof(*p->of));
	return p->want && p->nodes && p->of ? 0 : -ENOMEM;
}

struct summing {
	const struct parts_ask *ask;
	struct parts *p;
	int32_t *part_of; /* part + 1 by node; 0: none yet */
};

/* Adds a chunk to the part of its node, or begins that part. */
static void put_chunk(struct summing *s, const struct select_chunk *c, int32_t node)
{
	const struct resources *whole = &s->ask->job->want;
	int32_t *part = &s->part_of[node];

	if (*part) {
		struct resources *to = &s->p->want[*part - 1];

		add_chunk(to, c);
		if (to->ngpus)
			memcpy(to->gpu_model, whole->gpu_model, sizeof(to->gpu_model));
		return;
	}
	s->p->nodes[s->p->n] = &s->ask->nodes[node];
	select_chunk(c, whole, &s->p->want[s->p->n]);
	*part = (int32_t)++s->p->n;
}

static int sum_parts(const struct parts_ask *a, struct parts *ret)
{
	const struct select *select = a->job->select;
	_cleanup_free_ int32_t *part_of = calloc(a->n_nodes, sizeof(*part_of));
	struct summing s = { a, ret, part_of };
	size_t at = 0;

	if (!part_of)
		return -ENOMEM;
	for (int32_t k = 0; k < select->n; k++)
		for (int64_t i = 0; i < select->of[k].n; i++)
			put_chunk(&s, &select->of[k], a->numbers[at++]);
	return 0;
}

int parts_make(const struct parts_ask *a, struct parts *ret)
{
	const struct select *select = a->job->select;
	int r;

	*ret = (struct parts){ 0 };
	if ((size_t)(select ? select_chunks(select) : 1) != a->n_numbers)
		return -EINVAL;
	r = allocate_arrays(ret, a->n_numbers < a->n_nodes ? a->n_numbers : a->n_nodes);
	if (r < 0)
		return r;
	if (select) {
		r = sum_parts(a, ret);
	} else {
		ret->want[0] = a->job->want;
		ret->nodes[0] = &a->nodes[a->numbers[0]];
		ret->n = 1;
	}
	for (size_t i = 0; i < ret->n; i++) {
		const struct resources *w = &ret->want[i];

		ret->of[i] =
			(struct store_part){ ret->nodes[i]->name, w->ncpus,	  w->vmem_bytes,
					     w->mem_bytes,	  w->jobfs_bytes, w->ngpus };
	}
	return r;
}
