/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wipe_job.c - removes a job's directory, and keeps the job's limit while it does; see jobfs_impl.h. Blocking. */
#include <errno.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/quota.h"
#include "agent/enforce/jobfs/wipe.h"
#include "common/err.h"

/* Moving directories up may need blocks of the job's own project when it is full. */
#define WIPE_BYTES ((int64_t)64 << 20)
#define WIPE_FILES 64

/* The project of the directory as it is now; 0: none, or no directory. No other source is used:
 * once a directory is gone its id may be another job's. */
static uint32_t find_project(struct jobfs *fs, const char *name)
{
	_cleanup_close_ int fd = jobfs_open_dir(fs, name);
	uint32_t projid;

	if (fd < 0 || quota_get_project(fd, &projid, NULL) < 0 || projid < PROJID_BASE)
		return 0;
	return projid;
}

/* XFS holds root to the limit too, and moving directories up may need blocks: a full directory
 * gets some while it is emptied, and loses them again. */
static int wipe_with_room(struct jobfs *fs, const char *name, uint32_t projid, struct err *err)
{
	struct quota_use use;
	int r = quota_get(fs->fd, projid, &use, err), restored;

	if (r >= 0 && use.limit_bytes)
		r = quota_limit(fs->fd, projid, use.bytes + WIPE_BYTES, use.files + WIPE_FILES,
				err);
	if (r < 0)
		return r;
	r = wipe_content(fs->fd, name, err);
	restored = quota_limit(fs->fd, projid, use.limit_bytes, use.limit_files,
			       r < 0 ? NULL : err);
	return r < 0 ? r : restored;
}

/* The job's limit holds while the directory is emptied, because a process may have a file of it
 * open; then the limit of a removed directory holds until nothing is charged. It is set while the
 * directory still exists: if the removal is interrupted, the directory shows what is left to do. */
int jobfs_wipe(struct jobfs *fs, const struct jobfs_job *job, struct err *err)
{
	char name[JOBFS_NAME_MAX];
	uint32_t projid;
	int r;

	jobfs_name(job->job, job->attempt, name);
	projid = find_project(fs, name);
	r = wipe_content(fs->fd, name, err);
	if (projid && (r == -EDQUOT || r == -ENOSPC))
		r = wipe_with_room(fs, name, projid, err);
	if (r >= 0 && projid)
		r = jobfs_keep_limit(fs, projid, err);
	if (r >= 0)
		r = wipe_dir(fs->fd, name, err);
	return r < 0 ? err_prefix(err, r, "remove %s/%s", fs->dir, name) : 0;
}
