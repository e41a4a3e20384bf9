/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster - what the ledger has of a cluster, in memory, and as a schedule that follows it: nodes,
 * jobs that are allocated to them, and the queued jobs of an order.
 *
 * The first cluster_update() reads everything. Later ones read again what has changed, take those
 * jobs out of the schedule and put them in as they are now. Where nodes have changed, or a queued
 * job asks for a kind of node that none asked for before, the schedule is made again from memory.
 */
#pragma once
#include "controller/dispatch/pending_start.h"
#include "controller/dispatch/cluster/kinds.h"
#include "controller/dispatch/order.h"
#include "controller/dispatch/cluster/placed.h"
#include "controller/scheduler/schedule.h"

struct cluster {
	struct schedule *schedule; /* NULL: nothing was read yet, or it is of no use any more */
	struct fit_node *nodes;	   /* by name */
	size_t n_nodes;
	struct names node_names, model_names; /* of all that were ever seen */
	int32_t *node_at;		      /* index of nodes, by node_names; -1: gone */
	size_t n_node_at;
	struct placed placed;
	struct kinds kinds;
	char models[SCHEDULE_MODELS_MAX + 1][REQUEST_NAME_MAX]; /* of GPUs, from 1 */
	int n_models;
	int64_t now_ns;
	bool has_closings; /* nodes will be taken out of use */
	int64_t *pending;  /* queued jobs that are in the schedule as pending starts */
	size_t n_pending;
};

struct cluster_ask {
	struct store *store;
	const struct config *config;
	const char *cluster;
	struct order *order;
	const struct pending_start_list *pending;
	struct names *users, *accounts;
	int64_t now_ns;
	bool is_ranked;		   /* priorities change by time alone */
	const struct kinds *kinds; /* NULL: those of the order's jobs */
	bool (*may_start)(void *ctx, int64_t job);
	void (*on_start)(void *ctx, int64_t job, bool is_withdrawn);
	void *ctx;
};
/* The nodes, where they have changed (or nothing was read yet): before the rest, since the order is
 * ranked by what the cluster has. */
int cluster_update_nodes(struct cluster *k, const struct cluster_ask *a,
			 const struct store_changes *since, struct err *err);
/* Before the order is updated: takes the changed jobs out of the schedule. */
void cluster_remove_changed(struct cluster *k, const struct order *o,
			    const struct store_changes *since);
/* After it: all else. An error leaves *k to be made again: cluster_done(). */
int cluster_update(struct cluster *k, const struct cluster_ask *a,
		   const struct store_changes *since, struct err *err);
void cluster_done(struct cluster *k);

/* For tests: reads everything again, and says what differs, if anything does. The order of `a` is one
 * that was just made, not the one that *k follows. 1: it is the same. */
int cluster_check(const struct cluster *k, const struct cluster_ask *a, char *ret, size_t size,
		  struct err *err);
