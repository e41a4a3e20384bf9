/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank - the priority of a queued job: collects its factors from job, site and share tree, and
 * words the result.
 *
 * The multifactor priority of controller/policy/priority/priority.h. Age counts from the moment
 * from which nothing held the job back: its submission, its release from a hold, the end of the
 * last job that it depended on. A held job has priority 0. Size is the nodes and cores
 * requested, of those that the cluster has: a node for each chunk that is scattered, otherwise
 * as many of the largest nodes as the cores fill; whole nodes count with all their cores; the
 * partition factor is the queue's Priority= beside the highest of all queues. The QOS factor is
 * the Priority= of the job's [Qos] beside the highest of all of them, 0 for a job without one;
 * where the site has no [Qos] sections it is the queue's QosPriority= likewise. There are no
 * priorities of associations.
 */
#pragma once
#include "controller/policy/priority/priority.h"
#include "controller/sharetree/sharetree.h"

/* The weights of the profile, and what its priorities are relative to. */
struct priority_rule rank_rule(const struct config *c);

/* The rule of the size factor: [Policy] FavorSmall, SmallRelativeToTime. */
enum priority_size rank_size(const struct config_policy *p);

struct rank_job {
	struct sharetree_where where;
	const char *account, *user, *queue, *qos; /* qos NULL or "": none */
	const struct resources *want;
	const struct select *select; /* its chunks; NULL: one */
	bool is_exclusive;	     /* whole nodes */
	bool is_held;
	int64_t waited_s;   /* since it could have started */
	int64_t nice, site; /* set for this job by its owner; by an operator */
};
/* What the cluster has. */
struct rank_cluster {
	int64_t nodes, cores;
	int64_t largest; /* cores of the node that has the most */
};
struct rank_cluster rank_cluster(const struct fit_node *nodes, size_t n);

/* Computes the priority, with the fairshare of the last sharetree_get_view() of the job's tree.
 * -EINVAL, -ERANGE as
 * priority_explain(). */
int rank_job(struct sharetree *s, const struct rank_cluster *cluster, const struct rank_job *j,
	     struct priority *ret, struct err *err);

/* The row with the largest product; NULL: none is above 0. */
const struct priority_row *rank_main(const struct priority *p);
#define RANK_WORDS_MAX 256
/* "fairshare weighs most: 0.450000 x 100000000 = 45000000.000000 of 45010000; ..." */
const char *rank_words(const struct priority *p, char buf[static RANK_WORDS_MAX]);
