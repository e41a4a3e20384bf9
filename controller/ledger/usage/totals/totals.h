/* SPDX-License-Identifier: GPL-2.0-or-later */
/* totals - the rollups of many associations added up: the usage of a cluster, of an account, of a user, each in a whole month and
 * in a whole allocation period, so that a view of all of them reads one row for each and not one for each association and
 * month. The table totals is written with the rollups, in the same transaction.
 *
 * Rows of accounts and users are there for each cluster, and once with the cluster '', for all clusters together; rows of
 * clusters have their cluster as name, the cluster '', and are there for single days too. Which months a period has: store_set_period().
 */
#pragma once
#include "controller/ledger/store.h"
#include "controller/ledger/usage/rollup/rollup.h"

/* On disk as numbers. */
enum totals_span { TOTALS_DAY, TOTALS_MONTH, TOTALS_PERIOD };

/* Reads which period the ledger has sums of, and fills the table of a ledger that has none yet. */
int totals_open(struct store *s, struct err *err);
/* Another program may have changed the period: reads it again, in the transaction under way. */
int totals_reload(struct store *s, struct err *err);
/* Adds the gain of a day; it is written at the end of the transaction under way, with all others. */
int totals_add(struct store *s, const struct rollup_key *k, const struct rollup *r,
	       struct err *err);
/* Writes that, at the end of the transaction under way. */
int totals_write(struct store *s, struct err *err);
/* The transaction has ended, or the ledger is closed: what was not written never will be. */
void totals_forget(struct store *s);
/* Makes the table from rollups and months, in the transaction under way. */
int totals_fill(struct store *s, struct err *err);
/* The first month of the allocation period that a month is in. */
int64_t totals_period_first(const struct store *s, int64_t month);

/* Totals in a set: finds the sums of a row, which are good until the next call, and names the row of an entry. -ENOMEM. */
struct rollup_set;
struct rollup_set_entry;
int totals_find(struct rollup_set *set, const struct rollup_total *t, struct rollup **ret,
		struct err *err);
struct rollup_total totals_of_entry(struct rollup_set *set, const struct rollup_set_entry *e);

/* What a gain of k adds to: calls fn for each row. */
struct totals_each {
	int (*fn)(void *ctx, const struct rollup_total *t, const struct rollup *r,
		  struct err *err);
	void *ctx;
};
int totals_spread(const struct store *s, const struct rollup_key *k, const struct rollup *r,
		  const struct totals_each *each, struct err *err);
