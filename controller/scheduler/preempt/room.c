/* SPDX-License-Identifier: GPL-2.0-or-later */
/* room.c - counts the cores that victims free, node by node; see room.h. */
#include <errno.h>
#include <stdlib.h>
#include "controller/scheduler/preempt/room.h"

void room_done(struct room *r)
{
	free(r->fits);
	free(r->nodes);
	*r = (struct room){ 0 };
}

/* How many parts of a chunk the free cores of a node hold. */
static int64_t count_parts(const struct room *r, const struct schedule_chunk *c, int64_t free)
{
	if (free < c->cores)
		return 0;
	if (r->job->pub.is_scattered)
		return 1;
	if (c->cores <= 0)
		return INT32_MAX;
	return free - c->cores < c->cores ? 1 : free / c->cores;
}

static int fit_to_nodes(struct room *r, size_t n)
{
	if (r->n_nodes == n)
		return 0;
	free(r->nodes);
	r->nodes = calloc(n + 1, sizeof(*r->nodes));
	r->n_nodes = r->nodes ? n : 0;
	r->stamp = 0;
	return r->nodes ? 0 : -ENOMEM;
}

/* Of all nodes in the index, bucket by bucket: those of one bucket but the last have as many free
 * cores each. */
static int64_t count_fits(const struct room *r, const struct schedule *s,
			  const struct schedule_chunk *c)
{
	int64_t fits = 0;

	for (int32_t b = 0; b < s->end_bucket; b++)
		fits += s->in_bucket[b] * count_parts(r, c, b);
	for (int32_t i = -1; (i = node_next(s, NODE_BUCKETS - 1, i, NULL)) >= 0;)
		fits += count_parts(r, c, s->nodes[i].free_cores);
	return fits;
}

int room_open(struct room *r, const struct schedule *s, const struct job *job)
{
	if (fit_to_nodes(r, s->n_nodes) < 0 ||
	    schedule_reserve(&r->fits, &r->max_fits, (size_t)job->pub.n_chunks,
			     sizeof(*r->fits)) < 0)
		return -ENOMEM;
	r->job = job;
	r->cores = s->indexed_cores;
	r->stamp += r->stamp == UINT32_MAX ? 2 : 1;
	for (int32_t c = 0; c < job->pub.n_chunks; c++)
		r->fits[c] = count_fits(r, s, &job->pub.chunks[c]);
	return 0;
}

static void add_part(struct room *r, const struct schedule *s, int32_t node, int64_t cores)
{
	const struct node *n = &s->nodes[node];
	struct room_node *at = &r->nodes[node];
	bool is_known = at->stamp == r->stamp;
	int64_t before = is_known ? at->free_cores : n->free_cores, after = before + cores;
	/* A node that an exclusive job has is in no bucket until that job is freed. */
	bool was_counted = is_known || n->bucket >= 0;

	if (!n->is_open)
		return;
	for (int32_t c = 0; c < r->job->pub.n_chunks; c++) {
		const struct schedule_chunk *chunk = &r->job->pub.chunks[c];

		if (was_counted)
			r->fits[c] -= count_parts(r, chunk, before);
		r->fits[c] += count_parts(r, chunk, after);
	}
	*at = (struct room_node){ after, r->stamp };
}

int64_t room_cores_of(const struct schedule *s, const struct job *freed)
{
	int64_t cores = 0;

	for (int32_t i = 0; freed->pub.is_exclusive && i < freed->n_parts; i++)
		cores += s->nodes[freed->nodes[i]].cores;
	return cores > freed->cores ? cores : freed->cores;
}

void room_add(struct room *r, const struct schedule *s, const struct job *freed)
{
	int32_t part = 0;

	r->cores += room_cores_of(s, freed);
	for (int32_t c = 0; c < freed->pub.n_chunks; c++)
		for (int32_t i = 0; i < freed->pub.chunks[c].n; i++, part++)
			add_part(r, s, freed->nodes[part], freed->pub.chunks[c].cores);
}

bool room_may_fit(const struct room *r)
{
	if (r->cores < r->job->cores)
		return false;
	for (int32_t c = 0; c < r->job->pub.n_chunks; c++)
		if (r->fits[c] < r->job->pub.chunks[c].n)
			return false;
	return true;
}
