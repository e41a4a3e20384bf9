/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_copy.c - SQLite's online backup inside a read transaction of the source; see db_copy.h. */
#include <errno.h>
#include <sqlite3.h>
#include <fcntl.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/db/db_copy.h"
#include "common/err.h"

#define PAGES_A_STEP 4096 /* 16 MiB: how often progress is reported */
#define BUSY_TIMEOUT_MS 5000

static int copy_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_READONLY:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

static int set_copy_error(const struct db_copy *how, int rc, struct err *err)
{
	return err_set(err, copy_errno(rc), "copy %.200s to %.200s: %s", how->from, how->to,
		       sqlite3_errstr(rc));
}

/* A handle is there even where opening failed: the caller closes it. */
static int open_end(const char *path, const char *settings, sqlite3 **ret)
{
	int rc = sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK)
		return *ret ? sqlite3_extended_errcode(*ret) : SQLITE_NOMEM;
	sqlite3_busy_timeout(*ret, BUSY_TIMEOUT_MS);
	return sqlite3_exec(*ret, settings, NULL, NULL, NULL);
}

static int copy_pages(const struct db_copy *how, sqlite3_backup *b)
{
	int rc;

	do {
		rc = sqlite3_backup_step(b, PAGES_A_STEP);
		if (how->on_progress)
			how->on_progress(how->ctx,
					 sqlite3_backup_pagecount(b) -
						 sqlite3_backup_remaining(b),
					 sqlite3_backup_pagecount(b));
	} while (rc == SQLITE_OK);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The transaction is open while the pages are copied: without it SQLite begins again whenever another
 * process has written. */
static int copy_snapshot(const struct db_copy *how, sqlite3 *from, sqlite3 *to)
{
	int rc = sqlite3_exec(from, "BEGIN; SELECT COUNT(*) FROM sqlite_master", NULL, NULL,
			      NULL);
	sqlite3_backup *b;
	int end;

	if (rc != SQLITE_OK)
		return rc;
	b = sqlite3_backup_init(to, "main", from, "main");
	if (!b)
		return sqlite3_extended_errcode(to);
	rc = copy_pages(how, b);
	end = sqlite3_backup_finish(b);
	return rc != SQLITE_OK ? rc : end;
}

int db_copy(const struct db_copy *how, struct err *err)
{
	sqlite3 *from = NULL, *to = NULL;
	int rc;

	if (access(how->from, F_OK) < 0)
		return err_set(err, -errno, "%.200s: %m", how->from);
	rc = open_end(how->from, "PRAGMA trusted_schema=OFF", &from);
	if (rc == SQLITE_OK)
		rc = open_end(how->to, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", &to);
	if (rc == SQLITE_OK)
		rc = copy_snapshot(how, from, to);
	if (to)
		sqlite3_close(to);
	if (from)
		sqlite3_close(from);
	return rc == SQLITE_OK ? 0 : set_copy_error(how, rc, err);
}

/* https://www.sqlite.org/fileformat.html: user_version is at 60, big-endian. */
int db_copy_version(const char *path, int64_t *ret, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char header[100];

	if (fd < 0)
		return err_set(err, -errno, "open %.200s: %m", path);
	if (pread(fd, header, sizeof(header), 0) != sizeof(header))
		return err_set(err, -EBADMSG, "%.200s is no database", path);
	*ret = (int64_t)header[60] << 24 | header[61] << 16 | header[62] << 8 | header[63];
	return 0;
}
