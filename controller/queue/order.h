/* order - the queued jobs of a cluster in the order of their priorities, and why each is where
 * it is. Jobs of equal priority stand in the order in which they were handed in; where the
 * profile weighs nothing, all do. */
#pragma once
#include "controller/queue/names.h"
#include "controller/standing/rank.h"

struct order_job {
	struct fit_job job;
	struct select *select; /* NULL: one chunk */
	int64_t priority;
	const char *main; /* its factor; NULL: none */
	size_t place;	  /* from 0 */
	int64_t submitted_ns, due_ns;
	int32_t user, account; /* by the names of the ask */
	int32_t queue;	       /* of the configuration; -1: it is gone from there */
};

struct order {
	struct order_job *jobs; /* by number */
	size_t *by_place;	/* indices of jobs */
	size_t n;
};

struct order_ask {
	struct store *store;
	struct standing *standing; /* NULL: nothing is weighed, all priorities are 0 */
	const char *cluster;
	struct rank_cluster has;
	int64_t now_ns;
	const struct config *config;
	struct names *users, *accounts;
};
/* *ret needs order_done() in any case. */
int order_make(const struct order_ask *a, struct order *ret, struct err *err);
void order_done(struct order *o);
/* Index of a queue in the configuration; -1: it has none of that name. */
int32_t order_queue(const struct config *c, const char *queue);
/* NULL: not queued then. */
const struct order_job *order_find(const struct order *o, int64_t job);
