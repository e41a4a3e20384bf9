/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - read /proc, move a process; see process.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "agent/enforce/manager/manager.h"
#include "agent/pbs/process.h"
#include "common/cleanup.h"

#define CGROUP_MAX 4300

struct who {
	int32_t parent;
	uint32_t uid[4]; /* real, effective, saved, of file systems */
};

static int read_who(int32_t pid, struct who *ret, struct err *err)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[256];
	int have = 0;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		have += sscanf(line, "PPid: %" SCNd32, &ret->parent) == 1 ||
			sscanf(line, "Uid: %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
			       &ret->uid[0], &ret->uid[1], &ret->uid[2], &ret->uid[3]) == 4;
	return have == 2 ? 0 : err_set(err, -ESRCH, "process %" PRId32 " is gone", pid);
}

int process_find_task(int32_t hook, int32_t *ret, struct err *err)
{
	struct who its, task;
	int r = read_who(hook, &its, err);

	if (r >= 0)
		r = read_who(its.parent, &task, err);
	if (r < 0)
		return r;
	/* It executes the user's program after it has become the user: until then it is root's. */
	if (its.parent <= 1 || task.uid[0] != 0)
		return err_set(err, -EPERM,
			       "process %" PRId32 " asks for its parent %" PRId32
			       ", which is no task of PBS that is about to begin",
			       hook, its.parent);
	*ret = its.parent;
	return 0;
}

int process_check_owner(int32_t pid, uint32_t uid, struct err *err)
{
	struct who its;
	int r = read_who(pid, &its, err);

	for (int i = 0; r >= 0 && i < 4; i++)
		if (its.uid[i] != uid)
			r = err_set(err, -EPERM,
				    "process %" PRId32 " is of user %" PRIu32
				    ", and the job of user %" PRIu32,
				    pid, its.uid[i], uid);
	return r;
}

bool process_is_in(int32_t pid, const char *cgroup)
{
	char path[CGROUP_MAX];

	return manager_cgroup_of(pid, path, sizeof(path), NULL) >= 0 &&
	       manager_is_below(path, cgroup);
}

int process_check_cgroup(int32_t pid, const char *job, struct err *err)
{
	char its[CGROUP_MAX], parents[CGROUP_MAX];
	struct who who;
	int r = manager_cgroup_of(pid, its, sizeof(its), err);

	if (r < 0 || manager_is_below(its, job))
		return r < 0 ? r : 0;
	r = read_who(pid, &who, err);
	if (r >= 0)
		r = manager_cgroup_of(who.parent, parents, sizeof(parents), err);
	if (r < 0 || !strcmp(its, parents))
		return r < 0 ? r : 0;
	return err_set(
		err, -EBUSY,
		"process %" PRId32
		" is in %.300s, a cgroup that another program has made for it, and its limits there would be lost: "
		"Reeve cannot hold jobs of PBS that have a v2 cgroup (docs/pbs.md)",
		pid, its);
}

int process_move(int32_t pid, const char *cgroup, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char path[MANAGER_PATH_MAX + 32], text[16];
	int n = snprintf(text, sizeof(text), "%" PRId32, pid);

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		return err_set(err, -errno, "write %s to %s: %m", text, path);
	return 0;
}
