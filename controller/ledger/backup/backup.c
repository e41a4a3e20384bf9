/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backup.c - makes a backup: copy, check, manifest, names; see backup.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "common/clock.h"
#include "common/db/db_copy.h"
#include "common/err.h"
#include "controller/ledger/backup/backup_impl.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/postgres/pg.h"

struct making {
	const struct store_backup *how;
	struct store_backed_up *out;
	bool is_dir;
	int fd; /* of the part, locked: closing it before SQLite does would take SQLite's locks away */
	char part[STORE_BACKUP_PATH_MAX], scratch[STORE_BACKUP_PATH_MAX];
	char manifest[STORE_BACKUP_PATH_MAX];
};

/* In a directory: ledger-20261124T183000Z.db. */
static int choose_name(struct making *m, struct err *err)
{
	time_t now = m->how->now_ns / S_NS;
	char *path = m->out->path;
	struct stat st;
	struct tm tm;
	int n;

	m->is_dir = stat(m->how->to, &st) == 0 && S_ISDIR(st.st_mode);
	n = snprintf(path, STORE_BACKUP_PATH_MAX, "%s", m->how->to);
	if (m->is_dir && n < STORE_BACKUP_PATH_MAX - 64 && gmtime_r(&now, &tm))
		strftime(path + n, 64, "/ledger-%Y%m%dT%H%M%SZ.db", &tm);
	if (access(path, F_OK) == 0)
		return err_set(err, -EEXIST, "%.200s exists: give another name, or a directory",
			       path);
	n = backup_path(m->part, path, ".part", err);
	if (n >= 0)
		n = backup_path(m->manifest, path, ".json", err);
	return n < 0 ? n : backup_path(m->scratch, m->part, "-check", err);
}

/* A part that is there was left by a backup that was killed, or is being written by one that has it locked. */
static int open_part(struct making *m, struct err *err)
{
	m->fd = open(m->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (m->fd < 0)
		return err_set(err, -errno, "create %.200s: %m", m->part);
	if (flock(m->fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "%.200s: another backup is writing it", m->part);
	if (ftruncate(m->fd, 0) < 0 || fchmod(m->fd, 0600) < 0)
		return err_set(err, -errno, "empty %.200s: %m", m->part);
	backup_unlink(m->scratch);
	return 0;
}

static int copy_ledger(struct making *m, struct err *err)
{
	const struct db_copy how = { .from = m->how->from,
				     .to = m->part,
				     .on_progress = m->how->on_progress,
				     .ctx = m->how->ctx };
	int64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int r = db_copy(&how, err);

	m->out->copy_ns = clock_ns(CLOCK_MONOTONIC) - begun_ns;
	if (r >= 0 && fsync(m->fd) < 0)
		r = err_set(err, -errno, "sync %.200s: %m", m->part);
	return r;
}

/* Opening a ledger may change it (a newer program upgrades it): the backup stays as the controller's file is, a second copy is opened. */
static int check_copy(struct making *m, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct store_manifest *f = &m->out->manifest;
	struct backup_digest digest;
	int r = lseek(m->fd, 0, SEEK_SET) < 0
			? err_set(err, -errno, "read %.200s: %m", m->part)
			: backup_copy_file(m->fd, m->scratch, &digest, err);

	if (r >= 0)
		r = db_copy_version(m->scratch, &f->schema, err);
	if (r >= 0)
		r = store_open(m->scratch, &s, err);
	if (r >= 0)
		r = backup_count(s, f, err);
	if (r < 0)
		return r;
	f->bytes = digest.bytes;
	memcpy(f->sha256, digest.sha256, sizeof(f->sha256));
	return 0;
}

static int give_names(struct making *m, struct err *err)
{
	int r = backup_manifest_write(m->manifest, &m->out->manifest, err);

	if (r >= 0)
		r = backup_sync_dir_of(m->part, err);
	if (r >= 0 &&
	    renameat2(AT_FDCWD, m->part, AT_FDCWD, m->out->path, RENAME_NOREPLACE) < 0)
		r = err_set(err, -errno, "rename %.200s to %.200s: %m", m->part, m->out->path);
	return r < 0 ? r : backup_sync_dir_of(m->part, err);
}

static int make_backup(struct making *m, struct err *err)
{
	int r = open_part(m, err);

	if (r < 0)
		return r;
	r = copy_ledger(m, err);
	if (r >= 0)
		r = check_copy(m, err);
	backup_unlink(m->scratch);
	if (r >= 0)
		r = give_names(m, err);
	if (r < 0) {
		backup_unlink(m->part);
		unlink(m->manifest);
	}
	return r;
}

int store_backup(const struct store_backup *how, struct store_backed_up *ret, struct err *err)
{
	struct making m = { .how = how, .out = ret, .fd = -1 };
	int r;

	*ret = (struct store_backed_up){ .manifest = { .taken_ns = how->now_ns,
						       .is_verified = how->is_verified } };
	if (pg_is_place(how->from))
		return err_set(err, -ENOTSUP,
			       "a ledger in PostgreSQL is backed up by PostgreSQL: pg_dump "
			       "--format=custom, or pg_basebackup with archived logs "
			       "(docs/operation.md, \"Back-up and restore\")");
	r = choose_name(&m, err);
	if (r >= 0 && m.is_dir)
		backup_remove_parts(how->to);
	if (r >= 0)
		r = make_backup(&m, err);
	if (m.fd >= 0)
		close(m.fd);
	if (r >= 0 && m.is_dir && how->keep > 0 && !ret->manifest.differences)
		r = backup_keep(how->to, how->keep, &ret->removed, err);
	return r;
}
