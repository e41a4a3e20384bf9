/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.c - open the agent's database and migrate its schema; see store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "agent/report/store.h"
#include "common/err.h"

#define ASIDE_MAX 1000

/* outbox_total is kept by triggers, so that it is right after any rollback. Rows of some KB that are written often are in tables with
 * a rowid: without one they would lie on pages of their own, of which each change frees some and takes others. */
static const char *const migrations[] = {
	"CREATE TABLE attempts ("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL,"
	" body TEXT NOT NULL, request TEXT NOT NULL,"
	" PRIMARY KEY (job, attempt)) STRICT;"
	"CREATE TABLE settings ("
	" name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE outbox ("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, at_ns INTEGER NOT NULL, final INTEGER NOT NULL,"
	" body TEXT, bytes INTEGER NOT NULL," /* NULL and 0: nothing to send */
	" PRIMARY KEY (job, attempt)) STRICT;"
	"CREATE INDEX outbox_oldest ON outbox (final, at_ns) WHERE body IS NOT NULL;"
	"CREATE TABLE outbox_total ("
	" one INTEGER PRIMARY KEY CHECK (one = 1),"
	" reports INTEGER NOT NULL, final INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;"
	"INSERT INTO outbox_total VALUES (1, 0, 0, 0);"
	"CREATE TRIGGER outbox_in AFTER INSERT ON outbox BEGIN"
	" UPDATE outbox_total SET reports = reports + (new.body IS NOT NULL),"
	"  final = final + (new.final AND new.body IS NOT NULL), bytes = bytes + new.bytes;"
	" END;"
	"CREATE TRIGGER outbox_out AFTER DELETE ON outbox BEGIN"
	" UPDATE outbox_total SET reports = reports - (old.body IS NOT NULL),"
	"  final = final - (old.final AND old.body IS NOT NULL), bytes = bytes - old.bytes;"
	" END;"
	"CREATE TRIGGER outbox_change AFTER UPDATE ON outbox BEGIN"
	" UPDATE outbox_total SET"
	"  reports = reports + (new.body IS NOT NULL) - (old.body IS NOT NULL),"
	"  final = final + (new.final AND new.body IS NOT NULL)"
	"   - (old.final AND old.body IS NOT NULL),"
	"  bytes = bytes + new.bytes - old.bytes;"
	" END;",
	"CREATE TABLE starts (" /* starts.h */
	" nonce TEXT NOT NULL, job INTEGER NOT NULL, step INTEGER NOT NULL,"
	" base INTEGER NOT NULL, attempt INTEGER NOT NULL, made_s INTEGER NOT NULL,"
	" PRIMARY KEY (nonce, job, step)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX starts_made ON starts (made_s);",
	NULL,
};

/* No migration: an agent of the version before opens the file as well, and leaves them alone. */
static const char *const additions[] = {
	"CREATE TABLE IF NOT EXISTS sent (" /* sent.h */
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL,"
	" at_ns INTEGER NOT NULL, body TEXT NOT NULL,"
	" PRIMARY KEY (job, attempt)) STRICT, WITHOUT ROWID",
	"CREATE INDEX IF NOT EXISTS sent_at ON sent (at_ns)",
	"CREATE TABLE IF NOT EXISTS former (" /* former.h; `id` is their order */
	" id INTEGER PRIMARY KEY NOT NULL,"
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL,"
	" at_ns INTEGER NOT NULL, body TEXT NOT NULL, told TEXT NOT NULL) STRICT",
	"CREATE INDEX IF NOT EXISTS former_attempt ON former (job, attempt)",
};

static int add_tables(struct db *db, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(additions) && r >= 0; i++)
		r = db_run(db, err, additions[i], "");
	return r;
}

/* -EBADMSG: SQLite's own check finds the file damaged. quick_check leaves out the comparison of indices
 * with tables: the agent starts on slow disks too. */
static int check_schema(struct db *db, const char *path, struct err *err)
{
	struct db_row *st;
	const char *verdict;
	int r = db_query(db, err, &st, "PRAGMA quick_check(1)", "");

	if (r < 0)
		return r;
	r = db_step(db, st, err);
	if (r < 0)
		return r;
	verdict = r ? db_text(st, 0) : "no answer";
	r = 0;
	if (!verdict || strcmp(verdict, "ok") != 0)
		r = err_set(err, -EBADMSG, "%s is damaged: %s", path,
			    verdict ? verdict : "out of memory");
	db_done(st);
	return r;
}

static int open_checked(const char *path, struct db **ret, struct err *err)
{
	_cleanup_(db_closep) struct db *db = NULL;
	int r = db_open(path, migrations, &db, err);

	if (r >= 0) /* KiB; the rows are few, and the node's memory is the jobs' */
		r = db_run(db, err, "PRAGMA cache_size=-256", "");
	if (r >= 0)
		r = check_schema(db, path, err);
	if (r >= 0)
		r = add_tables(db, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(db);
	return 0;
}

/* Renames PATH+suffix to PATH.damaged-N+suffix. A file that is not there is no error. */
static int move_aside(const char *path, const char *suffix, int n, struct err *err)
{
	_cleanup_free_ char *from = NULL, *to = NULL;

	if (asprintf(&from, "%s%s", path, suffix) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (asprintf(&to, "%s.damaged-%d%s", path, n, suffix) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 || errno == ENOENT)
		return 0;
	return err_set(err, -errno, "rename %s to %s: %m", from, to);
}

/* The first N without a PATH.damaged-N, or < 0. */
static int free_number(const char *path)
{
	for (int n = 1; n < ASIDE_MAX; n++) {
		_cleanup_free_ char *name = NULL;

		if (asprintf(&name, "%s.damaged-%d", path, n) < 0)
			return -ENOMEM;
		if (access(name, F_OK) < 0)
			return n;
	}
	return -EEXIST;
}

/* The write-ahead log goes first: after a crash in between, no old log may be beside a new file, for
 * SQLite would replay it. */
static int set_aside(const char *path, int *ret_n, struct err *err)
{
	int n = free_number(path), r;

	if (n < 0)
		return err_set(err, n, "too many %s.damaged-N: remove some", path);
	r = move_aside(path, "-wal", n, err);
	if (r >= 0)
		r = move_aside(path, "-shm", n, err);
	if (r >= 0)
		r = move_aside(path, "", n, err);
	*ret_n = n;
	return r;
}

int store_open(const char *path, struct db **ret, struct err *err)
{
	struct err why = { "" };
	int r = open_checked(path, ret, &why), n = 0;

	if (r != -EBADMSG)
		return err_set(err, r, "%s", why.text);
	r = set_aside(path, &n, err);
	if (r >= 0)
		r = open_checked(path, ret, err);
	if (r < 0)
		return r;
	return err_set(err, STORE_SET_ASIDE,
		       "%.300s; it is now %.100s.damaged-%d and a new one was begun", why.text,
		       path, n);
}

int store_scrub(struct db *db, struct err *err)
{
	struct db_row *row;
	int r = db_query(db, err, &row, "PRAGMA wal_checkpoint(TRUNCATE)", "");

	if (r < 0)
		return r;
	r = db_step(db, row, err);
	db_done(row);
	return r < 0 ? r : 0;
}
