/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - the CSV files of a month: opened at their recorded length, appended to and synced, named when
 * they are complete. See archive_impl.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/err.h"
#include "controller/ledger/archive/archive_impl.h"

char *archive_path(const char *dir, enum archive_table t, int64_t month, int64_t part)
{
	char name[CALENDAR_DAY_MAX], *path;
	int r;

	calendar_format_month(month, name);
	if (part > 1)
		r = asprintf(&path, "%s/%s-%s.%" PRId64 ".csv", dir, archive_names[t], name,
			     part);
	else
		r = asprintf(&path, "%s/%s-%s.csv", dir, archive_names[t], name);
	return r < 0 ? NULL : path;
}

/* Paths stay in a->files also after an error: archive_files_close() frees them. */
static int set_paths(struct archive *a, struct err *err)
{
	for (enum archive_table t = 0; t < _ARCHIVE_MAX; t++) {
		struct archive_file *f = &a->files[t];

		f->path = archive_path(a->how->dir, t, a->m.month, a->m.part);
		if (!f->path || asprintf(&f->part, "%s.part", f->path) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* New names and new files are durable once their directory is. */
static int sync_dir(const char *path, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_set(err, -errno, "directory %.200s: %m", path);
	return 0;
}

/* 1: the file has its name already; 0: it does not. A file gets its name after all its lines were recorded, so one of another
 * length was not written for this ledger. */
static int find_named(const struct archive_file *f, struct err *err)
{
	struct stat st;

	if (access(f->part, F_OK) == 0)
		return 0;
	if (stat(f->path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%.200s: %m", f->path);
	if (f->bytes && st.st_size == f->bytes)
		return 1;
	return err_set(err, -EEXIST,
		       "%.200s exists and is not of this ledger (%jd bytes, %" PRId64
		       " recorded): archive to another directory",
		       f->path, (intmax_t)st.st_size, f->bytes);
}

/* What is behind the recorded length was written by a run that ended before it deleted these jobs. */
static int open_part(struct archive_file *f, struct err *err)
{
	struct stat st;

	f->fd = open(f->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return err_set(err, -errno, "open %.200s: %m", f->part);
	if (st.st_size < f->bytes)
		return err_set(err, -EBADMSG,
			       "%.200s has %jd bytes; %" PRId64
			       " of it are recorded, whose jobs are no longer in the ledger: "
			       "restore it",
			       f->part, (intmax_t)st.st_size, f->bytes);
	if (ftruncate(f->fd, f->bytes) < 0 || lseek(f->fd, 0, SEEK_END) < 0)
		return err_set(err, -errno, "cut %.200s: %m", f->part);
	return 0;
}

/* Each file by itself: a crash between two renames leaves some with their names and some without. */
int archive_files_open(struct archive *a, bool *ret_is_named, struct err *err)
{
	int r = set_paths(a, err), n_named = 0;

	if (r >= 0 && mkdir(a->how->dir, 0700) < 0 && errno != EEXIST)
		r = err_set(err, -errno, "make directory %.200s: %m", a->how->dir);
	for (enum archive_table t = 0; t < _ARCHIVE_MAX && r >= 0; t++) {
		r = find_named(&a->files[t], err);
		n_named += r > 0;
		if (r == 0)
			r = open_part(&a->files[t], err);
	}
	if (r < 0)
		return r;
	*ret_is_named = n_named > 0;
	return sync_dir(a->how->dir, err);
}

void archive_files_close(struct archive *a)
{
	for (enum archive_table t = 0; t < _ARCHIVE_MAX; t++) {
		if (a->files[t].fd >= 0)
			close(a->files[t].fd);
		free(a->files[t].path);
		free(a->files[t].part);
		free(a->files[t].lines);
	}
}

/* f->bytes grows before the commit: after a rollback the run ends, and the next one reads the recorded length. */
static int write_lines(struct archive_file *f, struct err *err)
{
	bool is_empty = f->n_lines == 0;

	for (size_t done = 0; done < f->n_lines;) {
		ssize_t n = write(f->fd, f->lines + done, f->n_lines - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "write %.200s: %m", f->part);
		done += (size_t)n;
	}
	f->bytes += (int64_t)f->n_lines;
	free(f->lines);
	f->lines = NULL;
	f->n_lines = 0;
	return !is_empty && fdatasync(f->fd) < 0
		       ? err_set(err, -errno, "sync %.200s: %m", f->part)
		       : 0;
}

int archive_files_append(struct archive *a, struct err *err)
{
	int r = 0;

	for (enum archive_table t = 0; t < _ARCHIVE_MAX && r >= 0; t++)
		r = write_lines(&a->files[t], err);
	return r;
}

/* A file that has no descriptor has its name already. */
int archive_files_name(struct archive *a, struct err *err)
{
	for (enum archive_table t = 0; t < _ARCHIVE_MAX; t++) {
		const struct archive_file *f = &a->files[t];

		if (f->fd >= 0 && rename(f->part, f->path) < 0)
			return err_set(err, -errno, "rename %.200s: %m", f->part);
	}
	return sync_dir(a->how->dir, err);
}

int archive_digest(const char *path, char ret[static ARCHIVE_DIGEST_MAX], int64_t *ret_bytes,
		   struct err *err)
{
	_cleanup_fclose_ FILE *from = fopen(path, "re");
	uint8_t buf[1 << 16], digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	size_t n;

	if (!from)
		return err_set(err, -errno, "open %.200s: %m", path);
	*ret_bytes = 0;
	sha256_init(&sha);
	while ((n = fread(buf, 1, sizeof(buf), from)) > 0) {
		sha256_update(&sha, n, buf);
		*ret_bytes += (int64_t)n;
	}
	if (ferror(from))
		return err_set(err, -EIO, "read %.200s: %m", path);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return 0;
}
