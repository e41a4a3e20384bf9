/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank.c - collects the factors of a job's priority; see rank.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/sharetree/rank.h"

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct rank_cluster rank_cluster(const struct fit_node *nodes, size_t n)
{
	struct rank_cluster all = { 0 };

	for (size_t i = 0; i < n; i++) {
		all.nodes++;
		all.cores += nodes[i].capacity.ncpus;
		all.largest = max_of(all.largest, nodes[i].capacity.ncpus);
	}
	return all;
}

enum priority_size rank_size(const struct config_policy *p)
{
	if (p->small_relative_to_time)
		return PRIORITY_SMALL_TO_TIME;
	return p->favor_small ? PRIORITY_SMALL : PRIORITY_LARGE;
}

struct priority_rule rank_rule(const struct config *c)
{
	const struct config_policy *p = &c->policy;
	int64_t partition = 1, qos = 1; /* at least 1: they divide */

	for (size_t i = 0; i < c->n_queues; i++) {
		partition = max_of(partition, c->queues[i]->priority);
		if (c->n_qos == 0)
			qos = max_of(qos, c->queues[i]->qos_priority);
	}
	for (size_t i = 0; i < c->n_qos; i++)
		qos = max_of(qos, c->qos[i]->priority);

	return (struct priority_rule){
		.weight = { [PRIORITY_AGE] = p->weight_age,
			    [PRIORITY_FAIRSHARE] = p->weight_fairshare,
			    [PRIORITY_SIZE] = p->weight_job_size,
			    [PRIORITY_PARTITION] = p->weight_partition,
			    [PRIORITY_QOS] = p->weight_qos },
		.max_age_s = p->max_age_s,
		.size = rank_size(p),
		.highest = { [PRIORITY_PARTITION] = partition,
			     [PRIORITY_QOS] = qos,
			     [PRIORITY_ASSOCIATION] = 1 },
	};
}

/* Where the site has no [Qos] sections, the queue's QosPriority= stands for it. */
static int64_t qos_priority(const struct config *c, const struct config_queue *queue,
			    const char *name)
{
	const struct config_qos *qos = name ? config_qos(c, name) : NULL;

	if (c->n_qos == 0)
		return queue ? queue->qos_priority : 0;
	return qos ? qos->priority : 0;
}

/* The nodes of a job, estimated before it is placed: exact only for scattered chunks. */
static int64_t nodes_of(const struct rank_cluster *cluster, const struct rank_job *j)
{
	if (j->select && j->select->n && j->select->is_scattered)
		return select_chunks(j->select);
	return cluster->largest
		       ? max_of(1, (j->want->ncpus + cluster->largest - 1) / cluster->largest)
		       : 1;
}

int rank_job(struct sharetree *s, const struct rank_cluster *cluster, const struct rank_job *j,
	     struct priority *ret, struct err *err)
{
	const struct config *c = sharetree_policy(s);
	const struct priority_rule rule = rank_rule(c);
	const struct config_queue *queue = config_queue(c, j->queue);
	const int64_t nodes = nodes_of(cluster, j);
	const struct priority_job job = {
		.held = j->is_held,
		.eligible_s = j->waited_s,
		.fairshare = sharetree_factor(s, j->where, j->account, j->user),
		.nodes = nodes,
		.cores = j->is_exclusive ? max_of(j->want->ncpus, nodes * cluster->largest)
					 : j->want->ncpus,
		.all_nodes = cluster->nodes,
		.all_cores = cluster->cores,
		.limit_s = j->want->walltime_s,
		.own = { [PRIORITY_PARTITION] = queue ? queue->priority : 0,
			 [PRIORITY_QOS] = qos_priority(c, queue, j->qos) },
		.nice = j->nice,
		.site = j->site,
	};
	int r = priority_explain(&rule, &job, ret);

	return r < 0 ? err_set(err, r, "priority of a job of %s in account %s: %s", j->user,
			       j->account, strerror(-r))
		     : 0;
}

const struct priority_row *rank_main(const struct priority *p)
{
	const struct priority_row *most = NULL;

	for (size_t i = 0; i < p->n_rows; i++)
		if (p->rows[i].product_micro > (most ? most->product_micro : 0))
			most = &p->rows[i];
	return most;
}

/* What would change the factor. */
static const char *remedy_of(const char *factor)
{
	if (!strcmp(factor, "fairshare"))
		return "it rises as the account's usage fades";
	if (!strcmp(factor, "age"))
		return "it rises while the job waits, up to the maximum age";
	if (!strcmp(factor, "size"))
		return "it follows from the nodes and cores requested";
	if (!strcmp(factor, "site"))
		return "an operator set it";
	if (!strcmp(factor, "qos"))
		return "it follows from the QOS, or from the queue where the site has no QOS";
	return "it follows from the queue";
}

const char *rank_words(const struct priority *p, char buf[static RANK_WORDS_MAX])
{
	const struct priority_row *most = rank_main(p);
	char product[PRIORITY_TEXT_MAX];

	if (p->held)
		snprintf(buf, RANK_WORDS_MAX, "held: 0 whatever the factors");
	else if (!most)
		snprintf(buf, RANK_WORDS_MAX, "nothing counts for it yet: 1, the least");
	else
		snprintf(buf, RANK_WORDS_MAX, "%s weighs most: %.6f x %lld = %s of %lld; %s",
			 most->name, most->factor, (long long)most->weight,
			 priority_format_micro(most->product_micro, product),
			 (long long)p->value, remedy_of(most->name));
	return buf;
}
