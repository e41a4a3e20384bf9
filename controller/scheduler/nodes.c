/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes.c - adds nodes, counts what of them is in use, and keeps the index of nodes by free cores. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

int schedule_reserve(void *p, size_t *max, size_t n, size_t size)
{
	size_t larger = *max ? *max : 16;
	void **at = p, *q;

	if (n <= *max)
		return 0;
	while (larger < n)
		larger *= 2;
	q = realloc(*at, larger * size);
	if (!q)
		return -ENOMEM;
	*at = q;
	*max = larger;
	return 0;
}

/* Puts a node into a bucket or takes it out; the reservation counts its full nodes by bucket too. */
static void set_bit(struct schedule *s, int32_t bucket, size_t node, bool is_set)
{
	uint64_t *word = &s->bits[(size_t)bucket * s->words + node / WORD_BITS];
	uint64_t bit = UINT64_C(1) << (node % WORD_BITS);

	*word = is_set ? *word | bit : *word & ~bit;
	s->in_bucket[bucket] += is_set ? 1 : -1;
	if (reservation_is_full(s, node))
		s->reservation.n_full[bucket] += is_set ? 1 : -1;
}

void node_index(struct schedule *s, struct node *n)
{
	bool is_in = n->is_open && n->n_whole <= 0;
	int32_t bucket = is_in ? node_bucket(n->free_cores) : -1;
	int64_t cores = is_in ? n->free_cores : 0;
	size_t i = (size_t)(n - s->nodes);

	s->indexed_cores += cores - n->indexed;
	n->indexed = cores;
	if (bucket == n->bucket)
		return;
	if (n->bucket >= 0)
		set_bit(s, n->bucket, i, false);
	if (bucket >= 0)
		set_bit(s, bucket, i, true);
	n->bucket = bucket;
}

/* Doubles the words of each bucket: room for more nodes. */
static int widen_buckets(struct schedule *s)
{
	size_t words = s->words ? s->words * 2 : 1;
	uint64_t *bits = calloc(NODE_BUCKETS * words, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (size_t b = 0; b < NODE_BUCKETS && s->words; b++)
		memcpy(&bits[b * words], &s->bits[b * s->words], s->words * sizeof(*bits));
	free(s->bits);
	s->bits = bits;
	s->words = words;
	return 0;
}

static bool has_gpus(const struct schedule_node *n)
{
	for (int m = 1; m < NODE_MODELS; m++)
		if (n->gpus[m])
			return true;
	return false;
}

static int add_gpus(struct schedule *s, const struct schedule_node *n, int32_t *ret)
{
	struct node_gpus *g;

	*ret = -1;
	if (!has_gpus(n))
		return 0;
	if (schedule_reserve(&s->gpus, &s->max_gpus, s->n_gpus + 1, sizeof(*s->gpus)) < 0)
		return -ENOMEM;
	*ret = (int32_t)s->n_gpus;
	g = &s->gpus[s->n_gpus++];
	*g = (struct node_gpus){ 0 };
	for (int m = 1; m < NODE_MODELS; m++)
		g->has[m] = n->gpus[m];
	return 0;
}

static bool has_valid_amounts(const struct schedule_node *n)
{
	for (int m = 0; m < NODE_MODELS; m++)
		if (n->gpus[m] < 0)
			return false;
	return n->cores >= 0 && n->mem_bytes >= 0 && n->jobfs_bytes >= 0;
}

int schedule_add_node(struct schedule *s, const struct schedule_node *n)
{
	struct node new = { .cores = n->cores,
			    .mem_bytes = n->mem_bytes,
			    .jobfs_bytes = n->jobfs_bytes,
			    .free_cores = n->cores,
			    .free_mem = n->mem_bytes,
			    .free_jobfs = n->jobfs_bytes,
			    .closed_from_s = n->closed_from_s,
			    .features = n->features,
			    .bucket = -1,
			    .is_open = n->is_open };
	size_t room = s->max_nodes;

	if (!has_valid_amounts(n))
		return -EINVAL;
	if (schedule_reserve(&s->nodes, &room, s->n_nodes + 1, sizeof(*s->nodes)) < 0)
		return -ENOMEM;
	s->max_nodes = room;
	if (s->n_nodes / WORD_BITS >= s->words && widen_buckets(s) < 0)
		return -ENOMEM;
	if (add_gpus(s, n, &new.gpus) < 0)
		return -ENOMEM;
	s->nodes[s->n_nodes] = new;
	node_index(s, &s->nodes[s->n_nodes++]);
	while (s->end_bucket <= node_bucket(n->cores) && s->end_bucket < NODE_BUCKETS - 1)
		s->end_bucket++;
	s->has_closings |= n->closed_from_s != 0;
	reservation_invalidate(s);
	return 0;
}

void schedule_set_closed(struct schedule *s, int32_t node, int64_t from_s)
{
	s->nodes[node].closed_from_s = from_s;
	s->has_closings |= from_s != 0;
	reservation_invalidate(s);
}

int32_t node_gpus_free(const struct schedule *s, const struct node_gpus *g, int32_t model)
{
	int32_t left = 0;

	if (model > 0) {
		left = g->has[model] - g->in_use[model];
		if (!(s->config.slices >> model & 1))
			left -= g->in_use[0];
	} else {
		for (int m = 1; m < NODE_MODELS; m++)
			if (!(s->config.slices >> m & 1))
				left += g->has[m] - g->in_use[m];
		left -= g->in_use[0];
	}
	return left > 0 ? left : 0;
}

void node_add_use(struct node_gpus *gpus, struct node *n, const struct schedule_chunk *c,
		  enum node_amounts what, int sign)
{
	if (what & NODE_CORES)
		n->free_cores -= sign * c->cores;
	if (!(what & NODE_REST))
		return;
	n->free_mem -= sign * c->mem_bytes;
	n->free_jobfs -= sign * c->jobfs_bytes;
	n->n_parts += sign;
	if (n->gpus >= 0)
		gpus[n->gpus].in_use[c->model] += sign * c->gpus;
}

void node_allocate(struct schedule *s, struct node *n, const struct schedule_chunk *c,
		   enum node_amounts what, int sign)
{
	node_add_use(s->gpus, n, c, what, sign);
	node_index(s, n);
}

void node_allocate_job(struct schedule *s, const struct job *j, enum node_amounts what,
		       int sign)
{
	int32_t part = 0;

	s->stamp++;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			struct node *n = &s->nodes[j->nodes[part]];

			if (j->pub.is_exclusive && (what & NODE_REST) && n->stamp != s->stamp)
				n->n_whole += sign;
			n->stamp = s->stamp;
			node_allocate(s, n, &j->pub.chunks[c], what, sign);
		}
	}
}

bool node_fits(const struct schedule *s, const struct node *n, const struct schedule_chunk *c,
	       const struct job *j)
{
	if (c->cores > n->free_cores || c->mem_bytes > n->free_mem ||
	    c->jobfs_bytes > n->free_jobfs || (j->pub.features & ~n->features))
		return false;
	if (c->gpus &&
	    (n->gpus < 0 || node_gpus_free(s, &s->gpus[n->gpus], c->model) < c->gpus))
		return false;
	return true;
}

/* How often `want` fits into `has`; INT32_MAX: any number. */
static int64_t count_times(int64_t has, int64_t want)
{
	if (want <= 0)
		return INT32_MAX;
	if (has < want)
		return 0;
	return has - want < want ? 1 : has / want; /* this loop is hot, and a division slow */
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t node_count_fitting(const struct schedule *s, const struct node *n, const struct job *j,
			   const struct schedule_chunk *c)
{
	int64_t k;

	if (!node_fits(s, n, c, j) || n->n_whole > 0 || (j->pub.is_exclusive && n->n_parts > 0))
		return 0;
	if (j->pub.is_scattered)
		return 1;
	k = least(count_times(n->free_cores, c->cores), count_times(n->free_mem, c->mem_bytes));
	k = least(k, count_times(n->free_jobfs, c->jobfs_bytes));
	if (c->gpus)
		k = least(k,
			  count_times(node_gpus_free(s, &s->gpus[n->gpus], c->model), c->gpus));
	return k;
}

struct schedule_chunk node_least_chunk(const struct job *j)
{
	struct schedule_chunk ret = j->pub.chunks[0];

	for (int32_t c = 1; c < j->pub.n_chunks; c++) {
		const struct schedule_chunk *k = &j->pub.chunks[c];

		ret.cores = least(ret.cores, k->cores);
		ret.mem_bytes = least(ret.mem_bytes, k->mem_bytes);
		ret.jobfs_bytes = least(ret.jobfs_bytes, k->jobfs_bytes);
		ret.gpus = k->model == ret.model ? (int32_t)least(ret.gpus, k->gpus) : 0;
	}
	ret.n = j->n_parts;
	return ret;
}
