/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_write - writes usage to the tables rollups, months and totals: one gain, or sums that were added up in memory
 * (rollup_set.h), each day and each month once. */
#pragma once
#include "controller/ledger/usage/rollup/rollup_set.h"

struct store;
/* Adds *r to a day, to its month and to the totals (totals/totals.h), in the transaction under way. */
int rollup_write(struct store *s, const struct rollup_key *k, const struct rollup *r,
		 struct err *err);
/* In the transaction under way; sorts the set's entries. Associations whose id is 0 are looked up, or made. A failure may be
 * reported by a later call (db_run_later()). */
int rollup_write_set(struct store *s, struct rollup_set *set, struct err *err);
