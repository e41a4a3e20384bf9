/* SPDX-License-Identifier: GPL-2.0-or-later */
/* append.c - see append.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/launch/append.h"
#include "agent/launch/launch.h"
#include "common/process/bounded.h"
#include "common/cleanup.h"
#include "common/err.h"

static bool read_order(struct append_order *ret)
{
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(*ret)) {
		got = read(STDIN_FILENO, (char *)ret + n, sizeof(*ret) - n);
		if (got == 0 || (got < 0 && errno != EINTR))
			return false;
		n += got > 0 ? (size_t)got : 0;
	}
	return ret->version == APPEND_VERSION && ret->path[0] == '/' &&
	       memchr(ret->path, '\0', sizeof(ret->path)) &&
	       memchr(ret->text, '\0', sizeof(ret->text));
}

/* getpwuid() may wait for a directory service. A user without a passwd entry has no further groups. */
static bool become_user(const struct append_order *o)
{
	static gid_t groups[NGROUPS_MAX];
	struct launch_user u = { .uid = o->uid, .gid = o->gid, .groups = groups };
	struct passwd *pw = getpwuid(o->uid);
	int n = NGROUPS_MAX;
	struct err err;

	if (pw && getgrouplist(pw->pw_name, o->gid, groups, &n) < 0)
		return false;
	u.n_groups = pw ? (size_t)n : 0;
	/* The change of user sets what fs.suid_dumpable says. */
	return launch_become_user(&u, &err) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

/* The user may have put a link, a FIFO or a terminal at the path since the launcher opened the file: the flags refuse to follow,
 * to wait or to take a terminal, and device and inode must be the same as then. */
static bool append_text(const struct append_order *o)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = open(o->path,
		  O_WRONLY | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != o->dev || st.st_ino != o->ino)
		return false;
	return write(fd, "\nreeve: ", 8) == 8 && write(fd, o->text, strlen(o->text)) >= 0 &&
	       write(fd, "\n", 1) == 1;
}

int append_main(const char *limit_s)
{
	struct append_order o;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (bounded_begin(atoi(limit_s)) < 0 || !read_order(&o) || !become_user(&o))
		return 1;
	return !append_text(&o);
}
