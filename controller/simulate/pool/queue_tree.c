/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_tree.c - a binary tree of minima in an array; see queue_tree.h. Node i has the children
 * 2i and 2i+1; leaves begin at `size`. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "controller/simulate/pool/queue_tree.h"

struct least {
	int64_t cores, estimate_s; /* INT64_MAX: no job below */
};

struct queue_tree {
	size_t n, size; /* size: a power of two */
	struct least *node;
};

int queue_tree_new(size_t n, struct queue_tree **ret)
{
	_cleanup_(queue_tree_freep) struct queue_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->n = n;
	for (t->size = 1; t->size < n;)
		t->size *= 2;
	t->node = malloc(2 * t->size * sizeof(*t->node));
	if (!t->node)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * t->size; i++)
		t->node[i] = (struct least){ INT64_MAX, INT64_MAX };
	*ret = TAKE_PTR(t);
	return 0;
}

struct queue_tree *queue_tree_free(struct queue_tree *t)
{
	if (t)
		free(t->node);
	free(t);
	return NULL;
}

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Sets a leaf and updates the nodes above it, as far as anything changes. */
static void set_leaf(struct queue_tree *t, uint32_t place, struct least v)
{
	size_t i = t->size + place;

	t->node[i] = v;
	while (i > 1) {
		const struct least *a = &t->node[i & ~(size_t)1], *b = a + 1;
		struct least *up = &t->node[i /= 2];
		struct least both = { min_of(a->cores, b->cores),
				      min_of(a->estimate_s, b->estimate_s) };

		if (up->cores == both.cores && up->estimate_s == both.estimate_s)
			return;
		*up = both;
	}
}

void queue_tree_add(struct queue_tree *t, uint32_t place, int64_t cores, int64_t estimate_s)
{
	set_leaf(t, place, (struct least){ cores, estimate_s });
}

void queue_tree_remove(struct queue_tree *t, uint32_t place)
{
	set_leaf(t, place, (struct least){ INT64_MAX, INT64_MAX });
}

/* For a leaf: is its job within the limit? For an inner node: may one below be? The two minima
 * may be of different jobs, so a yes above may lead to none below. */
static bool is_within(const struct least *v, const struct queue_tree_limit *l)
{
	return v->cores <= l->any_cores ||
	       (v->cores <= l->cores && v->estimate_s <= l->estimate_s);
}

/* Walks up and to the right from `from`, and down into every node that may have a match. */
uint32_t queue_tree_next(const struct queue_tree *t, uint32_t from,
			 const struct queue_tree_limit *limit)
{
	size_t i = t->size + from;

	if (from >= t->n || !is_within(&t->node[1], limit))
		return QUEUE_TREE_NONE;
	for (;;) {
		if (is_within(&t->node[i], limit)) {
			if (i >= t->size)
				return (uint32_t)(i - t->size);
			i *= 2;
			continue;
		}
		while (i & 1)
			i /= 2;
		if (i == 0)
			return QUEUE_TREE_NONE;
		i++;
	}
}
