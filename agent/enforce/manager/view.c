/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - the namespaces that a manager has made for a job; see manager.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "agent/enforce/manager/manager.h"
#include "common/cleanup.h"
#include "common/views/views.h"

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A user can make namespaces too, but a user namespace of theirs owns these: ours owns a manager's. */
static bool is_managers(int view)
{
	_cleanup_close_ int owner = ioctl(view, NS_GET_USERNS);
	struct stat its, ours;

	return owner >= 0 && fstat(owner, &its) == 0 &&
	       stat("/proc/self/ns/user", &ours) == 0 && is_same(&its, &ours);
}

/* The agent's unit has a mount namespace of its own. */
static bool is_nodes(int view)
{
	static const char *const nodes[] = { "/proc/1/ns/mnt", "/proc/self/ns/mnt" };
	struct stat its, st;

	if (fstat(view, &its) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
		if (stat(nodes[i], &st) == 0 && is_same(&its, &st))
			return true;
	return false;
}

static int open_namespace(int32_t pid, const char *kind, struct err *err)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_set(err, -errno, "open %s: %m", path) : fd;
}

int manager_open_view(int32_t pid, struct views_view *ret, struct err *err)
{
	_cleanup_(views_close) struct views_view v = VIEWS_NONE;

	v.mnt = open_namespace(pid, "mnt", err);
	if (v.mnt < 0)
		return v.mnt;
	v.ipc = open_namespace(pid, "ipc", err);
	if (v.ipc < 0)
		return v.ipc;
	if (!is_managers(v.mnt) || !is_managers(v.ipc) || is_nodes(v.mnt))
		return err_set(err, -EPERM,
			       "the namespaces of process %d are not those of a job", pid);
	*ret = v;
	v = VIEWS_NONE;
	return 0;
}
