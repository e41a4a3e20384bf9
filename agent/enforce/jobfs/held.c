/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held.c - project ids of removed directories. A process outside the job may still have a file
 * open: the id keeps a limit of one block and one file, and is free when nothing is charged to it
 * any more. See jobfs.h. */
#include <errno.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/quota.h"
#include "common/err.h"

#define KEPT_FILES 1

int jobfs_keep_limit(const struct jobfs *fs, uint32_t projid, struct err *err)
{
	return quota_limit(fs->fd, projid, fs->block_bytes, KEPT_FILES, err);
}

/* A job's own limit is never this: its directory alone takes more files. */
static bool is_kept(const struct jobfs *fs, const struct quota_use *use)
{
	return use->limit_bytes == fs->block_bytes && use->limit_files == KEPT_FILES;
}

bool jobfs_is_released(const struct jobfs *fs, const struct quota_use *use)
{
	return is_kept(fs, use) && !use->bytes && !use->files;
}

/* Clears the limits of released ids; *n_held: how many still have something charged. */
static int reclaim_all(struct jobfs *fs, size_t *n_held, struct err *err)
{
	uint32_t at = PROJID_BASE + 1;
	struct quota_use use;
	int r;

	while ((r = quota_next(fs->fd, at, &at, &use, err)) == 0) {
		if (at > PROJID_BASE + PROJID_COUNT)
			return 0;
		if (jobfs_is_released(fs, &use))
			r = quota_limit(fs->fd, at, 0, 0, err);
		else
			*n_held += is_kept(fs, &use);
		if (r < 0)
			return r;
		at++;
	}
	return r == -ENOENT ? 0 : r;
}

int jobfs_reclaim(struct jobfs *fs, size_t *ret_held, struct err *err)
{
	size_t n_held = 0;
	int r = fs->may_hold && !jobfs_is_unlimited(fs) ? reclaim_all(fs, &n_held, err) : 0;

	if (r < 0)
		return err_prefix(err, r, "%s: release project ids", fs->dir);
	fs->may_hold = n_held > 0;
	if (ret_held)
		*ret_held = n_held;
	return 0;
}
