/* db.c - see db.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "common/db/db.h"
#include "common/err.h"

#define BUSY_TIMEOUT_MS 5000

struct cached {
	const char *sql;
	sqlite3_stmt *st;
};

struct db {
	sqlite3 *handle;
	struct cached *cache;
	size_t n_cache, cache_size;
};

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

static int fail(struct db *d, struct err *err, const char *what)
{
	int rc = sqlite3_extended_errcode(d->handle), r = errno_of(rc);
	const char *file = sqlite3_db_filename(d->handle, "main");

	return err_set(err, r < 0 ? r : -EIO, "%s, database %s: %s (%s)", what,
		       file && *file ? file : "in memory", sqlite3_errmsg(d->handle),
		       sqlite3_errstr(rc));
}

static int exec(struct db *d, const char *sql, struct err *err)
{
	if (sqlite3_exec(d->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(d, err, sql);
	return 0;
}

static int get_version(struct db *d, int64_t *ret, struct err *err)
{
	sqlite3_stmt *st;
	int r = db_query(d, err, &st, "PRAGMA user_version", "");

	if (r < 0)
		return r;
	r = db_step(d, st, err);
	if (r < 0)
		return r;
	*ret = r ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_reset(st);
	return 0;
}

static int migrate_one(struct db *d, const char *sql, int64_t to, struct err *err)
{
	char version[64];
	int r = db_begin(d, err);

	if (r < 0)
		return r;
	sqlite3_snprintf(sizeof(version), version, "PRAGMA user_version=%lld", (long long)to);
	r = exec(d, sql, err);
	if (r >= 0)
		r = exec(d, version, err);
	if (r < 0) {
		db_rollback(d);
		return err_prefix(err, r, "making schema version %lld", (long long)to);
	}
	return db_commit(d, err);
}

static int migrate(struct db *d, const char *const *migrations, struct err *err)
{
	int64_t have, known = 0;
	int r = get_version(d, &have, err);

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

static int set_up(struct db *d, struct err *err)
{
	static const char *const settings[] = {
		"PRAGMA journal_mode=WAL",
		"PRAGMA synchronous=FULL",
		"PRAGMA foreign_keys=ON",
		"PRAGMA trusted_schema=OFF",
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

int db_open(const char *path, const char *const *migrations, struct db **ret, struct err *err)
{
	_cleanup_(db_closep) struct db *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
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
	*ret = TAKE_PTR(d);
	return 0;
}

struct db *db_close(struct db *d)
{
	if (!d)
		return NULL;
	for (size_t i = 0; i < d->n_cache; i++)
		sqlite3_finalize(d->cache[i].st);
	free(d->cache);
	sqlite3_close(d->handle);
	free(d);
	return NULL;
}

int db_begin(struct db *d, struct err *err)
{
	return exec(d, "BEGIN IMMEDIATE", err);
}

/* A commit that failed leaves nothing open: the caller may begin again. */
int db_commit(struct db *d, struct err *err)
{
	int r = exec(d, "COMMIT", err);

	if (r < 0)
		db_rollback(d);
	return r;
}

void db_rollback(struct db *d)
{
	for (size_t i = 0; i < d->n_cache; i++)
		sqlite3_reset(d->cache[i].st);
	if (!sqlite3_get_autocommit(d->handle))
		sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
}

static int cache_add(struct db *d, const char *sql, sqlite3_stmt *st, struct err *err)
{
	if (d->n_cache == d->cache_size) {
		size_t size = d->cache_size ? d->cache_size * 2 : 32;
		struct cached *larger = realloc(d->cache, size * sizeof(*larger));

		if (!larger) {
			sqlite3_finalize(st);
			return err_set(err, -ENOMEM, "out of memory");
		}
		d->cache = larger;
		d->cache_size = size;
	}
	d->cache[d->n_cache++] = (struct cached){ sql, st };
	return 0;
}

int db_prepare(struct db *d, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	sqlite3_stmt *st;
	int r;

	for (size_t i = 0; i < d->n_cache; i++) {
		if (d->cache[i].sql != sql)
			continue;
		sqlite3_reset(d->cache[i].st);
		sqlite3_clear_bindings(d->cache[i].st);
		*ret = d->cache[i].st;
		return 0;
	}
	if (sqlite3_prepare_v3(d->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL) !=
	    SQLITE_OK)
		return fail(d, err, sql);
	r = cache_add(d, sql, st, err);
	if (r < 0)
		return r;
	*ret = st;
	return 0;
}

struct bound {
	const char *sql, *format;
	va_list ap;
};

/* Text and blobs are bound without a copy: they must live until the statement is done. */
static int bind_all(sqlite3_stmt *st, struct bound *b)
{
	const char *format = b->format;
	int rc = SQLITE_OK;

	for (int i = 1; *format && rc == SQLITE_OK; format++, i++) {
		const void *blob;

		switch (*format) {
		case 'i':
			rc = sqlite3_bind_int64(st, i, va_arg(b->ap, int64_t));
			break;
		case 't':
			rc = sqlite3_bind_text(st, i, va_arg(b->ap, const char *), -1,
					       SQLITE_STATIC);
			break;
		case 'b':
			blob = va_arg(b->ap, const void *);
			rc = sqlite3_bind_blob64(st, i, blob, va_arg(b->ap, size_t),
						 SQLITE_STATIC);
			break;
		default:
			return SQLITE_MISUSE;
		}
	}
	return rc;
}

static int query(struct db *d, struct bound *b, sqlite3_stmt **ret, struct err *err)
{
	sqlite3_stmt *st;
	int r = db_prepare(d, b->sql, &st, err);

	if (r < 0)
		return r;
	if ((size_t)sqlite3_bind_parameter_count(st) != strlen(b->format))
		return err_set(err, -EINVAL, "%d parameters bound by '%s': %s",
			       sqlite3_bind_parameter_count(st), b->format, b->sql);
	if (bind_all(st, b) != SQLITE_OK)
		return fail(d, err, b->sql);
	*ret = st;
	return 0;
}

int db_query(struct db *d, struct err *err, sqlite3_stmt **ret, const char *sql,
	     const char *format, ...)
{
	struct bound b = { .sql = sql, .format = format };
	int r;

	va_start(b.ap, format);
	r = query(d, &b, ret, err);
	va_end(b.ap);
	return r;
}

int db_run(struct db *d, struct err *err, const char *sql, const char *format, ...)
{
	sqlite3_stmt *st;
	struct bound b = { .sql = sql, .format = format };
	int r;

	va_start(b.ap, format);
	r = query(d, &b, &st, err);
	va_end(b.ap);
	if (r < 0)
		return r;
	do
		r = db_step(d, st, err);
	while (r > 0);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}

int db_step(struct db *d, sqlite3_stmt *st, struct err *err)
{
	int rc = sqlite3_step(st), r;

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE) {
		sqlite3_reset(st);
		return 0;
	}
	r = fail(d, err, sqlite3_sql(st));
	sqlite3_reset(st);
	return r;
}

int64_t db_last_id(struct db *d)
{
	return sqlite3_last_insert_rowid(d->handle);
}

int64_t db_changes(struct db *d)
{
	return sqlite3_changes64(d->handle);
}
