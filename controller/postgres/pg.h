/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg - a struct db (common/db/db.h) in PostgreSQL, for ledgers of large sites.
 *
 * `where` is what libpq takes: "postgresql://user@host/name?options", passwords from
 * ~/.pgpass or the environment. A ledger has a schema (search_path) of its own. There is one writer
 * at a time, as with SQLite: db_begin() takes an advisory lock of the ledger, which is released at
 * the end of the transaction (REPEATABLE READ). Commits are synchronous. A connection that was lost
 * is made again at the next db_begin(), or the next statement outside of a transaction; the
 * transaction that was under way has failed, and a COMMIT that was not answered may have happened:
 * callers repeat what is idempotent.
 *
 * The schema is made by the migrations of SQLite through dialect_schema(). The statements in them
 * that move rows of older schemas are left out: a ledger in PostgreSQL is made with the whole schema
 * at once, so it has no such rows. A later migration that moves rows needs a text for each database.
 */
#pragma once
#include "common/db/db.h"

bool pg_is_place(const char *where); /* begins with postgresql:// or postgres:// */
/* -ENOENT: no libpq here; -EACCES, -ECONNREFUSED ..., -EPROTO as db_open(). */
int pg_open(const char *where, const char *const *migrations, struct db **ret, struct err *err);
