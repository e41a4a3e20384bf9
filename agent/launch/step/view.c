/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - finds the mount and IPC namespaces of a job, those that its manager made, for steps and
 * sessions to enter. A process of the job may have made namespaces of its own: they are skipped. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/launch/step/step_impl.h"
#include "common/cleanup.h"
#include "common/err.h"

/* Did the manager make this namespace? A user can make namespaces, but only ones that a user namespace
 * of theirs owns: the manager's are owned by ours. */
static bool is_managers(int view)
{
	_cleanup_close_ int owner = ioctl(view, NS_GET_USERNS);
	struct stat its, ours;

	return owner >= 0 && fstat(owner, &its) == 0 &&
	       stat("/proc/self/ns/user", &ours) == 0 && its.st_dev == ours.st_dev &&
	       its.st_ino == ours.st_ino;
}

/* Is `pid` listed in the cgroup.procs file `procs`? The caller has a pidfd of it open, so that the
 * number cannot mean another process. */
static bool is_listed(const char *procs, int pid)
{
	_cleanup_fclose_ FILE *f = fopen(procs, "re");
	int one;

	while (f && fscanf(f, "%d", &one) == 1)
		if (one == pid)
			return true;
	return false;
}

/* A descriptor of the namespace of one process. -ESRCH: it is gone, or the namespace is its own. */
static int open_view_of(const char *procs, int pid, const char *kind)
{
	_cleanup_close_ int process = pidfd_open(pid, 0);
	_cleanup_close_ int view = -1;
	char name[32];

	if (process < 0 || !is_listed(procs, pid))
		return -ESRCH;
	snprintf(name, sizeof(name), "/proc/%d/ns/%s", pid, kind);
	view = open(name, O_RDONLY | O_CLOEXEC);
	if (view < 0 || !is_managers(view))
		return -ESRCH;
	/* The process lives still: so the name led to its namespace, and to no later process's. */
	return pidfd_send_signal(process, 0, NULL, 0) < 0 ? -ESRCH : TAKE_FD(view);
}

int step_view_open(const char *cgroup, const char *kind, struct err *err)
{
	char path[STEP_PATH_MAX + 32];
	_cleanup_fclose_ FILE *f = NULL;
	int pid, view;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	f = fopen(path, "re");
	if (!f)
		return err_set(err, -errno, "the job is not here any more");
	while (fscanf(f, "%d", &pid) == 1) {
		view = open_view_of(path, pid, kind);
		if (view >= 0)
			return view;
	}
	return err_set(err, -ESRCH,
		       "no process of the job is left in the %s that the job was started with",
		       strcmp(kind, "mnt") ? "IPC namespace" : "view of the file system");
}
