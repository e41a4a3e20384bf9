/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replace_file.c - replaces a file by rename; see replace_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/replace_file.h"

static int write_all(int fd, const struct replace_file *f, struct err *err)
{
	size_t done = 0;

	while (done < f->size) {
		ssize_t n = write(fd, f->text + done, f->size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "write %.200s: %m", f->path);
		done += (size_t)n;
	}
	if (f->is_synced && fsync(fd) < 0)
		return err_set(err, -errno, "write %.200s: %m", f->path);
	return 0;
}

static mode_t find_mode(const struct replace_file *f)
{
	struct stat st;

	if (stat(f->path, &st) == 0)
		return st.st_mode & 0777;
	return f->is_private ? 0600 : 0644;
}

int replace_file(const struct replace_file *f, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char part[PATH_MAX];
	int r;

	/* Its name does not end as that of the file: readers of a folder take files by their ends. */
	if (snprintf(part, sizeof(part), "%s.XXXXXX", f->path) >= (int)sizeof(part))
		return err_set(err, -ENAMETOOLONG, "%.200s: the path is too long", f->path);
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "create %.200s: %m", part);
	r = write_all(fd, f, err);
	if (r >= 0 && fchmod(fd, find_mode(f)) < 0)
		r = err_set(err, -errno, "mode of %.200s: %m", part);
	if (r >= 0 && rename(part, f->path) < 0)
		r = err_set(err, -errno, "rename %.200s to %.200s: %m", part, f->path);
	if (r < 0)
		unlink(part);
	return r;
}
