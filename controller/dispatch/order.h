/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order - the queued jobs of a cluster, each with its priority and the largest factor of that. Jobs of
 * equal priority start in the order of submission; where the profile weighs nothing, all jobs are equal.
 *
 * It stays in memory from one cycle to the next: only jobs that the ledger announces as changed are read
 * again, but all are ranked again, since priorities change with time alone. */
#pragma once
#include "controller/ledger/changes.h"
#include "controller/dispatch/names.h"
#include "controller/sharetree/rank.h"

struct order_job {
	int64_t job;
	int32_t number; /* in the schedule; -1: not in it */
	bool is_exclusive;
	struct resources want;
	struct select *select; /* NULL: one chunk */
	int64_t priority;
	const char *main; /* its factor; NULL: none */
	int64_t submitted_ns, eligible_ns, due_ns, nice, site;
	int32_t user, account; /* numbers by order_ask.users, .accounts */
	int32_t queue, qos;    /* of the configuration; -1: it is gone from there, or none */
	enum charge_pool pool;
};

struct order {
	struct order_job *jobs; /* by number */
	size_t n, room;
};

struct order_ask {
	struct store *store;
	struct sharetree *sharetree; /* NULL: nothing is weighed, all priorities are 0 */
	const char *cluster;
	struct rank_cluster has;
	int64_t now_ns;
	const struct config *config;
	struct names *users, *accounts;
};
/* Reads all queued jobs. *ret needs order_done() in any case. */
int order_make(const struct order_ask *a, struct order *ret, struct err *err);
/* Brings an order up to date that was made with the same names: `since` are the jobs written since then,
 * each once, by number. After an error it must be made again. */
int order_update(const struct order_ask *a, const struct store_changes *since, struct order *o,
		 struct err *err);
void order_done(struct order *o);
/* Is it the same, to the last field? If not, *ret_job is the first that differs. */
bool order_is_same(const struct order *a, const struct order *b, int64_t *ret_job);
/* Index of a queue in the configuration; -1: it has none of that name. */
int32_t order_queue(const struct config *c, const char *queue);
bool order_is_same_want(const struct resources *a, const struct resources *b);
/* NULL: not queued then. */
struct order_job *order_find(const struct order *o, int64_t job);
