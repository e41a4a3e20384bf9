/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ends.c - a heap of ends, see ends.h. Each node has four children: fewer levels than with two,
 * and siblings share a cache line. */
#include <errno.h>
#include <stdlib.h>
#include "controller/simulate/ends.h"

#define CHILDREN 4

void sim_ends_done(struct sim_ends *e)
{
	free(e->heap);
	*e = (struct sim_ends){ 0 };
}

static bool is_before(const struct sim_end *a, const struct sim_end *b)
{
	return a->at_s != b->at_s ? a->at_s < b->at_s : a->job < b->job;
}

int sim_ends_push(struct sim_ends *e, int64_t at_s, uint32_t job)
{
	const struct sim_end end = { at_s, job };
	size_t i = e->n;

	if (e->n == e->room) {
		size_t room = e->room ? 2 * e->room : 256;
		struct sim_end *heap = realloc(e->heap, room * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		e->heap = heap;
		e->room = room;
	}
	e->n++;
	for (; i > 0; i = (i - 1) / CHILDREN) {
		if (!is_before(&end, &e->heap[(i - 1) / CHILDREN]))
			break;
		e->heap[i] = e->heap[(i - 1) / CHILDREN];
	}
	e->heap[i] = end;
	return 0;
}

/* The smallest of a node's children; the node itself when it has none. */
static size_t smallest_child(const struct sim_ends *e, size_t i)
{
	size_t from = CHILDREN * i + 1, to = from + CHILDREN, best = from;

	if (from >= e->n)
		return i;
	for (size_t k = from + 1; k < to && k < e->n; k++)
		if (is_before(&e->heap[k], &e->heap[best]))
			best = k;
	return best;
}

struct sim_end sim_ends_pop(struct sim_ends *e)
{
	const struct sim_end top = e->heap[0], last = e->heap[--e->n];
	size_t i = 0, child;

	if (e->n == 0)
		return top;
	while ((child = smallest_child(e, i)) != i && is_before(&e->heap[child], &last)) {
		e->heap[i] = e->heap[child];
		i = child;
	}
	e->heap[i] = last;
	return top;
}
