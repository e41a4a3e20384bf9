/* cycle_impl - what a cycle keeps of each cluster, for its own files. */
#pragma once
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/cluster/cluster.h"
#include "controller/quota/eligibility.h"

/* A cluster as of its last cycle. */
struct head {
	struct head *next;
	char cluster[REQUEST_NAME_MAX];
	struct names users, accounts;
	struct order order;
	struct store_changes changes; /* since the order was read */
	struct cluster kept;
	struct eligibility *eligibility;
	struct intents intents;
	size_t n_held; /* by the gate, of those that were asked */
};

struct cycle {
	struct store *store;
	struct sharetree *sharetree;
	bool is_ranked;	 /* else in the order of submission */
	bool is_checked; /* the kept order is compared with one that is read anew */
	struct head *heads;
};

struct head *cycle_head(const struct cycle *c, const char *cluster);
