/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - project quota of ext4 and XFS: whether it is on, limits, use, the project of a
 * directory; see jobfs/quota.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/statfs.h>
#include "agent/enforce/jobfs/quota.h"
#include "common/err.h"
#include "common/quotactl/quotactl.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif
#define XFS_MAGIC 0x58465342

static int project_quotactl(int fd, int cmd, uint32_t projid, void *data)
{
	return quotactl_call(fd, QCMD(cmd, PRJQUOTA), projid, data);
}

/* The error text: what is missing, and which commands put it right. type NULL: the file system
 * cannot have project quota. */
static int explain_missing(int fd, const char *path, const char *type, struct err *err)
{
	char device[256] = "DEVICE";

	quotactl_device(fd, device, sizeof(device));
	if (!type)
		return err_set(err, -EOPNOTSUPP,
			       "%s: its file system has no project quota; mount an ext4 or XFS "
			       "there (mkfs.ext4 -O quota,project DEVICE; mount -o prjquota "
			       "DEVICE %s) or set an image for it",
			       path, path);
	if (strcmp(type, "xfs") == 0)
		return err_set(
			err, -EOPNOTSUPP,
			"%s: project quota is not enforced on this XFS; add pquota to its "
			"mount options in /etc/fstab, then umount and mount %s "
			"(a remount is not enough)",
			path, device);
	return err_set(err, -EOPNOTSUPP,
		       "%s: project quota is not enforced on this ext4; umount it, tune2fs -O "
		       "quota,project -Q prjquota %s, add prjquota to its mount options in "
		       "/etc/fstab and mount it",
		       path, device);
}

int quota_probe(int fd, const char *path, const char **ret_type, struct err *err)
{
	struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };
	struct statfs fs;
	const char *type;
	int r;

	if (fstatfs(fd, &fs) < 0)
		return err_set(err, -errno, "statfs %s: %m", path);
	type = fs.f_type == EXT4_SUPER_MAGIC ? "ext4" : fs.f_type == XFS_MAGIC ? "xfs" : NULL;
	if (!type)
		return explain_missing(fd, path, NULL, err);
	r = project_quotactl(fd, Q_XGETQSTATV, 0, &state);
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r, "%s: not allowed to use quotactl (CAP_SYS_ADMIN)", path);
	if (r < 0 || !(state.qs_flags & FS_QUOTA_PDQ_ENFD))
		return explain_missing(fd, path, type, err);
	*ret_type = type;
	return 0;
}

static struct quota_use quota_use_of(const struct fs_disk_quota *q)
{
	return (struct quota_use){
		.bytes = (int64_t)q->d_bcount * QUOTACTL_BLOCK,
		.files = (int64_t)q->d_icount,
		.limit_bytes = (int64_t)q->d_blk_hardlimit * QUOTACTL_BLOCK,
		.limit_files = (int64_t)q->d_ino_hardlimit,
	};
}

int quota_next(int fd, uint32_t from, uint32_t *ret_projid, struct quota_use *ret,
	       struct err *err)
{
	struct fs_disk_quota q = { .d_version = FS_DQUOT_VERSION };
	int r = project_quotactl(fd, Q_XGETNEXTQUOTA, from, &q);

	if (r == -ENOENT)
		return r;
	if (r < 0) {
		errno = -r;
		return err_set(err, r, "quota of the project after %u: %m", from);
	}
	*ret_projid = q.d_id;
	*ret = quota_use_of(&q);
	return 0;
}

int quota_get(int fd, uint32_t projid, struct quota_use *ret, struct err *err)
{
	struct fs_disk_quota q = { .d_version = FS_DQUOT_VERSION };
	int r = project_quotactl(fd, Q_XGETQUOTA, projid, &q);

	if (r == -ENOENT) {
		*ret = (struct quota_use){ 0 };
		return 0;
	}
	if (r < 0) {
		errno = -r;
		return err_set(err, r, "quota of project %u: %m", projid);
	}
	*ret = quota_use_of(&q);
	return 0;
}

int quota_limit(int fd, uint32_t projid, int64_t bytes, int64_t files, struct err *err)
{
	struct fs_disk_quota q = {
		.d_version = FS_DQUOT_VERSION,
		.d_id = projid,
		.d_flags = FS_PROJ_QUOTA,
		.d_fieldmask = FS_DQ_BHARD | FS_DQ_IHARD,
		.d_blk_hardlimit = (uint64_t)bytes / QUOTACTL_BLOCK,
		.d_ino_hardlimit = (uint64_t)files,
	};
	int r = project_quotactl(fd, Q_XSETQLIM, projid, &q);

	if (r < 0) {
		errno = -r;
		return err_set(err, r, "set the limit of project %u: %m", projid);
	}
	return 0;
}

static int change_project(int dir_fd, const uint32_t *projid, uint32_t inherit, struct err *err)
{
	struct fsxattr x;

	if (ioctl(dir_fd, FS_IOC_FSGETXATTR, &x) < 0)
		return err_set(err, -errno, "read the project of a directory: %m");
	if (projid)
		x.fsx_projid = *projid;
	x.fsx_xflags = (x.fsx_xflags & ~(uint32_t)FS_XFLAG_PROJINHERIT) | inherit;
	if (ioctl(dir_fd, FS_IOC_FSSETXATTR, &x) < 0)
		return err_set(err, -errno, "set the project of a directory: %m");
	return 0;
}

int quota_set_project(int dir_fd, uint32_t projid, struct err *err)
{
	return change_project(dir_fd, &projid, FS_XFLAG_PROJINHERIT, err);
}

int quota_stop_inherit(int dir_fd, struct err *err)
{
	return change_project(dir_fd, NULL, 0, err);
}

int quota_get_project(int dir_fd, uint32_t *ret, struct err *err)
{
	struct fsxattr x;

	if (ioctl(dir_fd, FS_IOC_FSGETXATTR, &x) < 0)
		return err_set(err, -errno, "read the project of a directory: %m");
	*ret = x.fsx_projid;
	return 0;
}
