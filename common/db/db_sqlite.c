/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_sqlite.c - db.h over SQLite: settings of the connection, migrations by user_version, and a cache
 * of prepared statements that are found by the address of their text. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/db/db_impl.h"
#include "common/err.h"

#define BUSY_TIMEOUT_MS 5000

struct statement {
	struct db_row row; /* first: a struct db_row * is one of these */
	const char *sql;
	sqlite3_stmt *st;
};

struct sqlite {
	struct db db; /* first: a struct db * is one of these */
	sqlite3 *handle;
	struct statement **cache;
	size_t n_cache, cache_size;
};

static struct sqlite *sqlite_of(struct db *db)
{
	return (struct sqlite *)db;
}

static sqlite3_stmt *statement_of(const struct db_row *row)
{
	return ((const struct statement *)row)->st;
}

/* Of an extended result code, whose low byte is the plain one. */
static int sqlite_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_CONSTRAINT:
		return rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY
			       ? -EEXIST
			       : -EINVAL;
	case SQLITE_TOOBIG:
	case SQLITE_MISMATCH:
	case SQLITE_RANGE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* The connection's last error. `what` is the statement, or what was done. */
static int set_sqlite_error(struct sqlite *d, struct err *err, const char *what)
{
	int rc = sqlite3_extended_errcode(d->handle), r = sqlite_errno(rc);
	const char *file = sqlite3_db_filename(d->handle, "main");

	return err_set(err, r < 0 ? r : -EIO, "%s, database %s: %s (%s)", what,
		       file && *file ? file : "in memory", sqlite3_errmsg(d->handle),
		       sqlite3_errstr(rc));
}

static int exec_sql(struct sqlite *d, const char *sql, struct err *err)
{
	if (sqlite3_exec(d->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return set_sqlite_error(d, err, sql);
	return 0;
}

/* ---- cache ---- */

static int set_cache_size(struct db *d, int64_t bytes, struct err *err)
{
	char sql[64];

	/* Below 0 it counts KiB, above 0 pages. */
	snprintf(sql, sizeof(sql), "PRAGMA cache_size=-%lld", (long long)bytes / 1024);
	return exec_sql(sqlite_of(d), sql, err);
}

/* In WAL mode NORMAL syncs at checkpoints alone. The pragma works when it is prepared, so that it is no kept statement. */
static int set_lazy(struct db *d, bool is_lazy, struct err *err)
{
	return exec_sql(sqlite_of(d),
			is_lazy ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", err);
}

/* ---- transactions ---- */

static int run_kept(struct sqlite *d, const char *sql, struct err *err);

/* Prepared when the database is opened: it must work without memory. */
static const char rollback_sql[] = "ROLLBACK";

static void rollback_transaction(struct db *db)
{
	struct sqlite *d = sqlite_of(db);

	/* Statements that are being read end with the transaction. */
	for (size_t i = 0; i < d->n_cache; i++)
		sqlite3_reset(d->cache[i]->st);
	/* SQLite may have rolled back by itself (disk full, I/O error). */
	if (!sqlite3_get_autocommit(d->handle))
		run_kept(d, rollback_sql, NULL);
}

/* IMMEDIATE takes the write lock at once: a transaction that read first and writes later would get
 * SQLITE_BUSY in the middle, which no waiting resolves. One that could not be rolled back is now. */
static int begin_immediate(struct db *d, struct err *err)
{
	static const char sql[] = "BEGIN IMMEDIATE";

	if (!sqlite3_get_autocommit(sqlite_of(d)->handle))
		rollback_transaction(d);
	return run_kept(sqlite_of(d), sql, err);
}

/* A COMMIT that SQLite refused (SQLITE_BUSY) leaves its transaction open: it is rolled back, so that
 * the caller may begin again. */
static int commit_transaction(struct db *d, struct err *err)
{
	static const char sql[] = "COMMIT";
	int r = run_kept(sqlite_of(d), sql, err);

	if (r < 0)
		rollback_transaction(d);
	return r;
}

/* ---- opening ---- */

/* *ret is 0 where the pragma returns no row. */
static int get_pragma(struct sqlite *d, const char *pragma, int64_t *ret, struct err *err)
{
	sqlite3_stmt *st;
	int rc;

	if (sqlite3_prepare_v2(d->handle, pragma, -1, &st, NULL) != SQLITE_OK)
		return set_sqlite_error(d, err, pragma);
	rc = sqlite3_step(st);
	*ret = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	rc = sqlite3_finalize(st);
	return rc == SQLITE_OK ? 0 : set_sqlite_error(d, err, pragma);
}

/* user_version is in the file's header and changes with the transaction: after a crash the schema is
 * that of the old version or of the new one. */
static int set_schema(struct db *db, int version, struct err *err)
{
	char pragma[64];

	snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%d", version);
	return exec_sql(sqlite_of(db), pragma, err);
}

static int apply_migration(struct sqlite *d, const char *sql, int to, struct err *err)
{
	int r = begin_immediate(&d->db, err);

	if (r < 0)
		return r;
	r = exec_sql(d, sql, err);
	if (r >= 0)
		r = set_schema(&d->db, to, err);
	if (r < 0) {
		rollback_transaction(&d->db);
		return err_prefix(err, r, "making schema version %d", to);
	}
	return commit_transaction(&d->db, err);
}

static int apply_migrations(struct sqlite *d, const char *const *migrations, struct err *err)
{
	int64_t have = 0, known = 0;
	int r = get_pragma(d, "PRAGMA user_version", &have, err);

	if (r < 0)
		return r;
	while (migrations[known])
		known++;
	if (have > known)
		return err_set(
			err, -EPROTO,
			"database %s has schema version %lld; this program knows up to "
			"%lld: use the newer program, or its reeve admin downgrade, or a "
			"backup of before the upgrade",
			sqlite3_db_filename(d->handle, "main"), (long long)have,
			(long long)known);
	for (; have < known; have++) {
		r = apply_migration(d, migrations[have], (int)have + 1, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_pragmas(struct sqlite *d, struct err *err)
{
	static const char *const settings[] = {
		"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON",
		"PRAGMA trusted_schema=OFF",
		/* Deleted rows are overwritten: scripts and environments contain secrets. */
		"PRAGMA secure_delete=ON", "PRAGMA cell_size_check=ON",
		"PRAGMA wal_autocheckpoint=1000",
		"PRAGMA journal_size_limit=67108864", /* bytes of the WAL that are kept */
	};

	sqlite3_busy_timeout(d->handle, BUSY_TIMEOUT_MS);
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		int r = exec_sql(d, settings[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- statistics ---- */

static int forget_statistics(struct db *db, struct err *err)
{
	struct sqlite *d = sqlite_of(db);
	int64_t n;
	int r = get_pragma(d, "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'",
			   &n, err);

	if (r < 0 || !n)
		return r;
	/* This connection has read them: ANALYZE of the schema alone gathers none, and reads what there is again. */
	r = exec_sql(d,
		     "DROP TABLE IF EXISTS sqlite_stat4; DROP TABLE IF EXISTS sqlite_stat1;"
		     "ANALYZE sqlite_schema; DROP TABLE IF EXISTS sqlite_stat1",
		     err);
	return r < 0 ? r : 1;
}

/* ---- statements ---- */

static int cache_add(struct sqlite *d, struct statement *s, struct err *err)
{
	if (d->n_cache == d->cache_size) {
		size_t size = d->cache_size ? d->cache_size * 2 : 32;
		struct statement **larger =
			realloc(d->cache, size * sizeof(struct statement *));

		if (!larger)
			return err_set(err, -ENOMEM, "out of memory");
		d->cache = larger;
		d->cache_size = size;
	}
	d->cache[d->n_cache++] = s;
	return 0;
}

/* Statements are compared by the address of their text, not by the text: SQL is a string literal. A
 * few hundred are kept, searched one after the other. */
static int prepare_statement(struct sqlite *d, const char *sql, struct statement **ret,
			     struct err *err)
{
	_cleanup_free_ struct statement *s = NULL;
	int r;

	for (size_t i = 0; i < d->n_cache; i++) {
		if (d->cache[i]->sql != sql)
			continue;
		sqlite3_reset(d->cache[i]->st);
		sqlite3_clear_bindings(d->cache[i]->st);
		*ret = d->cache[i];
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->row.db = &d->db;
	s->sql = sql;
	if (sqlite3_prepare_v3(d->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->st, NULL) !=
	    SQLITE_OK)
		return set_sqlite_error(d, err, sql);
	r = cache_add(d, s, err);
	if (r < 0) {
		sqlite3_finalize(s->st);
		return r;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

/* SQLITE_STATIC: the value is the caller's, and good until the statement is done (db.h). */
static int bind_value(sqlite3_stmt *st, int at, const struct db_value *v)
{
	switch (v->kind) {
	case DB_INT:
		return sqlite3_bind_int64(st, at, v->number);
	case DB_TEXT:
		return sqlite3_bind_text64(st, at, v->data, v->size, SQLITE_STATIC,
					   SQLITE_UTF8);
	case DB_BLOB:
		return sqlite3_bind_blob64(st, at, v->data, v->size, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(st, at);
	}
}

static int query_statement(struct db *db, const char *sql, const struct db_values *values,
			   struct db_row **ret, struct err *err)
{
	struct sqlite *d = sqlite_of(db);
	struct statement *s = NULL;
	int r = prepare_statement(d, sql, &s, err);

	if (r < 0)
		return r;
	if ((size_t)sqlite3_bind_parameter_count(s->st) != values->n)
		return err_set(err, -EINVAL, "%d parameters, %zu values: %s",
			       sqlite3_bind_parameter_count(s->st), values->n, sql);
	for (size_t i = 0; i < values->n; i++)
		if (bind_value(s->st, (int)i + 1, &values->v[i]) != SQLITE_OK)
			return set_sqlite_error(d, err, sql);
	*ret = &s->row;
	return 0;
}

/* Ends the read transaction that an unfinished statement keeps open, and forgets the caller's
 * values. */
static void reset_statement(struct db_row *row)
{
	sqlite3_reset(statement_of(row));
	sqlite3_clear_bindings(statement_of(row));
}

static int step_statement(struct db_row *row, struct err *err)
{
	int rc = sqlite3_step(statement_of(row)), r = 0;

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		r = set_sqlite_error(sqlite_of(row->db), err, ((struct statement *)row)->sql);
	reset_statement(row);
	return r;
}

/* A statement without values, prepared once. */
static int run_kept(struct sqlite *d, const char *sql, struct err *err)
{
	struct statement *s = NULL;
	int r = prepare_statement(d, sql, &s, err);

	return r < 0 ? r : step_statement(&s->row, err);
}

static int64_t get_int(const struct db_row *row, int column)
{
	return sqlite3_column_int64(statement_of(row), column);
}

static const char *get_text(const struct db_row *row, int column)
{
	return (const char *)sqlite3_column_text(statement_of(row), column);
}

static const void *get_blob(const struct db_row *row, int column, size_t *ret_size)
{
	const void *data = sqlite3_column_blob(statement_of(row), column);

	*ret_size = (size_t)sqlite3_column_bytes(statement_of(row), column);
	return data;
}

static bool is_null(const struct db_row *row, int column)
{
	return sqlite3_column_type(statement_of(row), column) == SQLITE_NULL;
}

static int64_t last_id(struct db *d)
{
	return sqlite3_last_insert_rowid(sqlite_of(d)->handle);
}

static int64_t count_changes(struct db *d)
{
	return sqlite3_changes64(sqlite_of(d)->handle);
}

static const char *database_place(const struct db *d)
{
	const char *file = sqlite3_db_filename(((const struct sqlite *)d)->handle, "main");

	return file && *file ? file : "in memory";
}

static void close_database(struct db *db)
{
	struct sqlite *d = sqlite_of(db);

	for (size_t i = 0; i < d->n_cache; i++) {
		sqlite3_finalize(d->cache[i]->st);
		free(d->cache[i]);
	}
	free(d->cache);
	sqlite3_close(d->handle);
	free(d);
}

static const struct db_ops sqlite_ops = {
	.close = close_database,
	.cache = set_cache_size,
	.lazy = set_lazy,
	.forget_statistics = forget_statistics,
	.set_schema = set_schema,
	.begin = begin_immediate,
	.commit = commit_transaction,
	.rollback = rollback_transaction,
	.query = query_statement,
	.step = step_statement,
	.done = reset_statement,
	.get_int = get_int,
	.get_text = get_text,
	.get_blob = get_blob,
	.is_null = is_null,
	.last_id = last_id,
	.changes = count_changes,
	.place = database_place,
};

int db_open(const char *path, const char *const *migrations, struct db **ret, struct err *err)
{
	_cleanup_(db_closep) struct db *db = NULL;
	struct sqlite *d = calloc(1, sizeof(*d));
	struct statement *rollback;
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->db.ops = &sqlite_ops;
	db = &d->db;
	if (sqlite3_open_v2(path, &d->handle,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK) {
		if (!d->handle)
			return err_set(err, -ENOMEM, "out of memory");
		return err_set(err, sqlite_errno(sqlite3_extended_errcode(d->handle)),
			       "open database %s: %s", path, sqlite3_errmsg(d->handle));
	}
	sqlite3_extended_result_codes(d->handle, 1);
	r = set_pragmas(d, err);
	if (r < 0)
		return r;
	r = apply_migrations(d, migrations, err);
	if (r >= 0)
		r = forget_statistics(db, err);
	if (r >= 0)
		r = prepare_statement(d, rollback_sql, &rollback, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(db);
	return 0;
}
