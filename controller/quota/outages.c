/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outages.c - which declared outages count for figures of a cluster; see quota.h. */
#include "controller/ledger/usage/outages.h"
#include "controller/quota/quota_impl.h"

const char *quota_outage_cluster(const struct config *c, const char *cluster)
{
	return !*cluster && c && c->n_clusters == 1 ? c->clusters[0]->name : cluster;
}

int quota_read_outages(const struct quota_site *site, const char *cluster, struct target *t,
		       struct err *err)
{
	const struct store_outages which = { quota_outage_cluster(site->config, cluster),
					     t->start_ns, t->end_ns };

	return store_outage_read(site->store, &which, &t->outages, err);
}
