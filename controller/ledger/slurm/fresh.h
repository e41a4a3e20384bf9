/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fresh - rows of attempts that have ended and of which the ledger knows nothing: nearly all that slurmdbd says of a past, and of
 * jobs that started and ended between two looks at slurmctld.
 *
 * What settle.c would write of such a row is known before anything is written: so each of its rows is computed whole and written once,
 * all rows of a document and a table together, and each sum once. settle.c needs some 36 statements for each, a third of which change
 * what an earlier one wrote. Both leave the same ledger, which test_slurm_fresh compares table by table.
 */
#pragma once
#include "controller/ledger/slurm/settle.h"

/* Stores those of t->batch->jobs. is_taken, false for each row before, becomes true for each that was stored; the others are
 * settle.c's, and have other ids. */
int fresh_take(struct settle *t, bool *is_taken, struct err *err);
