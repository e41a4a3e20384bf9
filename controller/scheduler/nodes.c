/* nodes.c - what nodes have and what is held of it; nodes by free cores. See schedule.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

int schedule_room(void *p, size_t *max, size_t n, size_t size)
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

static void set_bit(struct schedule *s, int32_t bucket, size_t node, bool is_set)
{
	uint64_t *word = &s->bits[(size_t)bucket * s->words + node / WORD_BITS];
	uint64_t bit = UINT64_C(1) << (node % WORD_BITS);

	*word = is_set ? *word | bit : *word & ~bit;
	s->in_bucket[bucket] += is_set ? 1 : -1;
	if (keep_is_full(s, node))
		s->kept.n_full[bucket] += is_set ? 1 : -1;
}

void node_index(struct schedule *s, struct node *n)
{
	int32_t bucket = bucket_of(n->free_cores);
	size_t i = (size_t)(n - s->nodes);

	if (!n->is_open || n->n_whole > 0)
		bucket = -1;
	if (bucket == n->bucket)
		return;
	if (n->bucket >= 0)
		set_bit(s, n->bucket, i, false);
	if (bucket >= 0)
		set_bit(s, bucket, i, true);
	n->bucket = bucket;
}

/* The bits of all nodes, for one word more of them. */
static int widen(struct schedule *s)
{
	size_t words = s->words ? s->words * 2 : 1;
	uint64_t *bits = calloc(BUCKETS * words, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (size_t b = 0; b < BUCKETS && s->words; b++)
		memcpy(&bits[b * words], &s->bits[b * s->words], s->words * sizeof(*bits));
	free(s->bits);
	s->bits = bits;
	s->words = words;
	return 0;
}

static bool has_gpus(const struct schedule_node *n)
{
	for (int m = 1; m < MODELS; m++)
		if (n->gpus[m])
			return true;
	return false;
}

static int add_gpus(struct schedule *s, const struct schedule_node *n, int32_t *ret)
{
	struct gpu_state *g;

	*ret = -1;
	if (!has_gpus(n))
		return 0;
	if (schedule_room(&s->gpus, &s->max_gpus, s->n_gpus + 1, sizeof(*s->gpus)) < 0)
		return -ENOMEM;
	*ret = (int32_t)s->n_gpus;
	g = &s->gpus[s->n_gpus++];
	*g = (struct gpu_state){ 0 };
	for (int m = 1; m < MODELS; m++)
		g->has[m] = n->gpus[m];
	return 0;
}

static bool is_sane(const struct schedule_node *n)
{
	for (int m = 0; m < MODELS; m++)
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

	if (!is_sane(n))
		return -EINVAL;
	if (schedule_room(&s->nodes, &room, s->n_nodes + 1, sizeof(*s->nodes)) < 0)
		return -ENOMEM;
	s->max_nodes = room;
	if (s->n_nodes / WORD_BITS >= s->words && widen(s) < 0)
		return -ENOMEM;
	if (add_gpus(s, n, &new.gpus) < 0)
		return -ENOMEM;
	s->nodes[s->n_nodes] = new;
	node_index(s, &s->nodes[s->n_nodes++]);
	while (s->end_bucket <= bucket_of(n->cores) && s->end_bucket < BUCKETS - 1)
		s->end_bucket++;
	s->has_closings |= n->closed_from_s != 0;
	keep_forget(s);
	return 0;
}

void schedule_set_closed(struct schedule *s, int32_t node, int64_t from_s)
{
	s->nodes[node].closed_from_s = from_s;
	s->has_closings |= from_s != 0;
	keep_forget(s);
}

int32_t gpus_left(const struct schedule *s, const struct gpu_state *g, int32_t model)
{
	int32_t left = 0;

	if (model > 0) {
		left = g->has[model] - g->held[model];
		if (!(s->config.parts >> model & 1))
			left -= g->held[0];
	} else {
		for (int m = 1; m < MODELS; m++)
			if (!(s->config.parts >> m & 1))
				left += g->has[m] - g->held[m];
		left -= g->held[0];
	}
	return left > 0 ? left : 0;
}

void node_count(struct gpu_state *gpus, struct node *n, const struct schedule_chunk *c,
		enum hold what, int sign)
{
	if (what & HOLD_CORES)
		n->free_cores -= sign * c->cores;
	if (!(what & HOLD_REST))
		return;
	n->free_mem -= sign * c->mem_bytes;
	n->free_jobfs -= sign * c->jobfs_bytes;
	n->n_parts += sign;
	if (n->gpus >= 0)
		gpus[n->gpus].held[c->model] += sign * c->gpus;
}

void node_hold(struct schedule *s, struct node *n, const struct schedule_chunk *c,
	       enum hold what, int sign)
{
	node_count(s->gpus, n, c, what, sign);
	node_index(s, n);
}

void job_hold(struct schedule *s, const struct job *j, enum hold what, int sign)
{
	int32_t part = 0;

	s->stamp++;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			struct node *n = &s->nodes[j->nodes[part]];

			if (j->pub.is_exclusive && (what & HOLD_REST) && n->stamp != s->stamp)
				n->n_whole += sign;
			n->stamp = s->stamp;
			node_hold(s, n, &j->pub.chunks[c], what, sign);
		}
	}
}
