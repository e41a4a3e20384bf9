/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local.c - walks the quota records of a file system by Q_XGETNEXTQUOTA; see local.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/quota.h>
#include <stdio.h>
#include <string.h>
#include <sys/quota.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/quotactl/quotactl.h"
#include "storage/local.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif

/* Which of the kinds asked for the file system counts. */
static int choose_kind(int fd, const char *path, enum listing_kind *kind, struct err *err)
{
	struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };
	int r = quotactl_call(fd, QCMD(Q_XGETQSTATV, PRJQUOTA), 0, &state);
	bool has_projects = r >= 0 && (state.qs_flags & FS_QUOTA_PDQ_ACCT);
	bool has_groups = r >= 0 && (state.qs_flags & FS_QUOTA_GDQ_ACCT);

	if (*kind == _LISTING_KIND_MAX)
		*kind = has_projects ? LISTING_PROJECT : LISTING_GROUP;
	if (*kind == LISTING_PROJECT ? has_projects : has_groups)
		return 0;
	return err_set(
		err, -EOPNOTSUPP,
		"%.200s: its file system counts no %s; it must be an XFS or ext4 that is "
		"mounted with %s (ext4: made with mkfs.ext4 -O quota,project)",
		path, *kind == LISTING_PROJECT ? "projects" : "groups",
		*kind == LISTING_PROJECT ? "prjquota" : "grpquota");
}

static int64_t first_of(int64_t hard, int64_t soft)
{
	return hard ? hard : soft;
}

static void fill_row(const struct fs_disk_quota *q, struct listing_row *row)
{
	row->id = q->d_id;
	row->name[0] = '\0';
	row->bytes = (int64_t)q->d_bcount * QUOTACTL_BLOCK;
	row->files = (int64_t)q->d_icount;
	row->limit_bytes = first_of((int64_t)q->d_blk_hardlimit, (int64_t)q->d_blk_softlimit) *
			   QUOTACTL_BLOCK;
	row->limit_files = first_of((int64_t)q->d_ino_hardlimit, (int64_t)q->d_ino_softlimit);
}

static int refuse_record(const char *path, int64_t from, int r, struct err *err)
{
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r, "%.200s: only root reads quotas", path);
	errno = -r;
	return err_set(err, r, "%.200s: quotas from id %lld on: %m", path, (long long)from);
}

int local_read(const char *path, enum listing_kind kind, local_row_fn fn, void *ctx,
	       struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct listing_row row = { 0 };
	int64_t from = 1;
	int r;

	if (fd < 0)
		return err_set(err, -errno, "open %.200s: %m", path);
	if (strlen(path) >= sizeof(row.filesystem))
		return err_set(err, -ENAMETOOLONG, "a path of more than %d bytes",
			       LISTING_NAME_MAX - 1);
	r = choose_kind(fd, path, &kind, err);
	if (r < 0)
		return r;
	row.kind = kind;
	strcpy(row.filesystem, path);
	while (from <= UINT32_MAX && r >= 0) {
		struct fs_disk_quota q = { .d_version = FS_DQUOT_VERSION };
		int cmd = QCMD(Q_XGETNEXTQUOTA, kind == LISTING_PROJECT ? PRJQUOTA : GRPQUOTA);

		r = quotactl_call(fd, cmd, (uint32_t)from, &q);
		if (r == -ENOENT)
			return 0;
		if (r < 0)
			return refuse_record(path, from, r, err);
		fill_row(&q, &row);
		from = (int64_t)q.d_id + 1;
		r = fn(ctx, &row, err);
	}
	return r;
}
