/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ranks - what each account or user had of a period, whichever it is: a page shows those that count most, and needs the sums of all to
 * find them.
 *
 * The sums of days, months and allocation periods that were read once are kept in memory, packed (parts.h), and read again when
 * their version in the ledger is another one: of most periods only today's rows are read. A version is that of the cluster's own
 * rows in the table totals, which every change of usage writes, whichever program makes it (totals.h). For programs that ask
 * often: the first view of a period reads all of its rows.
 */
#pragma once
#include "controller/ledger/store.h"
#include "controller/ledger/usage/ranks/packed.h"

struct ranks_ask {
	enum store_by kind;	  /* STORE_BY_ACCOUNT or STORE_BY_USER */
	const char *cluster;	  /* NULL: all */
	int64_t from_day, to_day; /* half open */
};
/* Adds what each name had to *to, which is empty at first and freed with packed_sums_done(), on failure too. -EAGAIN: the turn is over
 * (store_usage_turn()). */
int ranks_read(struct store *s, const struct ranks_ask *ask, struct packed_sums *to,
	       struct err *err);
/* After ranks_read(): the number of a name in its sums, -1: it has none; and the name of a number. */
int32_t ranks_find(const struct store *s, enum store_by kind, const char *name);
const char *ranks_name(const struct store *s, enum store_by kind, int32_t number);

struct ranks;
struct ranks *ranks_free(struct ranks *r);
