/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dir.c - jobs' directories: their names and first project ids, whether they have limits, and how
 * they are opened: never through a symbolic link. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include "agent/enforce/jobfs/jobfs_impl.h"

int jobfs_open_how(int dir_fd, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = resolve };
	int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int jobfs_open_dir(const struct jobfs *fs, const char *name)
{
	return jobfs_open_how(fs->fd, name,
			      RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
}

void jobfs_name(int64_t job, int32_t attempt, char buf[static JOBFS_NAME_MAX])
{
	snprintf(buf, JOBFS_NAME_MAX, "%" PRId64 "-%" PRId32, job, attempt);
}

bool jobfs_is_name(const char *name, int64_t *ret_job, int32_t *ret_attempt)
{
	char back[JOBFS_NAME_MAX];
	int64_t job;
	int32_t attempt;

	if (sscanf(name, "%" SCNd64 "-%" SCNd32, &job, &attempt) != 2 || job <= 0 ||
	    attempt <= 0)
		return false;
	jobfs_name(job, attempt, back);
	if (strcmp(name, back) != 0)
		return false;
	*ret_job = job;
	*ret_attempt = attempt;
	return true;
}

/* Spreads neighbouring jobs over the range (a step of splitmix64): an id that deleted but open
 * files keep in use is not the first choice of the next job. */
uint32_t jobfs_first_projid(int64_t job, int32_t attempt)
{
	uint64_t x = (uint64_t)job * 0x9e3779b97f4a7c15u + (uint32_t)attempt;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return PROJID_BASE + 1 + (uint32_t)((x ^ x >> 31) % PROJID_COUNT);
}

bool jobfs_is_unlimited(const struct jobfs *fs)
{
	return !*fs->type;
}
