/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place.c - finds nodes for the parts of a job. Among the nodes on which a part fits it takes the
 * one with the fewest free cores (then the first), which keeps large holes for large jobs. */
#include <errno.h>
#include "controller/scheduler/schedule_impl.h"

#define ALL_LACK (-1) /* schedule.lacking: no kind of chunk alone */

struct search {
	struct schedule *s;
	const struct place_ask *p;
	const struct schedule_chunk *c;
	int32_t bucket,
		node; /* none before these suits the chunk; node -1: any of the bucket */
	const uint64_t *without; /* bits of nodes to leave out; NULL: none */
};

static bool is_suitable(const struct search *f, int32_t i)
{
	const struct node *n = &f->s->nodes[i];
	const struct job *j = f->p->job;

	f->s->work++;
	if (!node_fits(f->s, n, f->c, j))
		return false;
	if (j->pub.is_exclusive && n->n_parts > 0)
		return false;
	if (j->pub.is_scattered && n->stamp == f->s->stamp)
		return false;
	if (n->closed_from_s && f->p->until_s > n->closed_from_s)
		return false;
	return !f->p->reservation || reservation_allows(f->s, f->p->reservation, i, f->c, j);
}

/* The nodes of the last bucket have different numbers of free cores: all of them are compared. */
static int32_t search_last(const struct search *f)
{
	const struct schedule *s = f->s;
	int32_t best = -1;

	for (int32_t i = node_next(s, NODE_BUCKETS - 1, -1, f->without); i >= 0;
	     i = node_next(s, NODE_BUCKETS - 1, i, f->without)) {
		if (best >= 0 && s->nodes[i].free_cores >= s->nodes[best].free_cores)
			continue;
		if (is_suitable(f, i))
			best = i;
	}
	return best;
}

static void begin_search(struct search *f, const struct schedule_chunk *c)
{
	f->c = c;
	f->bucket = node_bucket(c->cores);
	f->node = -1;
	f->without = f->p->reservation && c->cores > 0 ? f->p->reservation->full : NULL;
}

/* The next part goes to the same node as long as it fits: of all nodes that are left it has the fewest
 * free cores now. A node that did not suit one part cannot suit the next: the search never goes back. */
static int32_t search_node(struct search *f)
{
	if (f->node >= 0 && is_suitable(f, f->node))
		return f->node;
	for (; f->bucket < f->s->end_bucket; f->bucket++, f->node = -1)
		while ((f->node = node_next(f->s, f->bucket, f->node, f->without)) >= 0)
			if (is_suitable(f, f->node))
				return f->node;
	f->node = search_last(f);
	return f->node;
}

/* An exclusive job fills the node that it has before it takes another. */
static bool fits_beside(const struct search *f, int32_t last)
{
	const struct job *j = f->p->job;

	return j->pub.is_exclusive && !j->pub.is_scattered && last >= 0 &&
	       node_fits(f->s, &f->s->nodes[last], f->c, j);
}

static void allocate_part(const struct search *f, int32_t i, int sign)
{
	struct node *n = &f->s->nodes[i];

	node_allocate(f->s, n, f->c, NODE_ALL, sign);
	n->stamp = f->s->stamp;
	if (f->p->reservation)
		reservation_use_spare(f->s, i, f->c, sign);
}

/* Takes back the first `n` parts, and the whole of their nodes. */
static void undo_parts(const struct search *f, int32_t n)
{
	struct search back = *f;
	const struct job *j = f->p->job;
	int32_t part = 0;

	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		back.c = &j->pub.chunks[c];
		for (int32_t i = 0; i < j->pub.chunks[c].n && part < n; i++, part++) {
			struct node *node = &f->s->nodes[f->s->parts[part]];

			allocate_part(&back, f->s->parts[part], -1);
			if (j->pub.is_exclusive && node->n_parts == 0)
				node->n_whole = 0;
			node_index(f->s, node);
		}
	}
}

/* A quick check before the search: do the buckets hold enough nodes for all parts of the chunk, by
 * their cores alone? */
static bool may_fit(const struct search *f)
{
	const struct schedule *s = f->s;
	const struct job *j = f->p->job;
	int64_t room = 0, cores = f->c->cores;

	if (cores <= 0 || j->pub.is_exclusive || s->in_bucket[NODE_BUCKETS - 1])
		return true;
	for (int32_t b = node_bucket(cores); b < s->end_bucket && room < f->c->n; b++) {
		int64_t n = s->in_bucket[b] - (f->without ? s->reservation.n_full[b] : 0);

		room += n * (j->pub.is_scattered ? 1 : b / cores);
	}
	return room >= f->c->n;
}

static bool place_part(struct search *f, int32_t part)
{
	int32_t *parts = f->s->parts;
	int32_t i =
		part > 0 && fits_beside(f, parts[part - 1]) ? parts[part - 1] : search_node(f);
	struct node *n;

	if (i < 0)
		return false;
	n = &f->s->nodes[i];
	if (f->p->job->pub.is_exclusive && n->n_parts == 0)
		n->n_whole = 1;
	allocate_part(f, i, 1);
	node_index(f->s, n);
	parts[part] = i;
	return true;
}

/* Have all parts of the chunk room, without the other chunks? Counts what nodes have free, without what the
 * reservation leaves of them: necessary for the job to fit. */
static bool has_room(const struct search *f)
{
	const struct schedule *s = f->s;
	const struct job *j = f->p->job;
	int64_t room = 0;

	for (int32_t b = f->bucket; b < NODE_BUCKETS && room < f->c->n; b++)
		for (int32_t i = -1;
		     room < f->c->n && (i = node_next(s, b, i, f->without)) >= 0;)
			if (is_suitable(f, i))
				room += node_count_fitting(s, &s->nodes[i], j, f->c);
	return room >= f->c->n;
}

/* Looks at each kind of chunk alone before any is placed: what lacks is known at once, and is what later
 * jobs lack as well. */
static bool may_place(struct search *f)
{
	const struct job *j = f->p->job;
	const struct schedule_chunk least = node_least_chunk(j);

	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		begin_search(f, &j->pub.chunks[c]);
		f->s->lacking = c;
		if (!may_fit(f) || (j->pub.n_chunks > 1 && !has_room(f)))
			return false;
	}
	f->s->lacking = ALL_LACK;
	begin_search(f, &least);
	return j->pub.n_chunks == 1 || may_fit(f);
}

bool place_job(struct schedule *s, const struct place_ask *p)
{
	struct search f = { .s = s, .p = p };
	const struct job *j = p->job;
	int32_t part = 0;

	s->stamp++;
	if (!may_place(&f))
		return false;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		begin_search(&f, &j->pub.chunks[c]);
		for (int32_t i = 0; i < f.c->n; i++, part++) {
			if (place_part(&f, part))
				continue;
			s->lacking = c == 0 ? 0 : ALL_LACK;
			undo_parts(&f, part);
			return false;
		}
	}
	return true;
}

bool place_is_possible(const struct schedule *s, const struct job *j)
{
	struct node empty;
	struct node_gpus none;

	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		int64_t n = 0;

		for (size_t i = 0; i < s->n_nodes && n < j->pub.chunks[c].n; i++) {
			struct schedule one = { .config = s->config, .gpus = &none };

			empty = s->nodes[i];
			empty.free_cores = empty.cores;
			empty.free_mem = empty.mem_bytes;
			empty.free_jobfs = empty.jobfs_bytes;
			empty.n_parts = empty.n_whole = 0;
			if (empty.gpus >= 0) {
				none = s->gpus[empty.gpus];
				for (int m = 0; m < NODE_MODELS; m++)
					none.in_use[m] = 0;
				empty.gpus = 0;
			}
			n += node_count_fitting(&one, &empty, j, &j->pub.chunks[c]);
		}
		if (n < j->pub.chunks[c].n)
			return false;
	}
	return true;
}
