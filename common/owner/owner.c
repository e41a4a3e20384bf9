/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owner.c - see owner.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/owner/owner.h"

static int open_without_links(const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int owner_open(const char *path)
{
	int fd;

	if (geteuid() == 0)
		return open_without_links(path, O_RDONLY);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* 1: the directory `path` belongs to another uid than root. 0: it does not, or is no directory. */
static int check_directory(const char *path, struct stat *ret, struct err *err)
{
	_cleanup_close_ int fd = open_without_links(path, O_PATH);

	if (fd == -ELOOP)
		return err_set(
			err, fd,
			"%.300s is a symbolic link, and root follows none on the way to a "
			"ledger: give the path that it stands for",
			path);
	if (fd < 0 || fstat(fd, ret) < 0)
		return err_set(err, fd < 0 ? fd : -errno, "open %.300s: %s", path,
			       strerror(fd < 0 ? -fd : errno));
	return S_ISDIR(ret->st_mode) && ret->st_uid != 0;
}

/* From the root downwards: only root can change what is below the directories that were checked. */
static int find_directory(char *path, struct stat *ret, struct err *err)
{
	for (char *end = path; end; end = strchr(end + 1, '/')) {
		char *next = strchr(end + 1, '/');
		int r;

		if (next)
			*next = '\0';
		r = check_directory(path, ret, err);
		if (next)
			*next = '/';
		if (r != 0)
			return r;
	}
	return 0;
}

/* Groups first: after setresuid() the process may not change them. */
static int become_user(const struct stat *dir, struct err *err)
{
	const struct passwd *pw = getpwuid(dir->st_uid);
	gid_t gid = pw ? pw->pw_gid : dir->st_gid;

	if (pw)
		setenv("HOME", pw->pw_dir, 1);
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(dir->st_uid, dir->st_uid, dir->st_uid) < 0)
		return err_set(err, -errno, "become uid %u: %m", (unsigned)dir->st_uid);
	return 0;
}

int owner_become(const char *path, struct err *err)
{
	char here[PATH_MAX] = "", whole[2 * PATH_MAX];
	struct stat dir;
	int r;

	if (geteuid() != 0)
		return 0;
	if (*path != '/' && !getcwd(here, sizeof(here)))
		return err_set(err, -errno, "the working directory: %m");
	if (snprintf(whole, sizeof(whole), "%s/%s", here, path) >= (int)sizeof(whole))
		return err_set(err, -ENAMETOOLONG, "%.300s: the path is too long", path);
	r = find_directory(whole, &dir, err);
	if (r == -ENOENT)
		return 0;
	return r > 0 ? become_user(&dir, err) : r;
}
