/* rollup_write - writes sums that were added up in memory (rollup_set.h) to the tables rollups and months: each day and each month
 * once. */
#pragma once
#include "controller/ledger/usage/rollup_set.h"

/* In the transaction under way; sorts the set's entries. Associations whose id is 0 are looked up, or made. A failure may be
 * reported by a later call (db_run_later()). */
int rollup_write_set(struct db *db, struct rollup_set *set, struct err *err);
