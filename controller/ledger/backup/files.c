/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - copies, syncs and removes the files of a backup; see backup_impl.h. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/err.h"
#include "controller/ledger/backup/backup_impl.h"

#define PIECE (1 << 20)

int backup_path(char ret[static STORE_BACKUP_PATH_MAX], const char *path, const char *end,
		struct err *err)
{
	int n = snprintf(ret, STORE_BACKUP_PATH_MAX, "%s%s", path, end);

	return n < STORE_BACKUP_PATH_MAX
		       ? 0
		       : err_set(err, -ENAMETOOLONG, "%.200s: the path is too long", path);
}

static int write_piece(int fd, const unsigned char *piece, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, piece + done, size - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* to < 0: reads only. */
static int copy_bytes(int from, int to, struct backup_digest *ret)
{
	_cleanup_free_ unsigned char *piece = malloc(PIECE);
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	ssize_t n;

	if (!piece)
		return -ENOMEM;
	sha256_init(&sha);
	ret->bytes = 0;
	while ((n = read(from, piece, PIECE)) != 0) {
		int r = n < 0 ? -errno : write_piece(to, piece, (size_t)n);

		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		sha256_update(&sha, (size_t)n, piece);
		ret->bytes += n;
	}
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret->sha256 + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

int backup_copy_file(int from, const char *to, struct backup_digest *ret, struct err *err)
{
	_cleanup_close_ int out =
		open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (out < 0)
		return err_set(err, -errno, "create %.200s: %m", to);
	r = copy_bytes(from, out, ret);
	if (r >= 0 && fsync(out) < 0)
		r = -errno;
	return r < 0 ? err_set(err, r, "copy to %.200s: %s", to, strerror(-r)) : 0;
}

int backup_sync_file(const char *path, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_set(err, -errno, "sync %.200s: %m", path);
	return 0;
}

int backup_sync_dir_of(const char *path, struct err *err)
{
	char copy[STORE_BACKUP_PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	return backup_sync_file(dirname(copy), err);
}

void backup_unlink(const char *path)
{
	static const char *const ends[] = { "-wal", "-shm", "-journal", "" };
	char name[STORE_BACKUP_PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (backup_path(name, path, ends[i], NULL) >= 0)
			unlink(name);
}

int backup_check_closed(const char *path, struct err *err)
{
	char log[STORE_BACKUP_PATH_MAX];
	struct stat st;
	int r = backup_path(log, path, "-wal", err);

	if (r < 0)
		return r;
	if (stat(log, &st) < 0 && errno == ENOENT)
		return 0;
	return err_set(err, -EEXIST, "%.200s is there: another program has the ledger open",
		       log);
}
