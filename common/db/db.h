/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db - prepared statements and transactions on a database: SQLite for the agent's state and, by
 * default, for the ledger; another implementation opens a struct db of its own
 * (controller/postgres: PostgreSQL).
 *
 * SQLite: WAL, synchronous=FULL, foreign keys on, STRICT tables, one schema version in
 * user_version. All SQL is static text with bound values; statements are prepared once and
 * kept. SQL that both databases must understand is written by the rules of
 * controller/postgres/dialect.h. A struct db belongs to one thread.
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

/* Keeps up to `bytes` of the file's pages in this process instead of SQLite's usual 2 MB: for a
 * program that writes all over a large file. Does nothing for a server's database. */
int db_cache(struct db *d, int64_t bytes, struct err *err);

/* Removes what ANALYZE or PRAGMA optimize of some other program has left in the file, as db_open() does. The statements are
 * written for the plans that SQLite makes without it, and their tests see those alone; with it SQLite reads all rows where a
 * table that holds little now was empty then. 1: there was something. Not inside a transaction. Nothing for a server's database. */
int db_forget_statistics(struct db *d, struct err *err);

/* In the transaction under way: what db_open() takes for the version of the schema. */
int db_set_schema(struct db *d, int version, struct err *err);

/* Commits between db_lazy(d, true) and db_lazy(d, false) are not synced: the end of this process, by kill -9 too,
 * loses none of them, a power cut may lose the last ones, and each synced commit makes those before it safe. Not inside a
 * transaction. Does nothing for a server's database. < 0: as before; where commits cannot be made synced
 * again, db_begin() tries to and fails. */
int db_lazy(struct db *d, bool is_lazy, struct err *err);

/* There is one writer at a time: waits up to 5 s until no other process writes, then -EBUSY. */
int db_begin(struct db *d, struct err *err);
/* On failure nothing is open any more: the caller may begin again. */
int db_commit(struct db *d, struct err *err);
/* Gives up every statement that is being read. Without a transaction: nothing else. */
void db_rollback(struct db *d);
/* Ends a transaction by the `result` of what was done in it: commits where it is >= 0, else rolls
 * back. Returns the result, or the commit's error. */
int db_end(struct db *d, int result, struct err *err);
/* Called first in each transaction: a result < 0 ends it and is what db_begin() returns. */
typedef int (*db_guard_fn)(void *ctx, struct err *err);
void db_guard(struct db *d, db_guard_fn fn, void *ctx);
/* Called last in each transaction that is to be committed: it may still write. A result < 0 rolls
 * the transaction back and is what db_commit() returns. */
void db_before_commit(struct db *d, db_guard_fn fn, void *ctx);

/* Calls fn at the end of each transaction. DB_UNKNOWN: the commit failed, and with a server it
 * may have happened all the same. fn must not use the database. */
enum db_end { DB_COMMITTED, DB_ROLLED_BACK, DB_UNKNOWN };
typedef void (*db_end_fn)(void *ctx, enum db_end how);
void db_on_end(struct db *d, db_end_fn fn, void *ctx);
/* A transaction is under way. */
bool db_is_begun(const struct db *d);

/* Bind by a format: 'i' int64_t, 't' const char * (NULL = NULL), 'b' const void *, size_t
 * and step to completion. The statement is known by the address of `sql` (a string literal).
 * 0, or -EEXIST on a unique constraint, -EIO, -ENOSPC, ... */
int db_run(struct db *d, struct err *err, const char *sql, const char *format, ...);
/* The same where the answer can wait: in a transaction a server is sent the next statement before it has
 * answered this one. A failure is reported by a later call, by the commit at the latest. */
int db_run_later(struct db *d, struct err *err, const char *sql, const char *format, ...);
/* The same for many integers; one that equals `null` is NULL. */
struct db_ints {
	const int64_t *values;
	size_t n;
	int64_t null;
};
int db_run_ints(struct db *d, const char *sql, const struct db_ints *v, struct err *err);
/* As db_run_later(). */
int db_run_ints_later(struct db *d, const char *sql, const struct db_ints *v, struct err *err);
/* The same statement for rows of integers, one after the other, in the transaction under way; a
 * server is sent them together. ret_changed[i]: how many rows the i-th changed. */
struct db_int_rows {
	const int64_t *values; /* row by row */
	size_t n_rows, n_columns;
	int64_t null;
};
int db_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err);
/* Rows of one table, gathered to be written together: a server is sent them as one stream, which takes a small part of
 * the time that a statement for each does. */
struct db_value;
struct db_rows {
	/* INSERT INTO table(columns) VALUES(?1, ?2 ... in order), a string literal. Behind it ON CONFLICT(columns) DO UPDATE ... may
	 * stand, which changes rows that are there; then no two rows have the same values in those columns. Or UPDATE table SET ...
	 * WHERE ..., without texts of its own; then no two rows change the same one. */
	const char *sql;
	const char
		*format; /* of a row, as of db_run(); 'b' not where rows are inserted alone */
	struct db_value *values;
	size_t n, room; /* rows */
	/* Rows of an INSERT of which none can be there: a few are sent ahead, and the server is not waited for. */
	bool are_new;
};
/* Texts and blobs are not copied: they must live until the rows are written. -ENOMEM. */
int db_rows_add(struct db_rows *r, struct err *err, ...);
/* Writes what was gathered, in the transaction under way, and forgets it. As db_run_later(); -EEXIST: one of the rows is
 * there already, and the transaction has to be rolled back. */
int db_rows_write(struct db *d, struct db_rows *r, struct err *err);
void db_rows_done(struct db_rows *r);
/* Binds and returns the statement, which stays the db's, to be read with db_step(). Texts and
 * blobs are not copied: they must live until the statement is done. The same `sql` (address) may not
 * be queried again while its rows are being read. */
int db_query(struct db *d, struct err *err, struct db_row **ret, const char *sql,
	     const char *format, ...);
/* The same for integers alone. */
int db_query_ints(struct db *d, const char *sql, const struct db_ints *v, struct db_row **ret,
		  struct err *err);
/* The same for texts alone. */
struct db_texts {
	const char *const *v;
	size_t n;
};
int db_query_texts(struct db *d, const char *sql, const struct db_texts *texts,
		   struct db_row **ret, struct err *err);
/* In the transaction under way: this query will be run with these values, and nothing that is written until then changes its
 * answer. A server is asked now, with what else is sent, and the db_query() to come takes the answer that has arrived, so
 * that many queries wait for the server once and not one after the other. Where there is no server nothing is done. None of
 * its rows may be under way. Texts are copied. A failure: as of db_run_later(). */
int db_ask(struct db *d, struct err *err, const char *sql, const char *format, ...);
int db_ask_ints(struct db *d, const char *sql, const struct db_ints *v, struct err *err);
/* What was asked and not queried yet is forgotten, as by the end of the transaction: it may have been changed. */
void db_forget_asked(struct db *d);
/* db_query() and the first db_step(). 1: *ret stands at the first row, and needs db_done(); 0: there
 * is none. */
int db_query_first(struct db *d, struct err *err, struct db_row **ret, const char *sql,
		   const char *format, ...);
/* The first column of the first row. 1: *ret is set; 0: there is no row. */
int db_query_int(struct db *d, struct err *err, int64_t *ret, const char *sql,
		 const char *format, ...);
/* 1: there is a row; 0: there is none. */
int db_has_row(struct db *d, struct err *err, const char *sql, const char *format, ...);
/* Before the first step, where the answer may be large: no more than some thousand rows of it
 * are then in this process at a time. */
void db_scan(struct db_row *row);
/* Before the first step, where the answer may be large: a row is read while the server makes the
 * next ones, which takes half of the time. No other statement may run in this database before
 * the last row or db_done(): it is refused with -EBUSY. */
void db_stream(struct db_row *row);
/* 1: a row, 0: no more, < 0: error; after 0 and < 0 the statement is done. */
int db_step(struct db *d, struct db_row *row, struct err *err);
/* Gives up what has not been read; needed where the caller stops before db_step() returns 0. */
void db_done(struct db_row *row);

/* Columns count from 0; texts and blobs are good until the next step. */
int64_t db_int(const struct db_row *row, int column);	   /* NULL: 0 */
const char *db_text(const struct db_row *row, int column); /* NULL: NULL */
const void *db_blob(const struct db_row *row, int column, size_t *ret_size);
bool db_is_null(const struct db_row *row, int column);

/* The number that the last INSERT gave its row, where the database numbers them. */
int64_t db_last_id(struct db *d);
/* How many rows the last statement changed; not for db_run_later(). */
int64_t db_changes(struct db *d);
/* Where it is, for messages: a path, or the server's names; never a password. */
const char *db_place(const struct db *d);
