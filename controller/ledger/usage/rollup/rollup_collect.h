/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_collect - what a transaction adds to days, months and totals, added up in memory and written once, before its commit: of many
 * reports in one transaction most are of the same users. */
#pragma once
#include "controller/ledger/usage/rollup/rollup.h"

struct err;
struct store;
/* As rollup_write(). */
int rollup_collect(struct store *s, const struct rollup_key *k, const struct rollup *r,
		   struct err *err);
/* Once for a ledger that is open: writes what is collected before each commit. */
void rollup_collect_start(struct store *s);
/* The transaction has ended: what was not written never will be. */
void rollup_collect_forget(struct store *s);
