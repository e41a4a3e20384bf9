/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept.c - a list of clusters with their nodes; see kept.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/ledger/nodes/kept.h"
#include "controller/ledger/store_sqlite.h"

static int read_cluster(struct store *s, const char *cluster, struct store_cluster_nodes **ret,
			struct err *err)
{
	struct store_cluster_nodes *k = calloc(1, sizeof(*k));
	int r = k ? store_bare_nodes(s, cluster, &k->of, &k->n, err)
		  : err_set(err, -ENOMEM, "out of memory");

	if (r < 0) {
		free(k);
		return r;
	}
	snprintf(k->cluster, sizeof(k->cluster), "%s", cluster);
	k->next = s->kept_nodes;
	s->kept_nodes = *ret = k;
	return 0;
}

int store_kept_nodes(struct store *s, const char *cluster, const struct fit_node **ret,
		     size_t *ret_n, struct err *err)
{
	struct store_cluster_nodes *k = s->kept_nodes;
	int r = 0;

	while (k && strcmp(k->cluster, cluster) != 0)
		k = k->next;
	if (!k)
		r = read_cluster(s, cluster, &k, err);
	if (r < 0)
		return r;
	*ret = k->of;
	*ret_n = k->n;
	return 0;
}
