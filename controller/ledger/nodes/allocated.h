/* placed - the jobs that nodes have been given, as the queue must know them. */
#pragma once
#include "controller/ledger/store.h"

struct store_allocated {
	int64_t job;
	const char *account, *user, *queue, *node;
	struct resources want;
	bool is_exclusive;
	enum job_state state;
	enum job_desired wish;
	int64_t gave_way_to; /* of one that is suspended: 0: somebody wished it */
	int64_t due_ns;	     /* since when it is late; 0: it is not */
	int64_t submitted_ns, given_ns;
	int64_t at_ns;			  /* of its last report; 0: none */
	int64_t running_ns, suspended_ns; /* by then */
	/* Of one on several nodes, what they hold still: a node that has ended its part holds
	 * nothing. `want` has the sums of all. */
	const struct store_part *parts;
	size_t n_parts; /* 0: all of it is on `node` */
};
typedef int (*store_allocated_fn)(void *ctx, const struct store_allocated *p, struct err *err);
/* Attempts of a cluster that are not closed, in the order of their jobs; and those that are
 * over, but not on all of their nodes: they are JOB_ENDING. A job may have one of these beside
 * its present attempt, or be in the queue again. */
int store_allocated(struct store *s, const char *cluster, store_allocated_fn fn, void *ctx,
		    struct err *err);

/* As store_nodes_in_use(), but only with what jobs on several nodes hold: who goes through the placed
 * ones anyhow adds what those on one node hold, and reads their rows once. */
int store_nodes_in_use_by_parts(struct store *s, const char *cluster, struct fit_node **ret,
				size_t *ret_n, struct err *err);

/* These are late from now on: their start was decided and withdrawn. */
int store_set_due(struct store *s, const int64_t *jobs, size_t n, int64_t now_ns,
		  struct err *err);
