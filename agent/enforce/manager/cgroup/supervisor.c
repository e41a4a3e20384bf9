/* SPDX-License-Identifier: GPL-2.0-or-later */
/* supervisor.c - starts a job's supervisor and finds it again by its lock; see
 * manager/cgroup/supervisor.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <linux/ioprio.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/enforce/manager/cgroup/supervisor.h"
#include "agent/enforce/manager/cgroup/tree.h"
#include "agent/launch/supervise.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/process/clone_into.h"
#include "common/time_units.h"

/* A user without a passwd entry has no further groups. More groups than fit are an error: left
 * out, they could change what the job may read. */
static int find_groups(struct supervisor_groups *g, const struct manager_spec *s,
		       struct err *err)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct passwd *pw;
	int n;

	if (g->at_ns && g->uid == s->uid && g->gid == s->gid &&
	    now_ns - g->at_ns < SUPERVISOR_GROUPS_S * S_NS)
		return 0;
	g->at_ns = 0;
	pw = getpwuid(s->uid);
	n = pw ? SUPERVISE_GROUPS_MAX : 1;
	g->groups[0] = s->gid;
	if (pw && getgrouplist(pw->pw_name, s->gid, g->groups, &n) < 0)
		return err_set(err, -E2BIG, "user %s is in %d groups; at most %d can be taken",
			       pw->pw_name, n, SUPERVISE_GROUPS_MAX);
	g->n = n;
	g->uid = s->uid;
	g->gid = s->gid;
	g->at_ns = pw ? now_ns : 0; /* the next job asks again for a user who was not found */
	return 0;
}

static void write_lines(FILE *f, const struct supervisor_spec *s)
{
	const struct manager_spec *j = s->job;

	fprintf(f, "job %" PRId64 "\nattempt %" PRId32 "\nuid %" PRIu32 "\ngid %" PRIu32 "\n",
		j->id.job, j->id.attempt, j->uid, j->gid);
	fprintf(f, "cgroup %s\nsocket %s\nfinal %s\n", s->cgroup, s->config->socket,
		s->config->final_dir);
	fprintf(f, "grace_s %" PRId64 "\nshm_bytes %" PRId64 "\n", j->grace_s, j->shm_bytes);
	if (j->jobfs_dir && j->jobfs_dir[0])
		fprintf(f, "tmp %s/tmp\nvar_tmp %s/vartmp\n", j->jobfs_dir, j->jobfs_dir);
	for (int i = 0; i < MANAGER_HIDDEN_MAX && s->config->hidden[i]; i++)
		fprintf(f, "hide %s\n", s->config->hidden[i]);
	if (manager_is_hidden(s->config, j))
		fprintf(f, "jobfs %s\n", j->jobfs_dir);
}

int supervisor_write_spec(const char *path, const struct supervisor_spec *s, struct err *err)
{
	_cleanup_fclose_ FILE *f = NULL;
	int fd, r;

	if (!s->job->uid)
		return err_set(err, -EPERM, "jobs of root are not started without systemd");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return err_set(err, -errno, "write %s: %m", path);
	write_lines(f, s);
	r = find_groups(s->groups, s->job, err);
	if (r < 0)
		return r;
	for (int i = 0; i < s->groups->n; i++)
		fprintf(f, "group %" PRIu32 "\n", s->groups->groups[i]);
	return fflush(f) || ferror(f) ? err_set(err, -EIO, "write %s: %m", path) : 0;
}

pid_t supervisor_find(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

bool supervisor_has_begun(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !(st.st_mode & S_IWUSR);
}

/* Unlinked under the lock: a supervisor that locks it afterwards sees that the file has no name
 * any more, and ends. */
int supervisor_discard(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fd < 0)
		return 0;
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return 1;
	unlink(path);
	return 0;
}

int supervisor_open(const char *path)
{
	pid_t pid = supervisor_find(path);
	int fd = pid > 0 ? pidfd_open(pid, 0) : -1;

	/* The same holder before and after: the number was not given to another process. */
	if (fd >= 0 && supervisor_find(path) == pid)
		return fd;
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Undoes what a job must not inherit from the agent: signal dispositions, priority, number of
 * descriptors, umask. */
static void reset_process(void)
{
	struct rlimit files = { 1024, 524288 }, locked = { 8 << 20, 8 << 20 }, hard;
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &by_default, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpriority(PRIO_PROCESS, 0, 0);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 0));
	if (getrlimit(RLIMIT_NOFILE, &hard) == 0 && hard.rlim_max < files.rlim_max)
		files.rlim_max = hard.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_MEMLOCK, &locked);
	umask(022);
}

/* What the child reads; it writes errno to report_fd where exec fails. */
struct child {
	const char *const *argv;
	int report_fd;
};

/* In the agent's memory (clone_into.h), in its cgroup already. */
static void run_child(void *ctx)
{
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };
	const struct child *c = ctx;
	int r = 0, null;

	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || chdir("/") < 0)
		r = -errno;
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	reset_process(); /* last: the agent may have more descriptors open than this allows */
	if (!r) {
		execve(c->argv[0], (char *const *)c->argv, (char *const *)env);
		r = -errno;
	}
	_exit(write(c->report_fd, &r, sizeof(r)) == sizeof(r) ? 1 : 2);
}

int supervisor_spawn(const char *const *argv, const char *cgroup, struct err *err)
{
	_cleanup_close_ int in = -1, pid_fd = -1;
	struct child child = { .argv = argv };
	struct clone_into how = { cgroup, run_child, &child };
	siginfo_t info;
	int pair[2], r = 0;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %m");
	in = pair[0];
	child.report_fd = pair[1];
	pid_fd = clone_into_spawn(&how);
	close(pair[1]);
	if (pid_fd < 0)
		return err_set(err, pid_fd, "start %s in %s: %s", argv[0], cgroup,
			       strerror(-pid_fd));
	/* The end of the pipe means that exec worked (O_CLOEXEC); else its errno comes. */
	if (read(in, &r, sizeof(r)) == sizeof(r)) {
		waitid(P_PIDFD, (id_t)pid_fd, &info, WEXITED);
		return err_set(err, r, "start %s in %s: %s", argv[0], cgroup, strerror(-r));
	}
	return TAKE_FD(pid_fd);
}
