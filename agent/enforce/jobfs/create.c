/* SPDX-License-Identifier: GPL-2.0-or-later */
/* create.c - makes one job's directory with its quota, and reads its use; see jobfs.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/quota.h"
#include "common/err.h"

#define PROJID_TRIES 1000
#define FILES_MIN 1024
#define BYTES_PER_FILE 16384
/* While only root writes: room for our own directories and the script. */
#define SETUP_BYTES ((int64_t)4 << 20)
#define SETUP_FILES 64

static bool is_listed(const struct jobfs_job *jobs, size_t n, uint32_t projid)
{
	for (size_t i = 0; i < n; i++)
		if (jobs[i].projid == projid)
			return true;
	return false;
}

/* A project id that no directory has, to which nothing is charged, and whose limit is none or
 * that of a removed directory. */
static int find_projid(struct jobfs *fs, const struct jobfs_spec *spec, uint32_t *ret,
		       struct err *err)
{
	_cleanup_free_ struct jobfs_job *jobs = NULL;
	uint32_t at = jobfs_first_projid(spec->job, spec->attempt) - PROJID_BASE - 1;
	size_t n;
	int r;

	if (jobfs_is_unlimited(fs)) {
		*ret = PROJID_BASE + 1 + at;
		return 0;
	}
	r = jobfs_list(fs, &jobs, &n, NULL, err);
	if (r < 0)
		return r;
	for (int i = 0; i < PROJID_TRIES; i++, at = (at + 1) % PROJID_COUNT) {
		uint32_t projid = PROJID_BASE + 1 + at;
		struct quota_use use;

		if (is_listed(jobs, n, projid))
			continue;
		r = quota_get(fs->fd, projid, &use, err);
		if (r < 0)
			return r;
		if (use.bytes || use.files ||
		    ((use.limit_bytes || use.limit_files) && !jobfs_is_released(fs, &use)))
			continue;
		*ret = projid;
		return 0;
	}
	return err_set(err, -EAGAIN, "%s: no free project id found", fs->dir);
}

/* Changes owner and mode through a descriptor that was opened without following links. */
static int make_subdir(int dir_fd, const char *name, mode_t mode, const struct jobfs_spec *spec,
		       struct err *err)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(dir_fd, name, 0700) < 0)
		return err_set(err, -errno, "create %s: %m", name);
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", name);
	if (fchown(fd, spec->uid, spec->gid) < 0 || fchmod(fd, mode) < 0)
		return err_set(err, -errno, "give %s to uid %u: %m", name, spec->uid);
	return 0;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* Returns the open file, which is root's with mode 0: the caller sets owner and mode last. */
static int write_file(int dir_fd, const char *name, const char *data, size_t size,
		      struct err *err)
{
	_cleanup_close_ int fd = -1;
	int r;

	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, -errno, "create %s: %m", name);
	/* Its exact blocks at once: XFS would charge speculative ones to the job. */
	if (size && fallocate(fd, 0, 0, (off_t)size) < 0 && errno != EOPNOTSUPP)
		return err_set(err, -errno, "allocate %s: %m", name);
	r = write_all(fd, data, size);
	if (r < 0) {
		errno = -r;
		return err_set(err, r, "write %s: %m", name);
	}
	return TAKE_FD(fd);
}

static int write_script(int dir_fd, const struct jobfs_spec *spec, struct err *err)
{
	_cleanup_close_ int fd = -1;

	if (!spec->script)
		return 0;
	fd = write_file(dir_fd, "script", spec->script, spec->script_size, err);
	if (fd < 0)
		return fd;
	if (fchmod(fd, 0500) < 0 || fchown(fd, spec->uid, spec->gid) < 0)
		return err_set(err, -errno, "give script to uid %u: %m", spec->uid);
	return 0;
}

static int write_files(int dir_fd, const struct jobfs_spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec->n_files; i++) {
		const struct jobfs_file *f = &spec->files[i];
		_cleanup_close_ int fd =
			write_file(dir_fd, f->name, f->text, strlen(f->text), err);

		if (fd < 0)
			return fd;
		if (fchmod(fd, 0444) < 0)
			return err_set(err, -errno, "chmod %s: %m", f->name);
	}
	return 0;
}

static int make_content(int dir_fd, const struct jobfs_spec *spec, struct err *err)
{
	int r = make_subdir(dir_fd, "work", 0700, spec, err);

	if (r >= 0)
		r = make_subdir(dir_fd, "tmp", 01700, spec, err);
	if (r >= 0)
		r = make_subdir(dir_fd, "vartmp", 01700, spec, err);
	if (r >= 0)
		r = write_files(dir_fd, spec, err);
	return r < 0 ? r : write_script(dir_fd, spec, err);
}

static int64_t setup_bytes(const struct jobfs_spec *spec)
{
	int64_t sum = SETUP_BYTES;

	for (size_t i = 0; i < spec->n_files; i++)
		sum += (int64_t)strlen(spec->files[i].text);
	return sum;
}

static int open_to_user(int dir_fd, struct err *err)
{
	return fchmod(dir_fd, 0711) < 0 ? err_set(err, -errno, "chmod: %m") : 0;
}

/* Fills a directory that only root can enter; it is opened to the user last, when the exact limit
 * is in force. The project is set first: if the agent dies at any later point, the directory
 * itself shows which project is to be released. What root writes here is measured and added to
 * the limit. */
static int fill_directory(struct jobfs *fs, int dir_fd, const struct jobfs_spec *spec,
			  struct jobfs_job *job, struct err *err)
{
	struct quota_use base;
	int r;

	if (jobfs_is_unlimited(fs)) {
		r = make_content(dir_fd, spec, err);
		return r < 0 ? r : open_to_user(dir_fd, err);
	}
	r = quota_set_project(dir_fd, job->projid, err);
	if (r >= 0)
		r = quota_limit(fs->fd, job->projid, job->limit_bytes + setup_bytes(spec),
				job->limit_files + SETUP_FILES, err);
	if (r >= 0)
		r = make_content(dir_fd, spec, err);
	if (r >= 0)
		r = quota_get(fs->fd, job->projid, &base, err);
	if (r < 0)
		return r;
	if (!base.files)
		return err_set(err, -EIO,
			       "the kernel counts no files for project %u: is project quota "
			       "still on?",
			       job->projid);
	job->base_bytes = base.bytes;
	job->base_files = base.files;
	r = quota_limit(fs->fd, job->projid, job->limit_bytes + base.bytes,
			job->limit_files + base.files, err);
	return r < 0 ? r : open_to_user(dir_fd, err);
}

/* Checks the request and fills *ret: the limit rounded up to blocks, the default number of files, a free
 * project id. Nothing is changed on disk. */
static int plan_quota(struct jobfs *fs, const struct jobfs_spec *spec, struct jobfs_job *ret,
		      struct err *err)
{
	int64_t block = fs->block_bytes, files = spec->limit_files;

	if (spec->job <= 0 || spec->attempt <= 0 || spec->limit_bytes <= 0 || files < 0)
		return err_set(err, -EINVAL,
			       "a job directory needs a job, an attempt and a limit");
	if (spec->limit_bytes > INT64_MAX / 4)
		return err_set(err, -EINVAL, "a jobfs limit of %lld bytes is too large",
			       (long long)spec->limit_bytes);
	if (!files)
		files = spec->limit_bytes / BYTES_PER_FILE;
	if (!spec->limit_files && files < FILES_MIN)
		files = FILES_MIN;
	*ret = (struct jobfs_job){
		.job = spec->job,
		.attempt = spec->attempt,
		.limit_bytes = (spec->limit_bytes + block - 1) / block * block,
		.limit_files = files,
	};
	return find_projid(fs, spec, &ret->projid, err);
}

/* A failure removes what was made. A crash leaves a directory that only root can enter, which the next agent
 * finds in jobfs_list() and removes. -EEXIST: the attempt has one already. */
int jobfs_create(struct jobfs *fs, const struct jobfs_spec *spec, struct jobfs_job *ret,
		 struct err *err)
{
	struct jobfs_job job;
	char name[JOBFS_NAME_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	r = plan_quota(fs, spec, &job, err);
	if (r < 0)
		return r;
	jobfs_name(job.job, job.attempt, name);
	if (mkdirat(fs->fd, name, 0700) < 0)
		return err_set(err, -errno, "create %s/%s: %m", fs->dir, name);
	fd = jobfs_open_dir(fs, name);
	if (fd < 0) {
		errno = -fd;
		r = err_set(err, fd, "open: %m");
	} else {
		r = fill_directory(fs, fd, spec, &job, err);
	}
	if (r < 0) {
		jobfs_wipe(fs, &job, NULL);
		return err_prefix(err, r, "%s/%s", fs->dir, name);
	}
	*ret = job;
	return 0;
}

/* Without what root wrote at the start (base_bytes). "Full" is less than one block, or one file, below the
 * limit: a write that exceeds it fails before the sum reaches it. */
int jobfs_usage(struct jobfs *fs, const struct jobfs_job *job, struct jobfs_usage *ret,
		struct err *err)
{
	struct quota_use use;
	int r;

	if (jobfs_is_unlimited(fs))
		return err_set(err, -EOPNOTSUPP, "%s", fs->description);
	r = quota_get(fs->fd, job->projid, &use, err);
	if (r < 0)
		return r;
	if (!use.limit_bytes)
		return err_set(err, -ENOENT, "project %u has no limit: it is no job's",
			       job->projid);
	*ret = (struct jobfs_usage){
		.bytes = use.bytes > job->base_bytes ? use.bytes - job->base_bytes : 0,
		.files = use.files > job->base_files ? use.files - job->base_files : 0,
		.bytes_full = use.bytes + fs->block_bytes > use.limit_bytes,
		.files_full = use.limit_files && use.files + 1 > use.limit_files,
	};
	return 0;
}
