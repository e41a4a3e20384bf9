/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adjust - refunds and recharges: part of the contract of store.h.
 *
 * A charge is never edited. A refund (a charge below zero) or a recharge is an entry of its own with
 * an author and a reason. It is added to `adjusted_ms` of its day and month in the same transaction.
 * Quotas and shares count charge + adjusted.
 */
#pragma once
#include "controller/ledger/store.h"

#define STORE_REASON_MAX 1024

struct store_adjustment {
	int64_t id, at_ns;
	int64_t day; /* whose sums it changes; STORE_DAY_OF_ENTRY: the day of at_ns */
	const char *author, *reason;
	const char *cluster, *account, *user; /* NULL, where `job` is set: the job's */
	enum charge_pool pool;		      /* where `job` is set: the job's */
	int64_t charge_ms; /* milli-equivalent-seconds, as charges; < 0: a refund */
	int64_t job;	   /* 0: of no job */
};
#define STORE_DAY_OF_ENTRY INT64_MIN

/* Writes an adjustment and then calls fn with it, every field set.
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
