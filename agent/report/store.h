/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.h - the agent's database, /var/lib/reeve/agent.db: its jobs (state.h), the reports that the
 * controller has not acknowledged (spool.h), the signatures that were used (starts.h).
 *
 * A file that SQLite finds damaged is set aside, never repaired in place and never a reason not to
 * start: jobs are then found again from their units.
 */
#pragma once
#include <stddef.h>
#include "common/db/db.h"

struct err;

/* 0, or STORE_SET_ASIDE: the old file was damaged and is now PATH.damaged-N (err names it and the
 * damage), a new one is open. < 0: err names the path. The caller closes *ret. */
#define STORE_SET_ASIDE 1
int store_open(const char *path, struct db **ret, struct err *err);
/* Empties the write-ahead log: it holds what was deleted from the file (scripts, environments)
 * until it is written over. To be called some time after something was forgotten. */
int store_scrub(struct db *db, struct err *err);
