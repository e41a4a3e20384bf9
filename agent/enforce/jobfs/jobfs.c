/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobfs.c - opens the directory that holds the jobs' directories, lists them, computes the
 * capacity; see jobfs.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include "agent/enforce/jobfs/image.h"
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/quota.h"
#include "agent/enforce/jobfs/remover.h"
#include "common/err.h"

/* Opens DIR, makes it if only its last component is missing, and checks that only root can write
 * to it: a user who can rename in it could put another directory in place of a job's. */
static int open_top(const char *dir, struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mkdir(dir, 0711) < 0 && errno != EEXIST)
		return err_set(err, -errno, "create %s: %m", dir);
	fd = jobfs_open_how(AT_FDCWD, dir, RESOLVE_NO_SYMLINKS);
	if (fd == -ELOOP)
		return err_set(err, fd, "%s leads through a symbolic link: give the real path",
			       dir);
	if (fd < 0) {
		errno = -fd;
		return err_set(err, fd, "open %s: %m", dir);
	}
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "stat %s: %m", dir);
	if (st.st_uid != 0 || st.st_mode & 022)
		return err_set(err, -EACCES,
			       "%s must belong to root and be writable only by root "
			       "(chown root %s; chmod 711 %s)",
			       dir, dir, dir);
	return TAKE_FD(fd);
}

/* Opens DIR with project quota; where its file system has none, mounts the image on it. */
static int open_with_quota(const struct jobfs_config *c, struct jobfs *fs, struct err *err)
{
	bool use_image = c->image && *c->image;
	int r;

	fs->fd = open_top(c->dir, err);
	if (fs->fd < 0)
		return fs->fd;
	if (c->is_unlimited) {
		fs->type = "";
		return 0;
	}
	r = quota_probe(fs->fd, c->dir, &fs->type, err);
	if (r != -EOPNOTSUPP || !use_image)
		return r;
	close(TAKE_FD(fs->fd));
	r = image_mount(c->image, c->image_bytes, c->dir, err);
	if (r < 0)
		return r;
	fs->fd = open_top(c->dir, err);
	if (fs->fd < 0)
		return fs->fd;
	return quota_probe(fs->fd, c->dir, &fs->type, err);
}

/* Sets the description. DIR is taken to be the image if it is on a loop device. */
static int describe_quota(const struct jobfs_config *c, struct jobfs *fs, struct err *err)
{
	bool in_image = false;
	struct stat st;
	char path[80];
	int n;

	if (fstat(fs->fd, &st) < 0)
		return err_set(err, -errno, "stat %s: %m", c->dir);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/loop", major(st.st_dev),
		 minor(st.st_dev));
	in_image = c->image && *c->image && access(path, F_OK) == 0;
	if (jobfs_is_unlimited(fs))
		n = asprintf(&fs->description,
			     "no limit: jobs may fill %s, and what they use is not measured",
			     c->dir);
	else if (in_image)
		n = asprintf(&fs->description, "project quota on %s in the image %s", fs->type,
			     c->image);
	else
		n = asprintf(&fs->description, "project quota on %s", fs->type);
	if (n < 0)
		fs->description = NULL;
	fs->dir = strdup(c->dir);
	if (!fs->description || !fs->dir)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int jobfs_open(const struct jobfs_config *c, struct jobfs **ret, struct err *err)
{
	_cleanup_(jobfs_closep) struct jobfs *fs = calloc(1, sizeof(*fs));
	struct statfs st;
	int r;

	if (!fs)
		return err_set(err, -ENOMEM, "out of memory");
	fs->fd = -1;
	fs->remover.fd = -1;
	fs->reserve_bytes = c->reserve_bytes;
	r = open_with_quota(c, fs, err);
	if (r < 0)
		return r;
	r = describe_quota(c, fs, err);
	if (r < 0)
		return r;
	if (fstatfs(fs->fd, &st) < 0)
		return err_set(err, -errno, "statfs %s: %m", c->dir);
	fs->block_bytes = st.f_bsize;
	fs->may_hold = true; /* of an agent before this one */
	if (fchmod(fs->fd, 0711) < 0)
		return err_set(err, -errno, "chmod %s: %m", c->dir);
	remover_start(
		fs); /* now, while this process is small; without it, with the first removal */
	*ret = TAKE_PTR(fs);
	return 0;
}

struct jobfs *jobfs_close(struct jobfs *fs)
{
	if (!fs)
		return NULL;
	remover_stop(fs);
	jobfs_abandon_removals(fs);
	if (fs->fd >= 0)
		close(fs->fd);
	free(fs->dir);
	free(fs->description);
	free(fs);
	return NULL;
}

const char *jobfs_describe(const struct jobfs *fs)
{
	return fs->description;
}

uint64_t jobfs_device(const struct jobfs *fs)
{
	struct stat st;

	return fstat(fs->fd, &st) < 0 ? 0 : st.st_dev;
}

const char *jobfs_path(const struct jobfs *fs, const struct jobfs_job *job, char *buf,
		       size_t size)
{
	snprintf(buf, size, "%s/%" PRId64 "-%" PRId32, fs->dir, job->job, job->attempt);
	return buf;
}

/* Reads one directory's project and limits. One that jobfs_create() did not get far with has no
 * project: projid stays 0. */
static int inspect_directory(const struct jobfs *fs, const char *name, struct jobfs_job *job,
			     struct err *err)
{
	_cleanup_close_ int fd = jobfs_open_dir(fs, name);
	struct quota_use use;
	struct stat st;
	int r;

	if (fd < 0) {
		errno = -fd;
		return err_set(err, fd, "open %s/%s: %m", fs->dir, name);
	}
	if (jobfs_is_unlimited(fs)) {
		if (fstat(fd, &st) < 0)
			return err_set(err, -errno, "stat %s/%s: %m", fs->dir, name);
		if ((st.st_mode & 0777) == 0711) /* opened to the user, when all was there */
			job->projid = jobfs_first_projid(job->job, job->attempt);
		return 0;
	}
	r = quota_get_project(fd, &job->projid, err);
	if (r < 0 || job->projid < PROJID_BASE) {
		job->projid = 0;
		return r;
	}
	r = quota_get(fs->fd, job->projid, &use, err);
	if (r < 0)
		return r;
	job->limit_bytes = use.limit_bytes;
	job->limit_files = use.limit_files;
	return 0;
}

/* Grows by doubling, without a field for the size. */
static int add_job(struct jobfs_job **list, size_t *n, const struct jobfs_job *job)
{
	struct jobfs_job *more = *list;

	if ((*n & (*n - 1)) == 0) /* a power of two: full */
		more = reallocarray(more, *n ? *n * 2 : 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	more[(*n)++] = *job;
	*list = more;
	return 0;
}

/* Adds `name` if it is a job's; a directory removed meanwhile is passed over. */
static int list_one(const struct jobfs *fs, const char *name, struct jobfs_job **list,
		    size_t *n, struct err *err)
{
	struct jobfs_job job = { 0 };
	int r;

	jobfs_is_name(name, &job.job, &job.attempt);
	r = inspect_directory(fs, name, &job, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	return add_job(list, n, &job) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int jobfs_list(struct jobfs *fs, struct jobfs_job **ret, size_t *ret_n, int *ret_foreign,
	       struct err *err)
{
	_cleanup_free_ struct jobfs_job *list = NULL;
	_cleanup_close_ int fd = jobfs_open_how(fs->fd, ".", RESOLVE_BENEATH);
	_cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int foreign = 0, r;
	size_t n = 0;

	if (!d)
		return err_set(err, fd < 0 ? fd : -errno, "list %s: %m", fs->dir);
	TAKE_FD(fd);
	while ((errno = 0, e = readdir(d))) {
		int64_t job;
		int32_t attempt;

		if (e->d_name[0] == '.' || strcmp(e->d_name, "lost+found") == 0)
			continue;
		if (e->d_type != DT_DIR || !jobfs_is_name(e->d_name, &job, &attempt)) {
			foreign++;
			continue;
		}
		r = list_one(fs, e->d_name, &list, &n, err);
		if (r < 0)
			return r;
	}
	if (errno)
		return err_set(err, -errno, "list %s: %m", fs->dir);
	*ret = TAKE_PTR(list);
	*ret_n = n;
	if (ret_foreign)
		*ret_foreign = foreign;
	return 0;
}

/* What a file system needs besides the blocks that quota counts: XFS allocates inodes (512
 * bytes, one per 16 KiB at most) and its trees on demand, ext4 has them set aside. */
static int64_t overhead_bytes(const struct jobfs *fs, int64_t total)
{
	return total / (strcmp(fs->type, "xfs") == 0 ? 24 : 128);
}

/* Of the free blocks and what jobs have written, so that it stays the same while jobs fill their disks. */
int jobfs_capacity(struct jobfs *fs, int64_t *ret_bytes, struct err *err)
{
	_cleanup_free_ struct jobfs_job *jobs = NULL;
	struct quota_use use;
	struct statfs st;
	int64_t room;
	size_t n;
	int r;

	r = jobfs_list(fs, &jobs, &n, NULL, err);
	if (r < 0)
		return r;
	if (fstatfs(fs->fd, &st) < 0)
		return err_set(err, -errno, "statfs %s: %m", fs->dir);
	/* what jobs use now counts as room: it is within what they have reserved */
	room = (int64_t)st.f_bavail * st.f_bsize - fs->reserve_bytes -
	       overhead_bytes(fs, (int64_t)st.f_blocks * st.f_bsize);
	for (size_t i = 0; i < n; i++) {
		if (!jobs[i].projid || jobfs_is_unlimited(fs))
			continue;
		r = quota_get(fs->fd, jobs[i].projid, &use, err);
		if (r < 0)
			return r;
		room += use.bytes;
	}
	*ret_bytes = room > 0 ? room : 0;
	return 0;
}
