/* db_sqlite.c - db over SQLite. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "common/db/db_impl.h"
#include "common/err.h"

#define BUSY_TIMEOUT_MS 5000

struct statement {
	struct db_row row;
	const char *sql;
	sqlite3_stmt *st;
};

struct sqlite {
	struct db db;
	sqlite3 *handle;
	struct statement **cache;
	size_t n_cache, cache_size;
};

static struct sqlite *of(struct db *db)
{
	return (struct sqlite *)db;
}

static sqlite3_stmt *statement_of(const struct db_row *row)
{
	return ((const struct statement *)row)->st;
}

static int errno_of(int rc)
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

static int fail(struct sqlite *d, struct err *err, const char *what)
{
	int rc = sqlite3_extended_errcode(d->handle), r = errno_of(rc);
	const char *file = sqlite3_db_filename(d->handle, "main");

	return err_set(err, r < 0 ? r : -EIO, "%s, database %s: %s (%s)", what,
		       file && *file ? file : "in memory", sqlite3_errmsg(d->handle),
		       sqlite3_errstr(rc));
}

static int exec(struct sqlite *d, const char *sql, struct err *err)
{
	if (sqlite3_exec(d->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(d, err, sql);
	return 0;
}

/* ---- cache ---- */

static int cache(struct db *d, int64_t bytes, struct err *err)
{
	char sql[64];

	sqlite3_snprintf(sizeof(sql), sql, "PRAGMA cache_size=-%lld", (long long)bytes / 1024);
	return exec(of(d), sql, err);
}

/* ---- transactions ---- */

static int begin(struct db *d, struct err *err)
{
	return exec(of(d), "BEGIN IMMEDIATE", err);
}

static void rollback(struct db *db)
{
	struct sqlite *d = of(db);

	for (size_t i = 0; i < d->n_cache; i++)
		sqlite3_reset(d->cache[i]->st);
	if (!sqlite3_get_autocommit(d->handle))
		sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
}

/* A commit that failed leaves nothing open: the caller may begin again. */
static int commit(struct db *d, struct err *err)
{
	int r = exec(of(d), "COMMIT", err);

	if (r < 0)
		rollback(d);
	return r;
}

/* ---- opening ---- */

static int get_pragma(struct sqlite *d, const char *pragma, int64_t *ret, struct err *err)
{
	sqlite3_stmt *st;
	int rc;

	if (sqlite3_prepare_v2(d->handle, pragma, -1, &st, NULL) != SQLITE_OK)
		return fail(d, err, pragma);
	rc = sqlite3_step(st);
	*ret = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	rc = sqlite3_finalize(st);
	return rc == SQLITE_OK ? 0 : fail(d, err, pragma);
}

static int migrate_one(struct sqlite *d, const char *sql, int64_t to, struct err *err)
{
	char version[64];
	int r = begin(&d->db, err);

	if (r < 0)
		return r;
	sqlite3_snprintf(sizeof(version), version, "PRAGMA user_version=%lld", (long long)to);
	r = exec(d, sql, err);
	if (r >= 0)
		r = exec(d, version, err);
	if (r < 0) {
		rollback(&d->db);
		return err_prefix(err, r, "making schema version %lld", (long long)to);
	}
	return commit(&d->db, err);
}

static int migrate(struct sqlite *d, const char *const *migrations, struct err *err)
{
	int64_t have = 0, known = 0;
	int r = get_pragma(d, "PRAGMA user_version", &have, err);

	if (r < 0)
		return r;
	while (migrations[known])
		known++;
	if (have > known)
		return err_set(err, -EPROTO,
			       "database %s has schema version %lld; this program knows up to "
			       "%lld: use the newer program, or a backup of before the upgrade",
			       sqlite3_db_filename(d->handle, "main"), (long long)have,
			       (long long)known);
	for (; have < known; have++) {
		r = migrate_one(d, migrations[have], have + 1, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_up(struct sqlite *d, struct err *err)
{
	static const char *const settings[] = {
		"PRAGMA journal_mode=WAL",
		"PRAGMA synchronous=FULL",
		"PRAGMA foreign_keys=ON",
		"PRAGMA trusted_schema=OFF",
		/* What is deleted is overwritten: scripts and environments hold secrets. */
		"PRAGMA secure_delete=ON",
		"PRAGMA cell_size_check=ON",
		"PRAGMA wal_autocheckpoint=1000",
		"PRAGMA journal_size_limit=67108864",
	};

	sqlite3_busy_timeout(d->handle, BUSY_TIMEOUT_MS);
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		int r = exec(d, settings[i], err);

		if (r < 0)
			return r;
	}
	return 0;
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

static int prepare(struct sqlite *d, const char *sql, struct statement **ret, struct err *err)
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
		return fail(d, err, sql);
	r = cache_add(d, s, err);
	if (r < 0) {
		sqlite3_finalize(s->st);
		return r;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

static int bind(sqlite3_stmt *st, int at, const struct db_value *v)
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

static int query(struct db *db, const char *sql, const struct db_values *values,
		 struct db_row **ret, struct err *err)
{
	struct sqlite *d = of(db);
	struct statement *s = NULL;
	int r = prepare(d, sql, &s, err);

	if (r < 0)
		return r;
	if ((size_t)sqlite3_bind_parameter_count(s->st) != values->n)
		return err_set(err, -EINVAL, "%d parameters, %zu values: %s",
			       sqlite3_bind_parameter_count(s->st), values->n, sql);
	for (size_t i = 0; i < values->n; i++)
		if (bind(s->st, (int)i + 1, &values->v[i]) != SQLITE_OK)
			return fail(d, err, sql);
	*ret = &s->row;
	return 0;
}

static void done(struct db_row *row)
{
	sqlite3_reset(statement_of(row));
	sqlite3_clear_bindings(statement_of(row));
}

static int step(struct db_row *row, struct err *err)
{
	int rc = sqlite3_step(statement_of(row)), r = 0;

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		r = fail(of(row->db), err, ((struct statement *)row)->sql);
	done(row);
	return r;
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
	return sqlite3_last_insert_rowid(of(d)->handle);
}

static int64_t changes(struct db *d)
{
	return sqlite3_changes64(of(d)->handle);
}

static const char *place(const struct db *d)
{
	const char *file = sqlite3_db_filename(((const struct sqlite *)d)->handle, "main");

	return file && *file ? file : "in memory";
}

static void close_all(struct db *db)
{
	struct sqlite *d = of(db);

	for (size_t i = 0; i < d->n_cache; i++) {
		sqlite3_finalize(d->cache[i]->st);
		free(d->cache[i]);
	}
	free(d->cache);
	sqlite3_close(d->handle);
	free(d);
}

static const struct db_ops sqlite_ops = {
	.close = close_all,
	.cache = cache,
	.begin = begin,
	.commit = commit,
	.rollback = rollback,
	.query = query,
	.step = step,
	.done = done,
	.get_int = get_int,
	.get_text = get_text,
	.get_blob = get_blob,
	.is_null = is_null,
	.last_id = last_id,
	.changes = changes,
	.place = place,
};

int db_open(const char *path, const char *const *migrations, struct db **ret, struct err *err)
{
	_cleanup_(db_closep) struct db *db = NULL;
	struct sqlite *d = calloc(1, sizeof(*d));
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
		return err_set(err, errno_of(sqlite3_extended_errcode(d->handle)),
			       "open database %s: %s", path, sqlite3_errmsg(d->handle));
	}
	sqlite3_extended_result_codes(d->handle, 1);
	r = set_up(d, err);
	if (r < 0)
		return r;
	r = migrate(d, migrations, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(db);
	return 0;
}
