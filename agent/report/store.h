/* store - the agent's one database: what it holds (state) and what it owes (spool).
 *
 * /var/lib/reeve/agent.db. A file that SQLite finds damaged is set aside, never repaired in
 * place and never a reason not to start: jobs are then found again from their units.
 */
#pragma once
#include <stddef.h>
#include "common/db/db.h"

struct err;

/* 0; STORE_SET_ASIDE: the old file was damaged and is now PATH.damaged-N (err names it and
 * what was wrong), a new one is open; or < 0 (err names the path). */
#define STORE_SET_ASIDE 1
int store_open(const char *path, struct db **ret, struct err *err);
/* Empties the write-ahead log: it holds what was deleted from the file (scripts, environments)
 * until it is written over. To be called some time after something was forgotten. */
int store_scrub(struct db *db, struct err *err);
