/* pg - a struct db in PostgreSQL, for ledgers of large sites.
 *
 * `where` is what libpq takes: "postgresql://user@host/name?options", passwords from
 * ~/.pgpass or the environment. A ledger has a schema (search_path) of its own. Writers take
 * turns as with SQLite: db_begin() holds an advisory lock of the ledger until the end of the
 * transaction (REPEATABLE READ). Commits are synchronous. A connection that was lost is made
 * again at the next db_begin(), or the next statement outside of a transaction; what was under
 * way has failed, and a COMMIT that was not answered may have happened: callers repeat what is
 * idempotent.
 *
 * Schemas are the migrations of SQLite through dialect_schema(). There was no PostgreSQL ledger
 * before version PG_FIRST_VERSION, so the statements that move rows of older ones never run
 * here; a later migration that moves rows must be given in both tongues.
 */
#pragma once
#include "common/db/db.h"

bool pg_is_place(const char *where); /* begins with postgresql:// or postgres:// */
/* -ENOENT: no libpq here; -EACCES, -ECONNREFUSED ..., -EPROTO as db_open(). */
int pg_open(const char *where, const char *const *migrations, struct db **ret, struct err *err);
