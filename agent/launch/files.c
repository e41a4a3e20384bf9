/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - a job's output files and working directory, with the user's own rights. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/launch/launch.h"
#include "common/err.h"

/* A FIFO without reader, a device or a symbolic link must neither hang nor mislead. */
static int open_output(const char *path, const char *option, struct plan_file *ret,
		       struct err *err)
{
	struct stat st;
	int fd, flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC |
			O_NONBLOCK;

	fd = open(path, flags, 0666);
	if (fd < 0)
		return err_set(err, -errno,
			       "cannot open output file %s: %s; name one that you may write, "
			       "in a directory that exists, with %s",
			       path, errno == ELOOP ? "it is a symbolic link" : strerror(errno),
			       option);
	if (fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))) {
		close(fd);
		return err_set(err, -EINVAL,
			       "output file %s is not a regular file; name one "
			       "with %s",
			       path, option);
	}
	fcntl(fd, F_SETFL, O_APPEND);
	*ret = (struct plan_file){ st.st_dev, st.st_ino };
	return fd;
}

/* Device and inode: the agent appends the end message to this file alone. */
static int identify_file(int fd, struct plan_file *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "the output file that came with the plan: %m");
	*ret = (struct plan_file){ st.st_dev, st.st_ino };
	return 0;
}

static int open_pair(const struct plan *p, struct launch_files *f, struct err *err)
{
	int r;

	if (p->stream) {
		r = identify_file(f->out, &f->opened.out, err);
		return r < 0 ? r : identify_file(f->err, &f->opened.err, err);
	}
	f->out = open_output(p->out, "-o", &f->opened.out, err);
	if (f->out < 0)
		return f->out;
	if (!p->err) {
		f->opened.err = f->opened.out;
		f->err = fcntl(f->out, F_DUPFD_CLOEXEC, 3);
		return f->err < 0 ? err_set(err, -errno, "duplicate output: %m") : 0;
	}
	f->err = open_output(p->err, "-e", &f->opened.err, err);
	return f->err < 0 ? f->err : 0;
}

/* Output to /dev/null, from /, so that no file system is kept busy. */
static int open_nothing(struct launch_files *f, struct err *err)
{
	if (chdir("/") < 0)
		return err_set(err, -errno, "enter /: %m");
	f->out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	f->err = f->out < 0 ? -1 : fcntl(f->out, F_DUPFD_CLOEXEC, 3);
	return f->err < 0 ? err_set(err, -errno, "open /dev/null: %m") : 0;
}

int launch_files_open(const struct plan *p, struct launch_files *ret, struct err *err)
{
	int r;

	if (p->hold)
		return open_nothing(ret, err);
	if (chdir(p->workdir) < 0)
		return err_set(err, -errno,
			       "cannot enter working directory %s: %m; name one that exists "
			       "on this node with -d",
			       p->workdir);
	r = open_pair(p, ret, err);
	if (r < 0)
		launch_files_close(ret);
	return r;
}

/* The descriptors become 0, 1 and 2 without close-on-exec. */
int launch_files_use(struct launch_files *f, struct err *err)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 || dup2(f->out, 1) < 0 || dup2(f->err, 2) < 0)
		return err_set(err, -errno, "cannot put output files in place: %m");
	if (null > 2)
		close(null);
	launch_files_close(f);
	return 0;
}

void launch_files_close(struct launch_files *f)
{
	if (f->out > 2)
		close(f->out);
	if (f->err > 2)
		close(f->err);
	f->out = f->err = -1;
}
