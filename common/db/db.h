/* db - a thin, strict use of a database: SQLite for the agent's state and the ledger by
 * default, and whatever else opens a struct db (controller/postgres: PostgreSQL).
 *
 * SQLite: WAL, synchronous=FULL, foreign keys on, STRICT tables, one schema version in
 * user_version. All SQL is static text with bound values; statements are prepared once and
 * kept. SQL that both databases must understand is written by the rules of
 * controller/postgres/dialect.h.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct db;
struct db_row; /* a statement, and the row of its answer that it stands at */

/* `migrations[i]` takes the schema from version i to i+1; the array ends with NULL. Each runs
 * in its own transaction. -EPROTO: the file is of a newer version than this program. */
int db_open(const char *path, const char *const *migrations, struct db **ret, struct err *err);
struct db *db_close(struct db *d);
DEFINE_CLEANUP(struct db *, db_close)

/* Keeps up to `bytes` of the file's pages in this process, beyond the 2 MB that are usual: for
 * those who write all over a large file. A server's database is left alone. */
int db_cache(struct db *d, int64_t bytes, struct err *err);

int db_begin(struct db *d, struct err *err);
int db_commit(struct db *d, struct err *err);
void db_rollback(struct db *d);
/* Asked first in each transaction: what is < 0 ends it and is what db_begin() returns. */
typedef int (*db_guard_fn)(void *ctx, struct err *err);
void db_guard(struct db *d, db_guard_fn fn, void *ctx);

/* Calls fn at the end of each transaction. DB_UNKNOWN: the commit failed, and with a server it
 * may have happened all the same. fn must not use the database. */
enum db_end { DB_COMMITTED, DB_ROLLED_BACK, DB_UNKNOWN };
typedef void (*db_end_fn)(void *ctx, enum db_end how);
void db_on_end(struct db *d, db_end_fn fn, void *ctx);
/* Is a transaction under way? */
bool db_is_begun(const struct db *d);

/* Bind by a format: 'i' int64_t, 't' const char * (NULL = NULL), 'b' const void *, size_t
 * and step to completion. The statement is known by the address of `sql` (a string literal).
 * 0, or -EEXIST on a unique constraint, -EIO, -ENOSPC, ... */
int db_run(struct db *d, struct err *err, const char *sql, const char *format, ...);
/* The same in the transaction under way, where the answer can wait: a server is sent the next
 * statement before it has answered this one. A failure is reported by a later call, by the commit
 * at the latest. */
int db_run_later(struct db *d, struct err *err, const char *sql, const char *format, ...);
/* The same for many integers; one that equals `null` is NULL. */
struct db_ints {
	const int64_t *values;
	size_t n;
	int64_t null;
};
int db_run_ints(struct db *d, const char *sql, const struct db_ints *v, struct err *err);
/* The same statement for rows of integers, one after the other, in the transaction under way; a
 * server is sent them together. ret_changed[i]: how many rows the i-th changed. */
struct db_int_rows {
	const int64_t *values; /* row by row */
	size_t n_rows, n_columns;
	int64_t null;
};
int db_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err);
/* Bind and hand back the statement, which stays the db's, for stepping with db_step(). Texts
 * and blobs are not copied: they must live until the statement is done. */
int db_query(struct db *d, struct err *err, struct db_row **ret, const char *sql,
	     const char *format, ...);
/* The same for integers alone. */
int db_query_ints(struct db *d, const char *sql, const struct db_ints *v, struct db_row **ret,
		  struct err *err);
/* Before the first step, where the answer may be large: no more than some thousand rows of it
 * are then in this process at a time. */
void db_scan(struct db_row *row);
/* 1: a row, 0: no more, < 0: error. */
int db_step(struct db *d, struct db_row *row, struct err *err);
/* Gives up what has not been read; needed where stepping ends before the last row. */
void db_done(struct db_row *row);

/* Columns count from 0; good until the next step. */
int64_t db_int(const struct db_row *row, int column);	   /* NULL: 0 */
const char *db_text(const struct db_row *row, int column); /* NULL: NULL */
const void *db_blob(const struct db_row *row, int column, size_t *ret_size);
bool db_is_null(const struct db_row *row, int column);

int64_t db_last_id(struct db *d);
int64_t db_changes(struct db *d);
/* Where it is, for messages: never a password. */
const char *db_place(const struct db *d);
