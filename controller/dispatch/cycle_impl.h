/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycle_impl - what a cycle has in memory of each cluster, for the files of dispatch. */
#pragma once
#include <string.h>
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/cluster/cluster.h"
#include "controller/dispatch/forecast.h"
#include "controller/dispatch/needs.h"
#include "controller/quota/eligibility.h"

/* What a cycle does next; it may stop in between when its time is over. */
enum cycle_stage { CYCLE_IDLE, CYCLE_PASSES, CYCLE_CARRIES_OUT };

/* A cluster as of its last cycle. */
struct cycle_cluster {
	struct cycle_cluster *next;
	char name[REQUEST_NAME_MAX];
	struct names users, accounts;
	struct order order;
	struct store_changes changes; /* announced by the ledger since the last cycle */
	struct cluster cluster;
	enum cycle_stage stage;
	struct cycle_run run;	     /* that is under way */
	bool is_dropped;	     /* it ended before all was carried out */
	struct carry_out *carry_out; /* CYCLE_CARRIES_OUT */
	struct eligibility *eligibility;
	struct pending_start_list pending;
	struct forecast forecast;
	struct needs needs;
	size_t n_limited; /* jobs that limits or quotas refused in the last pass */
};

struct cycle {
	struct store *store;
	struct sharetree *sharetree;
	struct workers *workers; /* NULL: none */
	bool is_ranked; /* the profile weighs priorities; else the order of submission */
	bool is_checked; /* REEVE_QUEUE_CHECK: memory is compared with a fresh reading each cycle */
	struct cycle_cluster *clusters;
};

/* NULL: no cycle has run over it yet. */
static inline struct cycle_cluster *cycle_find_cluster(const struct cycle *c,
						       const char *cluster)
{
	struct cycle_cluster *cl = c->clusters;

	while (cl && strcmp(cl->name, cluster) != 0)
		cl = cl->next;
	return cl;
}
