/* SPDX-License-Identifier: GPL-2.0-or-later */
/* supervise.c - stands in for systemd on hosts without it: one process a job, above the job's
 * cgroup, that outlives the agent, makes the job's view of the file system, waits for the main
 * process, ends what it left behind and writes the final record.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "agent/launch/launch.h"
#include "agent/launch/supervise.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/process/clone_into.h"
#include "common/err.h"
#include "common/time_units.h"

#define RECORD_MS                                                                              \
	2000 /* for waiters of steps to write their records, once the steps are gone */

static int write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int is_populated(int events_fd)
{
	char text[256];
	ssize_t n = pread(events_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return strstr(text, "populated 1") != NULL;
}

static int bind_over(const char *from, const char *to, struct err *err)
{
	if (!from[0])
		return 0;
	if (mount(from, to, NULL, MS_BIND, NULL) < 0)
		return err_set(err, -errno, "mount %s over %s: %m", from, to);
	return 0;
}

static int hide_directory(const char *path, struct err *err)
{
	if (access(path, F_OK))
		return 0;
	if (mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=4k,mode=000"))
		return err_set(err, -errno, "hide %s: %m", path);
	return 0;
}

static int cgroup_read_only(struct err *err)
{
	const char *path = "/sys/fs/cgroup";
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					    MOUNT_ATTR_NODEV };

	/* With what is mounted below it: the hierarchies of a hybrid host. */
	if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    mount_setattr(AT_FDCWD, path, AT_RECURSIVE, &a, sizeof(a)) < 0)
		return err_set(err, -errno, "make %s read-only: %m", path);
	return 0;
}

/* Directories on the way to a mount point in an empty file system. */
static int make_way(const char *path)
{
	char way[SUPERVISE_PATH_MAX];

	snprintf(way, sizeof(way), "%s", path);
	for (char *at = way + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(way, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return mkdir(way, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* What the agent keeps is empty in the job's view, but for the job's own disk (`disk`, a mount
 * of it; -1: none) under its path. */
static int hide_agent(const struct supervise_spec *s, int disk, struct err *err)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	for (int i = 0; i < SUPERVISE_HIDDEN_MAX && s->hidden[i][0]; i++)
		if (access(s->hidden[i], F_OK) == 0 &&
		    mount("none", s->hidden[i], "tmpfs", flags, "size=64k,mode=755") < 0)
			return err_set(err, -errno, "hide %s: %m", s->hidden[i]);
	if (disk >= 0 && make_way(s->jobfs) < 0)
		return err_set(err, -errno, "make %s in the job's view: %m", s->jobfs);
	if (disk >= 0 && move_mount(disk, "", AT_FDCWD, s->jobfs, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_set(err, -errno, "show %s: %m", s->jobfs);
	for (int i = 0; i < SUPERVISE_HIDDEN_MAX && s->hidden[i][0]; i++)
		if (access(s->hidden[i], F_OK) == 0 &&
		    mount(NULL, s->hidden[i], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags,
			  NULL) < 0)
			return err_set(err, -errno, "make %s read-only: %m", s->hidden[i]);
	return 0;
}

/* POSIX shared memory, message queues and lock files of the job's own: they vanish with its mount namespace. */
static int own_memory(const struct supervise_spec *s, struct err *err)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV;
	char options[64];

	if (access("/dev/mqueue", F_OK) == 0 &&
	    mount("mqueue", "/dev/mqueue", "mqueue", flags | MS_NOEXEC, NULL) < 0)
		return err_set(err, -errno, "mount /dev/mqueue: %m");
	if (access(SUPERVISE_LOCKS, F_OK) == 0 &&
	    mount("tmpfs", SUPERVISE_LOCKS, "tmpfs", flags | MS_NOEXEC,
		  SUPERVISE_LOCKS_OPTIONS) < 0)
		return err_set(err, -errno, "mount " SUPERVISE_LOCKS ": %m");
	if (!s->shm_bytes)
		return 0;
	snprintf(options, sizeof(options), "mode=1777,size=%llu",
		 (unsigned long long)s->shm_bytes);
	if (mount("tmpfs", "/dev/shm", "tmpfs", flags, options) < 0)
		return err_set(err, -errno, "mount /dev/shm: %m");
	return 0;
}

static int make_view(const struct supervise_spec *s, struct err *err)
{
	_cleanup_close_ int disk = -1;
	int r;

	if (unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return err_set(err, -errno, "make a mount and an IPC namespace: %m");
	if (s->jobfs[0])
		disk = open_tree(AT_FDCWD, s->jobfs, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (s->jobfs[0] && disk < 0)
		return err_set(err, -errno, "open %s: %m", s->jobfs);
	r = bind_over(s->tmp, "/tmp", err);
	if (!r)
		r = bind_over(s->var_tmp, "/var/tmp", err);
	if (!r)
		r = hide_agent(s, disk, err);
	if (!r)
		r = cgroup_read_only(err);
	for (size_t i = 0; !r && i < ARRAY_LEN(supervise_hidden); i++)
		r = hide_directory(supervise_hidden[i], err);
	return r ? r : own_memory(s, err);
}

static int become_user(const struct supervise_spec *s, struct err *err)
{
	const struct launch_user user = { s->uid, s->gid, s->groups, (size_t)s->n_groups };

	/* The agent's protection is not the job's. */
	if (write_file("/proc/self", "oom_score_adj", "0") < 0)
		return err_set(err, -errno, "give up the agent's oom_score_adj: %m");
	return launch_become_user(&user, err);
}

struct child {
	const struct supervise_spec *spec;
	int report_fd; /* what failed before the launcher was executed goes there, as text */
};

static int execute_launcher(const struct supervise_spec *s, struct err *err)
{
	char path[PATH_MAX];
	ssize_t n;
	int r;

	execl("/proc/self/exe", "reeve-launch", s->socket, (char *)NULL);
	r = -errno;
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	errno = -r;
	return err_set(err, r, "execute the launcher %.160s as user %u: %m", path,
		       (unsigned)s->uid);
}

/* In the child, which began in the job's "work": its view of the file system first, then the user, then the launcher. */
static void run_child(void *ctx)
{
	const struct child *c = ctx;
	const struct supervise_spec *s = c->spec;
	sigset_t none;
	struct err err;
	int r;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	r = make_view(s, &err);
	if (!r)
		r = become_user(s, &err);
	if (!r)
		execute_launcher(s, &err);
	fprintf(stderr, "reeve-launch: job %lld: %s\n", (long long)s->job, err.text);
	if (write(c->report_fd, err.text, strlen(err.text)) < 0)
		fprintf(stderr, "reeve-launch: job %lld: report this: %m\n", (long long)s->job);
	_exit(LAUNCH_EXIT_FAILED);
}

/* Reaps all children, orphans of the job too (this process is their subreaper), until the main process
 * ends. Its wait status; -1: it cannot be waited for. */
static int wait_main(pid_t main_pid)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, 0);

		if (pid == main_pid)
			return status;
		if (pid < 0 && errno != EINTR)
			return -1;
	}
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Waits until the cgroup is empty or the time is over. 1: empty. */
static int wait_empty(int events_fd, int64_t timeout_ms)
{
	struct pollfd p = { .fd = events_fd, .events = POLLPRI };
	int64_t until_ms = monotonic_ms() + timeout_ms;

	for (;;) {
		reap_all();
		if (!is_populated(events_fd))
			return 1;
		if (monotonic_ms() >= until_ms)
			return 0;
		/* Zombies of ours keep it populated until reaped: look again soon. */
		poll(&p, 1, 100);
	}
}

/* The agent keeps the user's processes one level down. */
static void signal_cgroup(const char *cgroup, const char *below, int sig)
{
	char path[PATH_MAX];
	_cleanup_fclose_ FILE *f = NULL;
	int pid;

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", cgroup, below);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		kill(pid, sig);
}

/* SIGTERM, after the grace SIGKILL to the user's processes, then cgroup.kill for all that is left. */
static void end_rest(const struct supervise_spec *s)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/cgroup.events", s->cgroup);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	signal_cgroup(s->cgroup, "", SIGTERM);
	signal_cgroup(s->cgroup, "/work", SIGTERM);
	if (wait_empty(fd, s->grace_s * 1000))
		return;
	/* The waiters of steps are beside "work" in the cgroup: they live on to write how their steps ended. */
	signal_cgroup(s->cgroup, "/work", SIGKILL);
	if (wait_empty(fd, RECORD_MS))
		return;
	if (write_file(s->cgroup, "cgroup.kill", "1") < 0) {
		signal_cgroup(s->cgroup, "", SIGKILL);
		signal_cgroup(s->cgroup, "/work", SIGKILL);
	}
	wait_empty(fd, INT64_MAX);
}

static bool saw_oom(const char *cgroup)
{
	char path[PATH_MAX], word[64];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long n;

	snprintf(path, sizeof(path), "%s/memory.events", cgroup);
	f = fopen(path, "re");
	while (f && fscanf(f, "%63s %llu", word, &n) == 2)
		if (!strcmp(word, "oom_kill") && n)
			return true;
	return false;
}

/* In systemd's words, so that the agent reads one format. */
static int write_final(const struct supervise_spec *s, int status, const char *failure,
		       struct err *err)
{
	struct launch_final_place at = { s->final, s->cgroup, s->job, s->attempt };
	struct launch_final_cause c = { .result = "success", .failure = failure };
	const char *name = NULL;
	char number[16];

	if (status != -1 && WIFSIGNALED(status)) {
		c.code = WCOREDUMP(status) ? "dumped" : "killed";
		name = sigabbrev_np(WTERMSIG(status));
		snprintf(number, sizeof(number), "%d", WTERMSIG(status));
		c.status = name ? name : number;
		c.result = saw_oom(s->cgroup) ? "oom-kill" : "signal";
		return final_write(at, c, err);
	}
	c.code = status == -1 ? "unknown" : "exited";
	snprintf(number, sizeof(number), "%d", status == -1 ? -1 : WEXITSTATUS(status));
	c.status = number;
	if (status)
		c.result = "exit-code";
	return final_write(at, c, err);
}

/* The agent makes "work" beforehand, and has no process to move then; one that is older than this launcher does not, and moves the launcher
 * from the job's cgroup. */
static pid_t start_child(const struct supervise_spec *s, int report_fd)
{
	struct child child = { s, report_fd };
	char work[PATH_MAX];
	struct clone_into how = { work, run_child, &child };
	pid_t pid;

	snprintf(work, sizeof(work), "%s/work", s->cgroup);
	pid = clone_into_fork(&how);
	if (pid != -ENOENT)
		return pid;
	how.cgroup = s->cgroup;
	return clone_into_fork(&how);
}

static int run_supervisor(struct supervise_spec *s, struct err *err)
{
	_cleanup_close_ int from = -1, to = -1;
	char failure[sizeof(err->text)] = "";
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, -errno, "make a pipe: %m");
	from = fds[0];
	to = fds[1];
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid = start_child(s, to);
	if (pid < 0) {
		snprintf(failure, sizeof(failure), "start in %.400s: %s", s->cgroup,
			 strerror(-pid));
		fprintf(stderr, "reeve-launch: job %lld: %s\n", (long long)s->job, failure);
	}
	status = pid < 0 ? W_EXITCODE(LAUNCH_EXIT_FAILED, 0) : wait_main(pid);
	if (pid >= 0 && read(from, failure, sizeof(failure) - 1) < 0)
		failure[0] = '\0'; /* the launcher was executed, and took over */
	end_rest(s);
	return write_final(s, status, failure, err);
}

/* A restarted agent finds this supervisor by its lock on the spec, and that the job has begun by the
 * mode of the spec. The lock is held until this process ends. 1: the job is not this process's to run:
 * another supervisor holds the lock, or the agent has unlinked the spec, or the final record exists. */
static int claim_spec(const char *spec_path, const struct supervise_spec *s, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(spec_path, O_RDWR | O_CLOEXEC); /* until the end */
	char record[PATH_MAX];
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 1 : err_set(err, -errno, "open: %m");
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return errno == EAGAIN || errno == EACCES ? 1
							  : err_set(err, -errno, "lock: %m");
	snprintf(record, sizeof(record), "%s/%lld-%lld", s->final, (long long)s->job,
		 (long long)s->attempt);
	if (fstat(fd, &st) < 0 || !st.st_nlink || access(record, F_OK) == 0)
		return 1;
	return fchmod(fd, 0400) < 0 ? err_set(err, -errno, "mark as begun: %m") : 0;
}

int supervise_main(const char *spec_path)
{
	struct supervise_spec s;
	sigset_t all;
	struct err err;
	int r;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	r = supervise_spec_load(spec_path, &s, &err);
	if (!r)
		r = claim_spec(spec_path, &s, &err);
	if (!r)
		r = run_supervisor(&s, &err);
	if (r < 0)
		fprintf(stderr, "reeve-launch: %s: %s\n", spec_path, err.text);
	return r ? 1 : 0;
}
