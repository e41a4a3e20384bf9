/* adjust - refunds and recharges: part of the contract of store.h.
 *
 * What was charged is never edited. A refund (a charge below zero) or a recharge is an entry
 * with an author and a reason, in the sums of its day and month beside the charges, written
 * with them in one transaction. What counts is charge + adjusted.
 */
#pragma once
#include "controller/ledger/store.h"

#define STORE_REASON_MAX 1024

struct store_adjustment {
	int64_t id, at_ns, day; /* day: of the sums; STORE_DAY_OF_ENTRY: that of at_ns */
	const char *author, *reason;
	const char *cluster, *account, *user; /* NULL with a job: the job's */
	enum charge_pool pool;		      /* with a job: the job's */
	int64_t charge_ms;		      /* as charges: milli-equivalent-seconds */
	int64_t job;			      /* 0: of no job */
};
#define STORE_DAY_OF_ENTRY INT64_MIN

/* 0, and fn has got what was written.
 * -EINVAL: no author or reason, a charge of 0, no names, names that are not the job's, a day
 *   that has not come, or a number that a live and an imported job of the cluster share;
 * -ENOENT: no such job, or no such user of that account has any sums;
 * -ERANGE: a refund of more than is left of the job's charge, or beyond what sums can hold. */
typedef int (*store_adjustment_fn)(void *ctx, const struct store_adjustment *a,
				   struct err *err);
int store_adjust(struct store *s, const struct store_adjustment *a, store_adjustment_fn fn,
		 void *ctx, struct err *err);

struct store_adjustments {
	const char *cluster, *account, *user; /* NULL: any */
	int64_t job;			      /* 0: any */
};
/* In the order in which they were made. */
int store_adjustments(struct store *s, const struct store_adjustments *which,
		      store_adjustment_fn fn, void *ctx, struct err *err);
