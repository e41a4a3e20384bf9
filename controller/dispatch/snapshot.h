/* snapshot - a cluster as the ledger has it, made into a schedule. */
#pragma once
#include "controller/ledger/nodes/allocated.h"
#include "controller/dispatch/intent.h"
#include "controller/dispatch/order.h"
#include "controller/scheduler/schedule.h"

/* Jobs of both kinds, by number of the ledger. */
struct snapshot_job {
	int64_t job;
	int32_t number; /* of the schedule */
};

struct snapshot {
	struct schedule *schedule;
	struct fit_node *nodes;
	size_t n_nodes;
	struct names node_names; /* by index of nodes */
	struct snapshot_job *jobs;
	size_t n_jobs, max_jobs;
	char models[SCHEDULE_MODELS_MAX + 1][REQUEST_NAME_MAX]; /* of GPUs, from 1 */
	int n_models;
	int64_t now_ns;
	bool has_closings; /* nodes will be taken out of use */
};

struct snapshot_ask {
	struct store *store;
	const struct config *config;
	const char *cluster;
	const struct order *order;
	const struct intents *intents;
	struct names *users, *accounts;
	int64_t now_ns;
	bool is_checked; /* what is held is compared with store_nodes_in_use() */
	bool (*may_start)(void *ctx, int64_t job);
	void (*starts)(void *ctx, int64_t job, bool is_undone);
	void *ctx;
};
/* `nodes`, as store_nodes_in_use_by_parts() has them, is taken over. *ret needs snapshot_done() in any case.
 */
int snapshot_make(const struct snapshot_ask *a, struct fit_node *nodes, size_t n_nodes,
		  struct snapshot *ret, struct err *err);
void snapshot_done(struct snapshot *s);

/* NULL: not known then. */
struct snapshot_job *snapshot_find(const struct snapshot *s, int64_t job);
int32_t snapshot_node(const struct snapshot *s, const char *node); /* -1: none */
