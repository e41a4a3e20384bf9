/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - for tests: what is kept of a cluster must be what the ledger has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "controller/dispatch/cluster/cluster_impl.h"

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
	       a->capacity.ncpus == b->capacity.ncpus && a->in_use.ncpus == b->in_use.ncpus &&
	       a->in_use.mem_bytes == b->in_use.mem_bytes &&
	       a->in_use.jobfs_bytes == b->in_use.jobfs_bytes &&
	       a->in_use.ngpus == b->in_use.ngpus &&
	       is_same_gpus(&a->gpus_in_use, &b->gpus_in_use);
}

/* What the placed jobs occupy must be what the ledger adds up. */
static int check_nodes(const struct cluster *k, const struct cluster_ask *a, char *ret,
		       size_t size, struct err *err)
{
	_cleanup_free_ struct fit_node *nodes = NULL;
	size_t n = 0;
	int r = store_nodes_in_use(a->store, a->cluster, &nodes, &n, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n || i < k->n_nodes; i++) {
		if (i < n && i < k->n_nodes && is_same_node(&k->nodes[i], &nodes[i]))
			continue;
		snprintf(ret, size, "node %s", i < n ? nodes[i].name : k->nodes[i].name);
		return 0;
	}
	return 1;
}

/* A schedule made from what is read now must be the one that is kept. */
static int check_schedule(const struct cluster *k, const struct cluster_ask *a, char *ret,
			  size_t size, struct err *err)
{
	const struct store_changes all = { .is_all = true, .are_nodes_new = true };
	struct cluster fresh = { 0 };
	struct cluster_ask ask = *a;
	int r;

	ask.kinds = &k->kinds;
	r = cluster_update_nodes(&fresh, &ask, &all, err);
	if (r >= 0)
		r = cluster_update(&fresh, &ask, &all, err);
	if (r >= 0)
		r = schedule_is_same(k->schedule, fresh.schedule, ret, size);
	cluster_done(&fresh);
	return r;
}

int cluster_check(const struct cluster *k, const struct cluster_ask *a, char *ret, size_t size,
		  struct err *err)
{
	int r = check_nodes(k, a, ret, size, err);

	return r > 0 ? check_schedule(k, a, ret, size, err) : r;
}
