/* SPDX-License-Identifier: GPL-2.0-or-later */
/* private.c - creates and checks files and directories that only their daemon may read. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/private.h"

#define OTHERS 077
#define NOT_SECRET (S_IWGRP | S_IRWXO)

/* NAME, NAME-wal, NAME.bak ... but not NAMEx. */
static bool is_meant(const struct private_files *files, const char *name)
{
	size_t n;

	if (!files->name)
		return true;
	n = strlen(files->name);
	return !strncmp(name, files->name, n) &&
	       (name[n] == '\0' || name[n] == '-' || name[n] == '.');
}

/* 1: its mode was changed, which *err tells for the log; 0: nothing had to be; < 0: it cannot be.
 * Links are left alone: fchmodat() follows them, so the check is by fstatat() first, and only a
 * user with write permission to the directory could replace the file by a link between the two calls. */
static int mend_one(int dir_fd, const struct private_files *files, const char *name,
		    struct err *err)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : err_set(err, -errno, "%s/%s: %m", files->dir, name);
	if (!S_ISREG(st.st_mode) || !(st.st_mode & OTHERS))
		return 0;
	if (fchmodat(dir_fd, name, st.st_mode & 07700, 0) < 0)
		return err_set(err, -errno,
			       "%s/%s has mode %03o and cannot be closed to others: %m; "
			       "chmod go= it as its owner",
			       files->dir, name, st.st_mode & 0777);
	return err_set(err, 1, "%s/%s could be read by others (mode %03o); it is now %03o",
		       files->dir, name, st.st_mode & 0777, st.st_mode & 0700);
}

int private_mend(const struct private_files *files, struct err *err)
{
	_cleanup_closedir_ DIR *d = opendir(files->dir);
	const struct dirent *e;
	int n = 0, failed = 0;
	struct err words;

	if (!d)
		return err_set(err, -errno, "open %s: %m", files->dir);
	while ((errno = 0, e = readdir(d))) {
		int r;

		if (!is_meant(files, e->d_name))
			continue;
		r = mend_one(dirfd(d), files, e->d_name, &words);
		if ((r < 0 && !failed) || (r > 0 && !failed && !n))
			err_set(err, 0, "%s", words.text);
		failed = r < 0 && !failed ? r : failed;
		n += r > 0;
	}
	if (errno)
		return err_set(err, -errno, "read %s: %m", files->dir);
	return failed ? failed : n;
}

/* The real path: the database may be a link into another directory, whose files are then checked. */
int private_mend_database(const char *path, struct err *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	struct private_files files = { "", NULL };
	char *slash;

	if (!real)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %m", path);
	slash = strrchr(real, '/');
	*slash = '\0';
	files.name = slash + 1;
	files.dir = slash == real ? "/" : real;
	return private_mend(&files, err);
}

int private_check(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "%.200s: %m", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%.200s is not a regular file", path);
	if (st.st_mode & NOT_SECRET)
		return err_set(
			err, -EINVAL,
			"%.200s has mode %03o: others may use what is in it; chmod 640 it",
			path, st.st_mode & 0777);
	return 0;
}
