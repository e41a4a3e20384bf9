/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace.c - the time of a period without the outages of a row's clusters; see projection_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/usage/outages.h"
#include "controller/quota/projection/projection_impl.h"

static int keep_outage(void *ctx, const struct store_outage *o, struct err *err)
{
	struct projection_state *g = ctx;
	void *larger = realloc(g->outages, (g->n_outages + 1) * sizeof(*g->outages));

	if (!larger)
		return err_set(err, -ENOMEM, "out of memory");
	g->outages = larger;
	g->outages[g->n_outages] = (struct projection_outage){ { o->from_ns, o->to_ns }, "" };
	snprintf(g->outages[g->n_outages++].cluster, REQUEST_NAME_MAX, "%s", o->cluster);
	return 0;
}

int projection_read_outages(struct projection_state *g, int64_t start_ns, struct err *err)
{
	int r;

	if (g->passed_ns <= 0)
		return 0;
	r = store_outage_each(g->site->store,
			      &(struct store_outages){ NULL, start_ns, start_ns + g->whole_ns },
			      keep_outage, g, err);
	if (r < 0 || !g->n_outages)
		return r;
	g->spans = calloc(g->n_outages, sizeof(*g->spans));
	return g->spans ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* The cluster of a row: the query's, else a key of the row; "": all together. */
static const char *cluster_of(const struct projection_state *g,
			      const struct projection_entry *k)
{
	if (g->period.cluster)
		return g->period.cluster;
	if (k && g->period.by == STORE_BY_CLUSTER)
		return k->key;
	if (k && g->period.second == STORE_BY_CLUSTER)
		return k->second;
	return "";
}

struct projection_pace projection_find_pace(const struct projection_state *g,
					    const struct projection_entry *k)
{
	const char *cluster = quota_outage_cluster(g->site->config, cluster_of(g, k));
	const int64_t now = g->ask->now_ns, start = now - g->passed_ns;
	struct projection_pace p = { .outages.of = g->spans };

	for (size_t i = 0; i < g->n_outages; i++)
		if (!*g->outages[i].cluster || !strcmp(g->outages[i].cluster, cluster))
			p.outages.of[p.outages.n++] = g->outages[i].span;
	p.whole_ns = outage_time_without(&p.outages, start, start + g->whole_ns);
	p.passed_ns = outage_time_without(&p.outages, start, now);
	p.recent_ns = outage_time_without(&p.outages, now - g->recent_ns, now);
	return p;
}
