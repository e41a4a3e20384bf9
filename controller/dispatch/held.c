/* held.c - see held.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/dispatch/held.h"

int held_begin(struct fit_node *nodes, size_t n, struct held *ret)
{
	*ret = (struct held){ nodes, n, calloc(n + 1, sizeof(bool)), false };
	if (!ret->is_whole)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ret->has_models |= nodes[i].gpus.n > 0;
	return 0;
}

void held_done(struct held *h)
{
	free(h->is_whole);
	*h = (struct held){ 0 };
}

/* Cores of one that is suspended and shall stay so are free for others. */
void held_add(struct held *h, size_t node, const struct store_allocated *p)
{
	struct fit_node *n = &h->nodes[node];

	if (p->state != JOB_SUSPENDED || p->wish != DESIRED_SUSPEND)
		n->held.ncpus += p->want.ncpus;
	n->held.mem_bytes += fit_memory(&p->want);
	n->held.jobfs_bytes += p->want.jobfs_bytes;
	n->held.ngpus += p->want.ngpus;
	if (p->want.ngpus && h->has_models)
		gpus_add(&n->gpus_held, p->want.gpu_model, p->want.ngpus);
	h->is_whole[node] |= p->is_exclusive;
}

void held_end(struct held *h)
{
	for (size_t i = 0; i < h->n; i++) {
		if (!h->is_whole[i])
			continue;
		h->nodes[i].held = h->nodes[i].capacity;
		h->nodes[i].gpus_held = h->nodes[i].gpus;
	}
}

static int64_t count_model(const struct gpus *g, const char *model)
{
	for (int32_t i = 0; i < g->n; i++)
		if (!strcmp(g->of[i].model, model))
			return g->of[i].n;
	return 0;
}

static bool is_same_gpus(const struct gpus *a, const struct gpus *b)
{
	for (int32_t i = 0; i < a->n; i++)
		if (count_model(b, a->of[i].model) != a->of[i].n)
			return false;
	return a->n == b->n;
}

static bool is_same_node(const struct fit_node *a, const struct fit_node *b)
{
	return !strcmp(a->name, b->name) && a->open == b->open &&
	       a->capacity.ncpus == b->capacity.ncpus && a->held.ncpus == b->held.ncpus &&
	       a->held.mem_bytes == b->held.mem_bytes &&
	       a->held.jobfs_bytes == b->held.jobfs_bytes && a->held.ngpus == b->held.ngpus &&
	       is_same_gpus(&a->gpus_held, &b->gpus_held);
}

bool held_is_same(const struct held *h, const struct fit_node *others, size_t n,
		  const char **ret_node)
{
	for (size_t i = 0; i < n || i < h->n; i++) {
		if (i < n && i < h->n && is_same_node(&h->nodes[i], &others[i]))
			continue;
		*ret_node = i < n ? others[i].name : h->nodes[i].name;
		return false;
	}
	return true;
}
