/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eligible - may this job start now, by the limits that it counts against and by its quota?
 *
 * Pure. The caller passes once what is limited (scopes) and what runs there now, then checks
 * one job after the other, in the order of the queue, and reports which ones start:
 *
 *	if (eligible_check(&w, &job, why))
 *		... place it ...; eligible_start(&w, &job);
 *
 * Limits: within every scope that a job counts against, what runs and the job together stay
 * within the limit; exactly the limit is allowed. Source: BMRC (600 cores running per user;
 * memory and GPUs may be added to that limit).
 *
 * Quota: a job of an account without quota left starts only when no job of an account with
 * quota left is pending in the cluster, whether or not that one could start now. Source: RWTH,
 * "dispatched if there are no pending jobs from other projects with unused CPU quota".
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELIGIBLE_NO_LIMIT (-1)

struct eligible_amounts {
	int64_t cores, gpus, memory_bytes, jobs;
};

enum eligible_kind {
	ELIGIBLE_USER,	      /* name */
	ELIGIBLE_ASSOCIATION, /* of = account, name = user */
	ELIGIBLE_ACCOUNT,     /* name, with all accounts below it */
	ELIGIBLE_QUEUE,	      /* of = queue, name = user */
	ELIGIBLE_QOS,	      /* of = QOS, name = user */
	ELIGIBLE_GROUP_USER,  /* of = account with all below it, name = user */
	_ELIGIBLE_KIND_MAX,
};

struct eligible_scope {
	enum eligible_kind kind;
	const char *name, *of;
	struct eligible_amounts limit,
		running; /* limit: ELIGIBLE_NO_LIMIT where there is none */
	/* Limits that are multiples of shares, if has_shares; in the same order. */
	bool has_shares;
	int64_t shares;
	struct eligible_amounts per_share; /* jobs is not used */
};
/* Lowers s->limit to per_share x shares if that is less. */
void eligible_multiply_shares(struct eligible_scope *s);

struct eligible_job {
	struct eligible_amounts want; /* want.jobs is 1 */
	const int32_t *scopes;	      /* indices into eligible_world.scopes, each once */
	size_t n_scopes;
	bool has_quota;
	const char *account;
};

struct eligible_world {
	struct eligible_scope *scopes;
	size_t n_scopes;
	int64_t pending; /* queued jobs of accounts with quota left, in the cluster */
};

#define ELIGIBLE_NAME_MAX 160
/* "user alice in account physics". */
const char *eligible_scope_name(const struct eligible_scope *s,
				char buf[static ELIGIBLE_NAME_MAX]);

#define ELIGIBLE_WHY_MAX 320

/* False: not now; `why` is the reason with its numbers (else ""). */
bool eligible_check(const struct eligible_world *w, const struct eligible_job *j,
		    char why[static ELIGIBLE_WHY_MAX]);
/* Could it start if nothing else ran? False: never, and why. */
bool eligible_is_possible(const struct eligible_world *w, const struct eligible_job *j,
			  char why[static ELIGIBLE_WHY_MAX]);
/* The job starts: it counts as running, and no longer as pending. */
void eligible_start(struct eligible_world *w, const struct eligible_job *j);
/* Undoes eligible_start(): the job did not start. */
void eligible_undo(struct eligible_world *w, const struct eligible_job *j);
/* Adds a job that runs already, before the first check; removes one that ended. */
void eligible_add(struct eligible_world *w, const struct eligible_job *j);
void eligible_remove(struct eligible_world *w, const struct eligible_job *j);
