/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster_impl - what the files of a cluster share. */
#pragma once
#include "controller/dispatch/cluster/cluster.h"

static inline int32_t cluster_node_at(const struct cluster *k, int32_t number)
{
	return (size_t)number < k->n_node_at ? k->node_at[number] : -1;
}

/* -1: none of that name. */
static inline int32_t cluster_find_node(const struct cluster *k, const char *node)
{
	int32_t number = names_find(&k->node_names, node);

	return number < 0 ? -1 : cluster_node_at(k, number);
}

/* In an edit of the schedule. < 0: it is of no use any more. */
int cluster_jobs_add(struct cluster *k, const struct cluster_ask *a, struct order_job *o);
/* Adds the placed jobs that are not in the schedule, brings what the others have done up to now,
 * and adds up what nodes have in use. */
int cluster_jobs_follow(struct cluster *k, const struct cluster_ask *a);
