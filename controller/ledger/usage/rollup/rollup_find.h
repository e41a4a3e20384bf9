/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_find - the ids of the associations of a set, some at a time: a question for each was the larger part of writing a set. */
#pragma once
#include "controller/ledger/usage/rollup/rollup_set.h"

struct db;
struct err;
/* Sets the id of each association that has an entry, and has none yet; those that the ledger does not know are made, in the
 * transaction under way. */
int rollup_find_associations(struct db *db, struct rollup_set *set, struct err *err);
