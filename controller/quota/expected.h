/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expected - jobs of Slurm that count against quotas before the ledger has them. In memory, lost with the process.
 *
 * The ledger gets a job of Slurm when it has started. Until then it is here, in one of two lists a cluster:
 *
 *   waiting	jobs that wait, as reeve-slurm last listed them. One is dropped when the ledger gets its row, all when a new list is
 *		whole; and a list that is older than EXPECTED_MAX_NS does not count.
 *   accepted	submissions and changes that were accepted, and that no list has yet. Slurm has no id for them. One ends when
 *		 - a job of its user and account is seen, in a list or as a row, for the first time (by its id): of several
 *		   accepted ones the cheapest ends, so that what is left is at least what will come;
 *		 - slurmctld has listed both what waits and what has started, and was asked at least EXPECTED_SETTLE_NS after the
 *		   acceptance: the job is in a list, or Slurm did not take it;
 *		 - of a change, what waits was listed EXPECTED_CHANGE_NS after it, with the job;
 *		 - EXPECTED_MAX_NS has passed.
 *
 * So a submission counts from its acceptance on, and twice for a short time at most. Times are CLOCK_MONOTONIC of the controller.
 */
#pragma once
#include <stdbool.h>
#include "common/time_units.h"
#include "controller/ledger/usage/quota.h"

struct err;
struct expected;

#define EXPECTED_SETTLE_NS (10 * S_NS)
#define EXPECTED_CHANGE_NS S_NS
#define EXPECTED_MAX_NS (10 * MIN_NS)
#define EXPECTED_USER_MAX                                                                      \
	5000 /* different submissions of one user, accepted and not listed yet */
#define EXPECTED_ACCEPTED_MAX 100000

struct expected *expected_free(struct expected *e);

struct expected_job {
	const char *cluster, *account, *user, *queue, *qos; /* qos "": none */
	enum charge_pool pool;
	int64_t need_ms; /* what one task is charged up to its walltime; of a change: what it adds */
	int64_t n_tasks; /* 1, or of an array */
	int64_t changed; /* Slurm's id of the job that is changed; 0: a submission */
};

/* *e NULL: is made. -EAGAIN: there are too many already, with words for the user; -ENOMEM. */
int expected_accept(struct expected **e, const struct expected_job *job, int64_t now_ns,
		    struct err *err);

/* A list of what slurmctld has. It was asked at asked_ns or later: what was submitted before that is in it. */
struct expected_look {
	int64_t asked_ns, now_ns;
};
struct expected_waiting {
	int64_t job; /* Slurm's id; of an array that of its array */
	struct expected_job of;
};
struct expected_list {
	const char *cluster;
	struct expected_look look;
	const struct expected_waiting *jobs; /* sorted by `job` */
	size_t n;
};
/* All jobs that wait. *e NULL: is made. -ENOMEM: the former list stays. */
int expected_set_waiting(struct expected **e, const struct expected_list *list,
			 struct err *err);
/* All jobs that have started are in the ledger. */
void expected_set_started(struct expected *e, const char *cluster,
			  const struct expected_look *look);

/* The ledger gets the row of a job. */
struct expected_seen {
	const char *cluster, *account, *user;
	int64_t job, array; /* array 0: of none */
};
void expected_see(struct expected *e, const struct expected_seen *s);

/* A job that is changed, which is counted already. */
struct expected_own {
	const char *cluster, *account, *user;
	int64_t job;
	bool is_change; /* it may ask for what it has already, whatever is left */
};
/* The tasks that it has: more than 1 of an array that waits. */
int64_t expected_tasks_of(const struct expected *e, const struct expected_own *own);

struct expected_ask {
	int64_t now_ns;
	const struct expected_own
		*own; /* its own row comes with its Slurm id in `job`; NULL: none */
};
/* Calls fn for all of them, as queued jobs of the ledger; `job` is 0. Of an own job that does not wait the cheapest accepted
 * submission of its user and account is its own row. */
int expected_each(const struct expected *e, const struct expected_ask *ask,
		  store_quota_job_fn fn, void *ctx, struct err *err);
