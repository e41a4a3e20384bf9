/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top - the accounts or users that count most in a period: a table of a hundred thousand users shows some
 * hundred of them. Part of the contract of store.h. */
#pragma once
#include "controller/ledger/store.h"

#define STORE_TOP_MAX 1000

struct store_usage_each {
	store_usage_fn fn;
	void *ctx;
};
struct store_top {
	size_t limit;			  /* at most STORE_TOP_MAX */
	int64_t n_rows[_CHARGE_POOL_MAX]; /* how many there are, passed or not */
};
/* Calls each->fn for the rows of store_usage() whose charge with its adjustments is largest, of equal ones for the first, in the same
 * order. The sums of all are kept in memory (usage/ranks/ranks.h). 1: it did; 0: the view is not by account or user alone:
 * store_usage() has the rows. */
int store_usage_top(struct store *s, const struct store_period *p, struct store_top *top,
		    const struct store_usage_each *each, struct err *err);

/* Calls each->fn for all rows of store_usage(), in their order, from the sums that are kept. 1: it did; 0: none are kept yet, which a
 * program that asks once does not wait for, or the view is not by account or user alone. */
int store_usage_kept(struct store *s, const struct store_period *p,
		     const struct store_usage_each *each, struct err *err);

/* Reads one part of the period's sums that is not kept, of all accounts and users, so that a view of it need not. 1: it did; 0: all
 * are kept. */
int store_usage_warm(struct store *s, const struct store_period *p, struct err *err);

/* Begins a turn (0: ends it): views read no further part that is not kept once CLOCK_MONOTONIC is until_ns, but one part in any case.
 * They fail with -EAGAIN then, and the same view goes on from there in its next turn, so that nothing else waits for all of it. */
void store_usage_turn(struct store *s, int64_t until_ns);

/* What each of these accounts or users (p->by) is charged with its adjustments in the period, on all clusters or one. Only
 * charge_requested_ms is set. In the order of the names; those that were charged nothing are left out. */
struct store_names {
	const char *const *names;
	size_t n;
};
int store_usage_named(struct store *s, const struct store_period *p,
		      const struct store_names *names, const struct store_usage_each *each,
		      struct err *err);
