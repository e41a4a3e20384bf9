/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.c - the processes of a step: all descendants of its waiter.
 *
 * As their subreaper the waiter inherits what daemonizes, so that no process
 * leaves the tree by setsid() or a double fork.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>
#include "agent/launch/step/step_impl.h"
#include "common/cleanup.h"

#define DEPTH_MAX 4096 /* of a chain of parents: a user could make it very long */

/* From /proc/PID/stat, field 4. 0: the process is gone. */
static int read_parent(int pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	char name[32], text[512], *after;
	int parent;
	size_t n;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	f = fopen(name, "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	after = strrchr(text, ')'); /* the command may hold anything */
	return after && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Does `pid` descend from `self`? A parent that exits on the way is replaced by `self`, the subreaper;
 * what a SIGKILL misses then, the next one finds (AGAIN_MS in step.c). */
static bool is_descendant(int pid, int self)
{
	for (int i = 0; i < DEPTH_MAX && pid > 1; i++) {
		pid = read_parent(pid);
		if (pid == self)
			return true;
	}
	return false;
}

int step_tree_signal(const char *cgroup, int sig)
{
	char path[STEP_PATH_MAX + 32];
	_cleanup_fclose_ FILE *f = NULL;
	int pid, n = 0, self = getpid();

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		/* The number cannot pass to another process while this is open. */
		_cleanup_close_ int fd = pidfd_open(pid, 0);

		if (fd >= 0 && is_descendant(pid, self) &&
		    pidfd_send_signal(fd, sig, NULL, 0) == 0)
			n++;
	}
	return n;
}
