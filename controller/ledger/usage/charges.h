/* charges - when attempts ran: every charge of the ledger as a run interval, for the share tree,
 * which lets usage decay with its age. Part of the contract of store.h.
 *
 * A *stretch* is a time in which an attempt ran evenly. While an attempt runs without a pause,
 * its reports only move the end of its one stretch; after a suspension a new one begins. A
 * report that covers running and suspended time tells only the sums: what ran is then spread
 * evenly over the time between the two reports, a stretch of its own. Stretches are written
 * with the report, in its transaction; so what is built from the ledger is what was built from
 * the reports as they came.
 *
 * Attempts from before stretches were kept, and imported jobs, are one stretch each, from their
 * start to their end or last report.
 */
#pragma once
#include "controller/ledger/store.h"
#include "controller/ledger/usage/adjust.h"

struct store_charge {
	const char *cluster, *account, *user, *queue; /* queue "": not told */
	enum charge_pool pool;
	/* Half open; from_ns == to_ns: all of it at that moment. */
	int64_t from_ns, to_ns;
	int64_t running_ns;   /* below 0: refunded of the job that ran then */
	struct fraction rate; /* what one unit of running is charged, queue factor included */
	int64_t ncpus, ngpus, mem_bytes;
	/* Not 0: an adjustment of no job: milli-unit-seconds, below 0 a refund; running_ns is 0
	 * and so are the amounts. */
	int64_t adjusted_ms;
};
typedef int (*store_charge_fn)(void *ctx, const struct store_charge *c, struct err *err);

/* Which: what ran before until_ns and, at least in part, at or after since_ns. A stretch that
 * is under way at until_ns is cut there, its running time in proportion. */
struct store_charge_span {
	int64_t since_ns, until_ns;
};
int store_charges(struct store *s, const struct store_charge_span *span, store_charge_fn fn,
		  void *ctx, struct err *err);

/* What an adjustment changes at its entry, in the same terms. One of a job counts when the job
 * ran until then, in the proportion of its charge: a refund of half the charge takes half of
 * what is left of the job's usage. One of no job counts evenly over its day, up to the moment
 * of its entry. */
int store_adjustment_charges(struct store *s, const struct store_adjustment *a,
			     store_charge_fn fn, void *ctx, struct err *err);

/* The end of the last of them. 1: there are none. */
int store_last_charge(struct store *s, int64_t *ret_ns, struct err *err);
