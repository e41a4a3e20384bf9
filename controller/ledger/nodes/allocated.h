/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocated - the jobs that are allocated to nodes, as the queue must know them. */
#pragma once
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/store.h"

/* What a job on several nodes occupies on one of them. */
struct store_part_in_use {
	int64_t job;
	int32_t attempt, part;
	char node[REQUEST_NAME_MAX];
	struct resources share; /* with gpu_model */
	bool frees_cores;	/* it is suspended and shall stay so */
	bool is_exclusive;
	bool is_left; /* its attempt is over */
};

struct store_allocated {
	int64_t job;
	const char *account, *user, *queue, *node;
	struct resources want;
	bool is_exclusive;
	enum job_state state;
	enum job_desired desired;
	int64_t preempted_by; /* of one that is suspended: the preemptor; 0: people suspended it */
	int64_t due_ns;	      /* since when it is overdue; 0: it is not */
	int64_t submitted_ns, given_ns;
	int64_t at_ns;			  /* of its last report; 0: none */
	int64_t running_ns, suspended_ns; /* by then */
	/* Of one on several nodes, what it occupies still: a node that has ended its part has
	 * none. `want` has the sums of all. */
	const struct store_part_in_use *parts;
	size_t n_parts; /* 0: all of it is on `node` */
};
typedef int (*store_allocated_fn)(void *ctx, const struct store_allocated *p, struct err *err);
/* Attempts of a cluster that are not closed, in the order of their jobs; and those that are
 * over, but not on all of their nodes: they are JOB_ENDING. A job may have one of these beside
 * its present attempt, or be in the queue again. */
int store_allocated(struct store *s, const char *cluster, store_allocated_fn fn, void *ctx,
		    struct err *err);
/* Those of these jobs. */
int store_allocated_these(struct store *s, const struct store_these *these,
			  store_allocated_fn fn, void *ctx, struct err *err);

/* As store_nodes_in_use(), with nothing in use: the caller adds up what the placed jobs occupy. */
int store_bare_nodes(struct store *s, const char *cluster, struct fit_node **ret, size_t *ret_n,
		     struct err *err);

/* These are overdue from now on: their start was decided and withdrawn. */
int store_set_due(struct store *s, const int64_t *jobs, size_t n, int64_t now_ns,
		  struct err *err);
