/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycle_impl - what a cycle has in memory of each cluster, for the files of dispatch. */
#pragma once
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/cluster/cluster.h"
#include "controller/dispatch/forecast.h"
#include "controller/dispatch/needs.h"
#include "controller/quota/eligibility.h"

/* A cluster as of its last cycle. */
struct cycle_cluster {
	struct cycle_cluster *next;
	char name[REQUEST_NAME_MAX];
	struct names users, accounts;
	struct order order;
	struct store_changes changes; /* announced by the ledger since the last cycle */
	struct cluster cluster;
	struct eligibility *eligibility;
	struct pending_start_list pending;
	struct forecast forecast;
	struct needs needs;
	size_t n_limited; /* jobs that limits or quotas refused in the last pass */
};

struct cycle {
	struct store *store;
	struct sharetree *sharetree;
	bool is_ranked; /* the profile weighs priorities; else the order of submission */
	bool is_checked; /* REEVE_QUEUE_CHECK: memory is compared with a fresh reading each cycle */
	struct cycle_cluster *clusters;
};

/* NULL: no cycle has run over it yet. */
struct cycle_cluster *cycle_find_cluster(const struct cycle *c, const char *cluster);
