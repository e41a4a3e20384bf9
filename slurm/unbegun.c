/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unbegun.c - makes and removes the files of jobs that no agent has taken; see unbegun.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/wire/slurm.h"
#include "slurm/unbegun.h"

#define PATH_SIZE 512

/* Only root can write beside the socket. */
static void name_directory(const char *socket_path, char buf[static PATH_SIZE])
{
	const char *slash = strrchr(socket_path, '/');
	int n = slash ? (int)(slash - socket_path) : 0;

	snprintf(buf, PATH_SIZE, "%.*s/" SLURM_UNBEGUN_DIR, n, socket_path);
}

static void name_mark(const char *socket_path, uint32_t job, char buf[static PATH_SIZE])
{
	char dir[PATH_SIZE];

	name_directory(socket_path, dir);
	snprintf(buf, PATH_SIZE, "%.*s/%u", PATH_SIZE - 16, dir, job);
}

int unbegun_mark(const char *socket_path, uint32_t job, char what, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_SIZE];

	name_directory(socket_path, path);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make %s: %m", path);
	name_mark(socket_path, job, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, &what, 1) != 1)
		return err_set(err, -errno, "write %s: %m", path);
	return 0;
}

void unbegun_clear(const char *socket_path, uint32_t job)
{
	char path[PATH_SIZE];

	name_mark(socket_path, job, path);
	unlink(path);
}
