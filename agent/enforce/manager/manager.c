/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manager.c - names and cgroup paths of units, for both managers; see manager.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/enforce/manager/manager.h"
#include "common/cleanup.h"

/* "unified": a host that mounts cgroup v1 too. */
const char *manager_mount(void)
{
	return access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/unified"
							   : "/sys/fs/cgroup";
}

const char *manager_name(struct manager_id id, char buf[static MANAGER_NAME_MAX])
{
	snprintf(buf, MANAGER_NAME_MAX, "reeve-job-%" PRId64 "-%" PRId32 ".service", id.job,
		 id.attempt);
	return buf;
}

int manager_parse_name(const char *name, struct manager_id *ret)
{
	char back[MANAGER_NAME_MAX];
	struct manager_id id;

	/* Formatting the id again must give the same name: no zeros in front, no signs, no overflow. */
	if (sscanf(name, "reeve-job-%" SCNd64 "-%" SCNd32 ".service", &id.job, &id.attempt) !=
		    2 ||
	    id.job <= 0 || id.attempt <= 0 || strcmp(manager_name(id, back), name))
		return -EINVAL;
	*ret = id;
	return 0;
}

bool manager_is_slurm(const char *parent)
{
	static const char scope[] = "slurmstepd.scope";
	size_t n = strlen(parent);

	return n >= strlen(scope) && !strcmp(parent + n - strlen(scope), scope);
}

bool manager_is_pbs(const char *parent)
{
	static const char slice[] = "-pbs.slice";
	size_t n = strlen(parent);

	return n >= strlen(slice) && !strcmp(parent + n - strlen(slice), slice);
}

const char *manager_scope_name(struct manager_id id, char buf[static MANAGER_NAME_MAX])
{
	snprintf(buf, MANAGER_NAME_MAX, "reeve-job-%" PRId64 "-%" PRId32 ".scope", id.job,
		 id.attempt);
	return buf;
}

static int parse_scope_name(const char *name, struct manager_id *ret)
{
	char back[MANAGER_NAME_MAX];
	struct manager_id id;

	if (sscanf(name, "reeve-job-%" SCNd64 "-%" SCNd32 ".scope", &id.job, &id.attempt) !=
		    2 ||
	    id.job <= 0 || id.attempt <= 0 || strcmp(manager_scope_name(id, back), name))
		return -EINVAL;
	*ret = id;
	return 0;
}

/* slurmd's "job_12" has no attempt: one at a time runs on a node. 0: whichever that is. */
static int parse_slurm_name(const char *name, struct manager_id *ret)
{
	char back[MANAGER_NAME_MAX];
	int64_t job;

	if (sscanf(name, "job_%" SCNd64, &job) != 1 || job <= 0 ||
	    snprintf(back, sizeof(back), "job_%" PRId64, job) < 0 || strcmp(back, name))
		return -EINVAL;
	*ret = (struct manager_id){ .job = job };
	return 0;
}

static int parse_below(const char *parent, const char *name, struct manager_id *ret)
{
	if (manager_is_pbs(parent))
		return parse_scope_name(name, ret);
	return manager_is_slurm(parent) ? parse_slurm_name(name, ret)
					: manager_parse_name(name, ret);
}

const char *manager_path(const char *parent, struct manager_id id,
			 char buf[static MANAGER_PATH_MAX])
{
	char name[MANAGER_NAME_MAX];

	if (manager_is_slurm(parent))
		snprintf(buf, MANAGER_PATH_MAX, "%s/job_%" PRId64, parent, id.job);
	else if (manager_is_pbs(parent))
		snprintf(buf, MANAGER_PATH_MAX, "%s/%s", parent, manager_scope_name(id, name));
	else
		snprintf(buf, MANAGER_PATH_MAX, "%s/%s", parent, manager_name(id, name));
	return buf;
}

int manager_cgroup_of(int32_t pid, char *buf, size_t size, struct err *err)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[4200];

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/cgroup", pid);
	f = fopen(path, "re");
	if (!f)
		return err_set(err, -ESRCH, "process %" PRId32 " is gone", pid);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::/", 4)) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(buf, size, "%s%s", manager_mount(), line + 3);
			return 0;
		}
	return err_set(err, -ESRCH, "process %" PRId32 " is in no v2 cgroup", pid);
}

int manager_find(const char *parent, int32_t pid, struct manager_id *ret, struct err *err)
{
	char path[4300], *below;
	size_t n = strlen(parent);
	int r;

	r = manager_cgroup_of(pid, path, sizeof(path), err);
	if (r < 0)
		return r;
	if (strncmp(path, parent, n) || path[n] != '/')
		return err_set(err, -ENOENT, "process %" PRId32 " in %s is no job's", pid,
			       path);
	below = path + n + 1;
	below[strcspn(below, "/")] = '\0';
	if (parse_below(parent, below, ret) < 0)
		return err_set(err, -ENOENT, "process %" PRId32 " in %s is no job's", pid,
			       path);
	return 0;
}

int manager_list(const char *parent, manager_each_fn each, void *ctx, struct err *err)
{
	_cleanup_closedir_ DIR *d = opendir(parent);
	struct manager_id id;
	struct dirent *e;

	if (!d)
		return errno == ENOENT ? 0 : err_set(err, -errno, "open %s: %m", parent);
	while ((e = readdir(d)))
		if (parse_below(parent, e->d_name, &id) == 0)
			each(ctx, id);
	return 0;
}

int manager_read(const char *path, const char *file, char *buf, size_t size, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char full[MANAGER_PATH_MAX + 64];
	ssize_t n;

	snprintf(full, sizeof(full), "%s/%s", path, file);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, size - 1);
	if (n < 0)
		return err_set(err, -errno, "read %s: %m", full);
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

int64_t manager_shared_memory(const char *path)
{
	char full[MANAGER_PATH_MAX + 64], line[128];
	_cleanup_fclose_ FILE *f = NULL;
	int64_t bytes = 0;

	snprintf(full, sizeof(full), "%s/memory.stat", path);
	f = fopen(full, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "shmem %" SCNd64, &bytes) == 1)
			break;
	return bytes;
}

int manager_kill_as_one(const char *path, struct err *err)
{
	char file[MANAGER_PATH_MAX + 32];
	_cleanup_close_ int fd = -1;

	snprintf(file, sizeof(file), "%s/memory.oom.group", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || write(fd, "1", 1) < 0)
		return err_set(err, -errno, "write 1 to %s: %m", file);
	return 0;
}

/* The pidfd is opened first: if the id then still belongs to the job, so does the process behind
 * the descriptor, and it alone gets the signal. */
static void signal_one(const char *parent, struct manager_id id, int32_t pid, int sig)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct manager_id its;

	if (fd >= 0 && manager_find(parent, pid, &its, NULL) == 0 && its.job == id.job &&
	    its.attempt == id.attempt)
		syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}

void manager_signal(const char *parent, struct manager_id id, int sig)
{
	static const char *const dirs[] = { "", "/work" };
	char path[MANAGER_PATH_MAX], procs[MANAGER_PATH_MAX + 32];
	int32_t pid;

	manager_path(parent, id, path);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		_cleanup_fclose_ FILE *f = NULL;

		snprintf(procs, sizeof(procs), "%s%s/cgroup.procs", path, dirs[i]);
		f = fopen(procs, "re");
		while (f && fscanf(f, "%" SCNd32, &pid) == 1)
			signal_one(parent, id, pid, sig);
	}
}

static bool is_in_cgroup(const char *path, int32_t pid)
{
	char its[4300];

	return manager_cgroup_of(pid, its, sizeof(its), NULL) == 0 && !strcmp(its, path);
}

/* cgroup.kill, then a signal to each process that is left: cgroup.kill does not reach a process whose main thread
 * has exited (seen on 6.1 and 6.18). */
int manager_kill_all(const char *path, int kill_fd)
{
	char procs[MANAGER_PATH_MAX + 32];
	int r = write(kill_fd, "1", 1) < 0 && errno != ENODEV ? -errno : 0;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	/* Again until the list is empty: a process may fork between two reads of it. */
	for (int round = 0; round < 8; round++) {
		_cleanup_fclose_ FILE *f = fopen(procs, "re");
		int32_t pid;
		int left = 0;

		while (f && fscanf(f, "%" SCNd32, &pid) == 1) {
			_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);

			left++;
			if (fd >= 0 && is_in_cgroup(path, pid))
				syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		}
		if (!left)
			break;
	}
	return r;
}

int manager_is_populated(const char *path)
{
	char text[64];

	return manager_read(path, "cgroup.events", text, sizeof(text), NULL) == 0 &&
	       !strcmp(text, "populated 1");
}

/* State of a thread, proc(5) "stat"; 0: it is gone. */
static char read_state(int32_t tid)
{
	char dir[48], text[512];
	const char *end;

	/* The file of the thread: that of the process sums up all its threads. */
	snprintf(dir, sizeof(dir), "/proc/%" PRId32 "/task/%" PRId32, tid, tid);
	if (manager_read(dir, "stat", text, sizeof(text), NULL) < 0)
		return 0;
	end = strrchr(text, ')'); /* the command may contain anything */
	return end && end[1] ? end[2] : 0;
}

/* All threads, since SIGSTOP stops each of them. A parent in vfork() stays in state D while its child is stopped. */
int manager_is_stopped(const char *path)
{
	char threads[MANAGER_PATH_MAX + 32];
	_cleanup_fclose_ FILE *f = NULL;
	int stopped = 0, waiting = 0;
	int32_t tid;

	snprintf(threads, sizeof(threads), "%s/cgroup.threads", path);
	f = fopen(threads, "re");
	while (f && fscanf(f, "%" SCNd32, &tid) == 1) {
		char state = read_state(tid);

		if (state && !strchr("TtDZX", state))
			return 0;
		stopped += state == 'T' || state == 't';
		waiting += state == 'D';
	}
	return stopped > 0 || !waiting;
}

bool manager_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	return !strncmp(path, dir, n) && (path[n] == '/' || path[n] == '\0');
}

bool manager_is_hidden(const struct manager_config *c, const struct manager_spec *s)
{
	for (int i = 0; s->jobfs_dir && i < MANAGER_HIDDEN_MAX && c->hidden[i]; i++)
		if (manager_is_below(s->jobfs_dir, c->hidden[i]))
			return true;
	return false;
}
