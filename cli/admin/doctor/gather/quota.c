/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - see quota.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/quota.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/quota.h"
#include "common/cleanup.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif
#define XFS_MAGIC 0x58465342
#define BASIC_BLOCK 512 /* the unit of struct fs_disk_quota */
#define LIMIT_BYTES (1 << 20)
#define WRITE_BYTES (2 << 20)
/* The agent's projects begin behind 1 << 24 (agent/enforce/jobfs): it never uses this one. */
#define PROJECT 0xffffffu
#define UNPRIVILEGED 65534

static void find_disk(const char *dir, struct judge_quota *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[96], line[256];
	struct statfs fs;
	struct stat st;

	if (statfs(dir, &fs) < 0 || stat(dir, &st) < 0)
		return;
	snprintf(ret->type, sizeof(ret->type), "%s",
		 fs.f_type == EXT4_SUPER_MAGIC ? "ext4"
		 : fs.f_type == XFS_MAGIC      ? "xfs"
					       : "neither ext4 nor XFS");
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major(st.st_dev),
		 minor(st.st_dev));
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "DEVNAME=", 8)) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(ret->device, sizeof(ret->device), "/dev/%s", line + 8);
		}
}

/* bytes 0: no limit. */
static int set_limit(int fd, int64_t bytes)
{
	struct fs_disk_quota q = { .d_version = FS_DQUOT_VERSION,
				   .d_id = PROJECT,
				   .d_flags = FS_PROJ_QUOTA,
				   .d_fieldmask = FS_DQ_BHARD,
				   .d_blk_hardlimit = (uint64_t)bytes / BASIC_BLOCK };

	return syscall(SYS_quotactl_fd, fd, QCMD(Q_XSETQLIM, PRJQUOTA), PROJECT, &q) == 0
		       ? 0
		       : -errno;
}

static int set_project(int dir)
{
	struct fsxattr x;

	if (ioctl(dir, FS_IOC_FSGETXATTR, &x) < 0)
		return -errno;
	x.fsx_projid = PROJECT;
	x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(dir, FS_IOC_FSSETXATTR, &x) < 0 ? -errno : 0;
}

/* How the writing ended. */
enum outcome { STOPPED, NOT_STOPPED, NO_SPACE, NOT_WRITTEN };

static enum outcome explain_errno(int error)
{
	return error == EDQUOT ? STOPPED : error == ENOSPC ? NO_SPACE : NOT_WRITTEN;
}

static enum outcome write_blocks(int fd)
{
	static char block[4096];
	int64_t n = 0;

	memset(block, 'x', sizeof(block)); /* no holes */
	while (n < WRITE_BYTES) {
		ssize_t w = write(fd, block, sizeof(block));

		if (w < 0)
			return explain_errno(errno);
		n += w;
	}
	return fsync(fd) < 0 ? explain_errno(errno) : NOT_STOPPED;
}

/* Root would exceed every limit. No process of another user: by its real and saved uid this one stays root's, which no user may
 * stop or look into. */
static enum outcome write_over(int fd)
{
	enum outcome how;

	if (seteuid(UNPRIVILEGED) < 0)
		return NOT_WRITTEN;
	how = write_blocks(fd);
	if (seteuid(0) < 0)
		abort(); /* no other finding would be right */
	return how;
}

/* XFS answers ENOSPC at the limit of a project, as on a full disk. Above the project's directory the figures are those of the disk. */
static bool has_room(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) == 0 &&
	       (int64_t)fs.f_bavail * (int64_t)fs.f_frsize > WRITE_BYTES;
}

static void judge_outcome(enum outcome how, struct judge_quota *ret)
{
	ret->was_stopped = how == STOPPED || (how == NO_SPACE && has_room(ret->dir));
	if (how == NO_SPACE && !ret->was_stopped)
		snprintf(ret->why, sizeof(ret->why), "the disk of %s is full", ret->dir);
	else if (how == NOT_WRITTEN)
		snprintf(ret->why, sizeof(ret->why), "a file in %s could not be written",
			 ret->dir);
}

static void write_file(int dir, struct judge_quota *ret)
{
	_cleanup_close_ int fd =
		openat(dir, "file", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st = { 0 };

	if (fd < 0) {
		snprintf(ret->why, sizeof(ret->why), "make a file in %s: %s", ret->dir,
			 strerror(errno));
		return;
	}
	judge_outcome(write_over(fd), ret);
	fstat(fd, &st);
	ret->written_bytes = st.st_size;
}

/* `dir` is the test's own. */
static void try_limit(int dir, struct judge_quota *ret)
{
	int r = set_project(dir);

	if (r >= 0)
		r = set_limit(dir, LIMIT_BYTES);
	ret->limit_bytes = LIMIT_BYTES;
	ret->was_set = r >= 0;
	if (r < 0) {
		snprintf(ret->words, sizeof(ret->words), "%s", strerror(-r));
		return;
	}
	write_file(dir, ret);
	unlinkat(dir, "file", 0);
	set_limit(dir, 0);
}

void gather_quota(struct judge_quota *ret)
{
	char path[JUDGE_PATH_MAX];
	_cleanup_close_ int dir = -1;

	if (ret->is_none)
		return;
	find_disk(ret->dir, ret);
	if (geteuid() != 0) {
		snprintf(ret->why, sizeof(ret->why), "this needs root");
		return;
	}
	snprintf(path, sizeof(path), "%.400s/.reeve-doctor-XXXXXX", ret->dir);
	if (!mkdtemp(path)) {
		snprintf(ret->why, sizeof(ret->why), "make a directory in %s: %s", ret->dir,
			 strerror(errno));
		return;
	}
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		snprintf(ret->why, sizeof(ret->why), "open %.300s: %s", path, strerror(errno));
	else
		try_limit(dir, ret);
	rmdir(path);
}
