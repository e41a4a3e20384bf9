/* db - a thin, strict use of SQLite shared by agent state and controller ledger.
 *
 * WAL, synchronous=FULL, foreign keys on, STRICT tables, one schema version in user_version.
 * All SQL is static text with bound values; statements are prepared once and kept.
 */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct db;

/* `migrations[i]` takes the schema from version i to i+1; the array ends with NULL. Each runs
 * in its own transaction. -EPROTO: the file is of a newer version than this program. */
int db_open(const char *path, const char *const *migrations, struct db **ret, struct err *err);
struct db *db_close(struct db *d);
DEFINE_CLEANUP(struct db *, db_close)

int db_begin(struct db *d, struct err *err);
int db_commit(struct db *d, struct err *err);
void db_rollback(struct db *d);

/* Prepared and cached by the address of `sql` (a string literal), reset and unbound. The
 * statement stays the db's. */
int db_prepare(struct db *d, const char *sql, sqlite3_stmt **ret, struct err *err);
/* Bind by a format: 'i' int64_t, 't' const char * (NULL = NULL), 'b' const void *, size_t
 * and step to completion. 0, or -EEXIST on a unique constraint, -EIO, -ENOSPC, ... */
int db_run(struct db *d, struct err *err, const char *sql, const char *format, ...);
/* Bind and hand back the statement for stepping with db_step(). */
int db_query(struct db *d, struct err *err, sqlite3_stmt **ret, const char *sql,
	     const char *format, ...);
/* 1: a row, 0: no more, < 0: error. */
int db_step(struct db *d, sqlite3_stmt *st, struct err *err);
int64_t db_last_id(struct db *d);
int64_t db_changes(struct db *d);
