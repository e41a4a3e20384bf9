/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept - the nodes of a cluster as store_bare_nodes() reads them, kept in memory until one of them changes: a submission asks whether any of
 * them could ever hold its job, and would read them all. */
#pragma once
#include <stdlib.h>
#include "controller/ledger/store_sqlite.h"

struct fit_node;
struct store_cluster_nodes {
	struct store_cluster_nodes *next;
	struct fit_node *of;
	size_t n;
	char cluster[REQUEST_NAME_MAX];
};

/* Lent, until the next statement that writes. */
int store_kept_nodes(struct store *s, const char *cluster, const struct fit_node **ret,
		     size_t *ret_n, struct err *err);
/* A node has changed, or what was read may have been rolled back. */
static inline void store_forget_nodes(struct store *s)
{
	while (s->kept_nodes) {
		struct store_cluster_nodes *k = s->kept_nodes;

		s->kept_nodes = k->next;
		free(k->of);
		free(k);
	}
}
