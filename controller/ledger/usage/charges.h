/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charges - when attempts ran: every charge of the ledger as a run interval, for the share tree,
 * which lets usage decay with its age. Part of the contract of store.h.
 *
 * A *run interval* (table stretches) is a time in which an attempt ran evenly. While an attempt runs
 * without a pause, its reports only move the end of its one interval; after a suspension a new one
 * begins. A report that covers running and suspended time has only the sums of both: the running time
 * is then spread evenly over the time between the two reports, as an interval of its own. Intervals
 * are written with the report, in its transaction: a share tree that is built from the ledger equals
 * one that was updated with each report.
 *
 * Attempts of ledgers from before this table, and imported jobs, are one interval each, from their
 * start to their end or last report.
 */
#pragma once
#include "controller/ledger/store.h"
#include "controller/ledger/usage/adjust.h"

struct store_charge {
	const char *cluster, *account, *user, *queue; /* queue "": not known */
	enum charge_pool pool;
	/* Half open; from_ns == to_ns: the whole charge was at that moment. */
	int64_t from_ns, to_ns;
	int64_t running_ns;   /* below 0: a refund to the job that ran then */
	struct fraction rate; /* what one unit of running is charged, queue factor included */
	int64_t ncpus, ngpus, mem_bytes;
	/* Not 0: an adjustment of no job, in milli-unit-seconds, below 0 a refund; running_ns and the
	 * amounts are 0. */
	int64_t adjusted_ms;
};
typedef int (*store_charge_fn)(void *ctx, const struct store_charge *c, struct err *err);

/* Selects what ran before until_ns and, at least in part, at or after since_ns. An interval that goes
 * on at until_ns is cut there, and its running time in proportion. */
struct store_charge_span {
	int64_t since_ns, until_ns;
};
int store_charges(struct store *s, const struct store_charge_span *span, store_charge_fn fn,
		  void *ctx, struct err *err);

/* Passes what an adjustment changes, as charges. An adjustment of a job changes each of its run
 * intervals up to the entry in proportion: a refund of half the charge takes half of what is left of
 * the job's decayed usage. An adjustment of no job is spread evenly over its day, up to its entry. */
int store_adjustment_charges(struct store *s, const struct store_adjustment *a,
			     store_charge_fn fn, void *ctx, struct err *err);

/* When the last charge ended. 1: there are no charges. */
int store_last_charge(struct store *s, int64_t *ret_ns, struct err *err);
