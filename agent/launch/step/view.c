/* step_view.c - the job's own view of the file system and of shared memory, as its manager made
 * it. */
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

/* A user can make namespaces, but only ones that a user namespace of theirs owns. */
static bool is_managers(int view)
{
	_cleanup_close_ int owner = ioctl(view, NS_GET_USERNS);
	struct stat its, ours;

	return owner >= 0 && fstat(owner, &its) == 0 &&
	       stat("/proc/self/ns/user", &ours) == 0 && its.st_dev == ours.st_dev &&
	       its.st_ino == ours.st_ino;
}

/* Is `pid` in it, now that a descriptor keeps the number from meaning another process? */
static bool is_in(const char *procs, int pid)
{
	_cleanup_fclose_ FILE *f = fopen(procs, "re");
	int one;

	while (f && fscanf(f, "%d", &one) == 1)
		if (one == pid)
			return true;
	return false;
}

static int view_of(const char *procs, int pid, const char *kind)
{
	_cleanup_close_ int process = pidfd_open(pid, 0);
	_cleanup_close_ int view = -1;
	char name[32];

	if (process < 0 || !is_in(procs, pid))
		return -ESRCH;
	snprintf(name, sizeof(name), "/proc/%d/ns/%s", pid, kind);
	view = open(name, O_RDONLY | O_CLOEXEC);
	if (view < 0 || !is_managers(view))
		return -ESRCH;
	/* Still the same process: so the namespace was its. */
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
		view = view_of(path, pid, kind);
		if (view >= 0)
			return view;
	}
	return err_set(err, -ESRCH,
		       "no process of the job is left in the %s that the job was started with",
		       strcmp(kind, "mnt") ? "IPC namespace" : "view of the file system");
}
