/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard_test.c - what a job may not do is refused to jobs alone; a writer that
 * exceeds its disk quota is killed; a process that leaves its job is reported.
 * Arguments: PIN_DIR [DIR], DIR on a file system with project quota. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/quota.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "agent/enforce/guard.h"
#include "tests/bpf/testjob.h"

#define MS 1000000u
#define USER 1001
#define PROJECT 4242u
#define PROJECT_TYPE 2

struct seen {
	int quota, denied, left;
	struct guard_quota last_quota;
	struct guard_denied last_denied;
	struct guard_left last_left;
};

static void on_quota(void *ctx, const struct guard_quota *q)
{
	struct seen *s = ctx;

	s->quota++;
	s->last_quota = *q;
}

static void on_denied(void *ctx, const struct guard_denied *d)
{
	struct seen *s = ctx;

	s->denied++;
	s->last_denied = *d;
}

static void on_left(void *ctx, const struct guard_left *l)
{
	struct seen *s = ctx;

	s->left++;
	s->last_left = *l;
}

static struct guard *open_guard(const char *pin_dir, int best_tier, struct seen *seen)
{
	struct guard_config config = { pin_dir,	 16,	    best_tier, seen,
				       on_quota, on_denied, on_left };
	struct guard *g = NULL;
	struct err err = { "" };

	if (guard_open(&config, &g, &err) < 0) {
		printf("Bail out! guard_open: %s\n", err.text);
		exit(1);
	}
	return g;
}

static void add_job(struct guard *g, const struct testjob *j, uint32_t projid, dev_t dev,
		    enum guard_action action)
{
	struct guard_job job = { j->job, j->id, projid, dev, action };
	struct err err = { "" };

	if (guard_add(g, &job, &err) < 0)
		tap_ok(false, "guard_add: %s", err.text);
}

static void wait_for(struct guard *g, const int *counter, int n)
{
	struct pollfd p = { guard_fd(g), POLLIN, 0 };
	uint64_t end = testjob_now_ns() + 60000ull * MS;

	while (*counter < n && testjob_now_ns() < end)
		if (poll(&p, 1, 50) > 0)
			guard_dispatch(g, NULL);
}

/* What a child does: returns 0, or the errno of what it tried. */

static int sleep_forever(void *arg)
{
	while (pause() < 0)
		;
	return arg != NULL;
}

static int try_attach(void *arg)
{
	pid_t pid = *(pid_t *)arg;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return errno;
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return 0;
}

static int secret = 7;

static int try_write_memory(void *arg)
{
	int value = 8;
	struct iovec here = { &value, sizeof(value) }, there = { &secret, sizeof(secret) };

	return process_vm_writev(*(pid_t *)arg, &here, 1, &there, 1, 0) < 0 ? errno : 0;
}

static int try_mem_file(void *arg)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", *(pid_t *)arg);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? errno : 0;
}

static int try_look(void *arg)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", *(pid_t *)arg);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? errno : 0;
}

static int try_traceme(void *arg)
{
	(void)arg;
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? errno : 0;
}

static int set_project(const char *path, uint32_t projid)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct fsxattr x = { 0 };

	if (fd < 0)
		return errno;
	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		memset(&x, 0, sizeof(x));
	x.fsx_projid = projid;
	x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	if (ioctl(fd, FS_IOC_FSSETXATTR, &x) < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_project(void *arg)
{
	if (setgid(USER) < 0 || setuid(USER) < 0)
		return errno;
	return set_project(arg, 0);
}

static int try_flags(void *arg)
{
	int fd = open(arg, O_RDONLY | O_CLOEXEC), flags = 0;

	if (fd < 0)
		return errno;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0 ? errno : 0;
}

static int result_in(const struct testjob *j, int (*fn)(void *), void *arg)
{
	int status = testjob_wait(testjob_run(j, fn, arg));

	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int try_uring(void *arg)
{
	struct io_uring_params p = { .flags = *(unsigned *)arg };

	return syscall(SYS_io_uring_setup, 4, &p) < 0 ? errno : 0;
}

static void test_cores(struct guard *g)
{
	unsigned plain = 0, polls = IORING_SETUP_SQPOLL;
	struct testjob j, outside;
	int r;

	testjob_make(&j, "cores", 24);
	testjob_make(&outside, "cores-outside", 0);
	if (result_in(&outside, try_uring, &polls)) {
		tap_skip("io_uring", "none here");
		return;
	}
	add_job(g, &j, 0, 0, GUARD_KILL);
	r = result_in(&j, try_uring, &plain);
	tap_ok(r == 0, "io_uring in a job: works: %d", r);
	r = result_in(&j, try_uring, &polls);
	tap_ok(r == EPERM, "its polling thread, which runs on every core: refused: %d", r);
	guard_remove(g, j.id);
	testjob_remove(&j);
	testjob_remove(&outside);
}

static void test_ptrace(struct guard *g, struct seen *seen)
{
	struct testjob j, outside, other;
	pid_t out, in, far;
	int r;

	testjob_make(&j, "ptrace", 21);
	testjob_make(&other, "ptrace-other", 22);
	testjob_make(&outside, "ptrace-outside", 0);
	add_job(g, &j, 0, 0, GUARD_KILL);
	add_job(g, &other, 0, 0, GUARD_KILL);
	out = testjob_run(&outside, sleep_forever, NULL);
	far = testjob_run(&other, sleep_forever, NULL);
	in = testjob_run(&j, sleep_forever, NULL);
	r = result_in(&outside, try_attach, &out);
	tap_ok(r == 0, "outside: ptrace works: %d", r);
	r = result_in(&outside, try_attach, &in);
	tap_ok(r == 0, "into a job, from outside: %d", r);
	r = result_in(&j, try_attach, &in);
	tap_ok(r == 0, "within the job: works: %d", r);
	r = result_in(&j, try_write_memory, &in);
	tap_ok(r == 0, "and its memory: %d", r);
	r = result_in(&j, try_attach, &out);
	tap_ok(r == EPERM, "from the job to outside: refused: %d", r);
	wait_for(g, &seen->denied, 1);
	tap_ok(seen->denied == 1 && seen->last_denied.deed == GUARD_DID_PTRACE &&
		       seen->last_denied.target_pid == out && seen->last_denied.job == 21,
	       "and told, with the target");
	r = result_in(&j, try_attach, &far);
	tap_ok(r == EPERM, "to another job: refused: %d", r);
	r = result_in(&j, try_write_memory, &out);
	tap_ok(r == EPERM, "process_vm_writev: refused: %d", r);
	r = result_in(&j, try_mem_file, &out);
	tap_ok(r == EACCES || r == EPERM, "/proc/PID/mem: refused: %d", r);
	r = result_in(&j, try_look, &in);
	tap_ok(r == 0, "a look within the job: works: %d", r);
	r = result_in(&j, try_look, &out);
	tap_ok(r == EACCES || r == EPERM, "a look outside: refused: %d", r);
	r = result_in(&outside, try_look, &in);
	tap_ok(r == 0, "a look into a job, from outside: works: %d", r);
	r = result_in(&j, try_traceme, NULL);
	tap_ok(r == EPERM, "traced by a parent outside: refused: %d", r);
	guard_remove(g, j.id);
	guard_remove(g, other.id);
	r = result_in(&j, try_attach, &out);
	tap_ok(r == 0, "no longer guarded: works: %d", r);
	testjob_remove(&j);
	testjob_remove(&other);
	testjob_remove(&outside);
}

static void test_project(struct guard *g, const char *dir)
{
	char file[256];
	struct testjob j, outside;
	struct stat st;
	int fd, r, free_r;

	testjob_make(&j, "project", 23);
	testjob_make(&outside, "project-outside", 0);
	snprintf(file, sizeof(file), "%s/own", dir);
	fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	if (fd < 0 || fchown(fd, USER, USER) < 0 || fstat(fd, &st) < 0)
		tap_ok(false, "make %s: %s", file, strerror(errno));
	close(fd);
	add_job(g, &j, 0, st.st_dev, GUARD_KILL);
	free_r = result_in(&outside, try_project, file);
	tap_ok(free_r == 0 || free_r == ENOTTY || free_r == EOPNOTSUPP,
	       "outside: the owner may set the project: %d", free_r);
	r = result_in(&j, try_project, file);
	tap_ok(r == EPERM, "in a job: refused: %d", r);
	r = result_in(&j, try_flags, file);
	tap_ok(r == EPERM, "and the flags there: %d", r);
	r = result_in(&j, try_flags, (void *)(uintptr_t) "/dev");
	tap_ok(r != EPERM, "not on another file system: %d", r);
	guard_remove(g, j.id);
	testjob_remove(&j);
	testjob_remove(&outside);
	unlink(file);
}

static void test_left(struct guard *g, struct seen *seen)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	struct testjob j, away;
	char pid_text[16];
	pid_t pid, child;
	int status;

	testjob_make(&j, "left", 24);
	testjob_make(&away, "left-away", 0);
	add_job(g, &j, 0, 0, GUARD_KILL);
	pid = testjob_run(&j, sleep_forever, NULL);
	guard_dispatch(g, NULL);
	seen->left = 0;
	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	testjob_write(&away, "cgroup.procs", pid_text);
	wait_for(g, &seen->left, 1);
	tap_ok(seen->left == 1 && seen->last_left.pid == pid &&
		       seen->last_left.moved_by_pid == getpid() &&
		       seen->last_left.now_in == away.id && seen->last_left.job == 24,
	       "a process that is moved out of its job is reported, with the mover");
	testjob_write(&j, "cgroup.procs", pid_text);
	guard_dispatch(g, NULL);
	tap_ok(seen->left == 1, "coming back is not");
	seen->left = 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		testjob_write(&j, "cgroup.procs", "0");
		args.cgroup = (uint64_t)open(away.path, O_RDONLY | O_DIRECTORY);
		child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
		if (child == 0)
			_exit(0);
		waitpid(child, &status, 0);
		_exit(child < 0);
	}
	testjob_wait(pid);
	wait_for(g, &seen->left, 1);
	tap_ok(seen->left == 1 && seen->last_left.moved_by_pid == pid,
	       "a child cloned into another cgroup is reported");
	guard_remove(g, j.id);
	testjob_remove(&j);
	testjob_remove(&away);
}

static void test_restart(const char *pin_dir)
{
	struct seen seen = { 0 };
	struct guard *g;
	struct testjob j;
	int r;

	if (!pin_dir) {
		tap_skip("restart", "no bpffs to pin in");
		return;
	}
	testjob_make(&j, "restart", 25);
	g = open_guard(pin_dir, 0, &seen);
	add_job(g, &j, PROJECT, 0, GUARD_KILL);
	guard_close(g);
	r = result_in(&j, try_flags, (void *)(uintptr_t) "/tmp");
	tap_ok(r == EPERM, "with the agent away it stays refused: %d", r);
	g = open_guard(pin_dir, 0, &seen);
	tap_ok(guard_adopted(g), "the next agent takes the hooks over");
	tap_ok(guard_prune(g) == 1, "and forgets a job it does not add");
	r = result_in(&j, try_flags, (void *)(uintptr_t) "/tmp");
	tap_ok(r != EPERM, "which is then free: %d", r);
	guard_close(g);
	testjob_remove(&j);
}

static int write_blocks(void *arg)
{
	static char buf[1 << 16];
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/big", (char *)arg);
	if (setgid(USER) < 0 || setuid(USER) < 0)
		return 98;
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	for (int i = 0; fd >= 0 && i < 128; i++) /* 8 MiB into 2 */
		if (write(fd, buf, sizeof(buf)) < 0)
			return errno;
	return fd < 0 ? 97 : 0;
}

static int make_files(void *arg)
{
	char path[256];
	int fd;

	if (setgid(USER) < 0 || setuid(USER) < 0)
		return 98;
	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "%s/%d", (char *)arg, i);
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			return errno;
		close(fd);
	}
	return 0;
}

static int set_limit(const char *dir, uint64_t kib, uint64_t inodes)
{
	struct if_dqblk q = { 0 };
	int fd = open(dir, O_RDONLY | O_CLOEXEC), r;

	q.dqb_bhardlimit = kib;
	q.dqb_ihardlimit = inodes;
	q.dqb_valid = QIF_LIMITS;
	r = (int)syscall(SYS_quotactl_fd, fd, QCMD(Q_SETQUOTA, PROJECT_TYPE), PROJECT, &q);
	r = r < 0 ? errno : 0;
	close(fd);
	return r;
}

static void check_quota(struct guard *g, struct seen *seen, const char *dir, int kind)
{
	bool kills = guard_holds(g) & GUARD_QUOTA_KILL;
	const struct guard_quota *q = &seen->last_quota;
	struct testjob j;
	struct stat st;
	pid_t pid;
	int status;

	testjob_make(&j, kind == GUARD_BLOCKS ? "blocks" : "inodes", 26);
	stat(dir, &st);
	add_job(g, &j, PROJECT, st.st_dev, GUARD_KILL);
	guard_dispatch(g, NULL); /* what still waits is about the job before */
	seen->quota = 0;
	pid = testjob_run(&j, kind == GUARD_BLOCKS ? write_blocks : make_files,
			  (void *)(uintptr_t)dir);
	status = testjob_wait(pid);
	wait_for(g, &seen->quota, 1);
	if (kills)
		tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		       "the writer over its limit is killed: status %x", (unsigned)status);
	else
		tap_ok(WIFEXITED(status) &&
			       (WEXITSTATUS(status) == EDQUOT || WEXITSTATUS(status) == ENOSPC),
		       "without BPF the write fails: status %x", (unsigned)status);
	if (kills && kind == GUARD_BLOCKS)
		tap_ok(q->call == GUARD_BY_WRITE && q->asked_bytes == 1 << 16,
		       "the call is named: %d of %llu bytes", (int)q->call,
		       (unsigned long long)q->asked_bytes);
	tap_ok(seen->quota == 1 && (int)q->kind == kind && q->job == 26 &&
		       q->pid == (kills ? pid : 0) && q->killed == kills,
	       "told once: kind %d, pid %d %s, %d times", (int)q->kind, q->pid, q->comm,
	       seen->quota);
	guard_remove(g, j.id);
	testjob_remove(&j);
}

static void test_notify(struct guard *g, struct seen *seen, const char *dir)
{
	struct testjob j;
	int r;

	if (!(guard_holds(g) & GUARD_QUOTA_KILL))
		return;
	testjob_make(&j, "notify", 27);
	add_job(g, &j, PROJECT, 0, GUARD_NOTIFY);
	seen->quota = 0;
	r = result_in(&j, write_blocks, (void *)(uintptr_t)dir);
	wait_for(g, &seen->quota, 1);
	tap_ok((r == EDQUOT || r == ENOSPC) && seen->quota == 1 && !seen->last_quota.killed,
	       "where the site is configured so, the write fails and the job lives: %d", r);
	guard_rearm(g, j.id);
	result_in(&j, write_blocks, (void *)(uintptr_t)dir);
	wait_for(g, &seen->quota, 2);
	tap_ok(seen->quota == 2, "told again after rearming");
	guard_remove(g, j.id);
	testjob_remove(&j);
}

/* What the project holds; false: it cannot be asked. */
static bool read_held(const char *dir, uint64_t *ret_bytes, uint64_t *ret_inodes)
{
	struct if_dqblk q = { 0 };
	int fd = open(dir, O_RDONLY | O_CLOEXEC);
	long r = syscall(SYS_quotactl_fd, fd, QCMD(Q_GETQUOTA, PROJECT_TYPE), PROJECT, &q);

	close(fd);
	*ret_bytes = q.dqb_curspace;
	*ret_inodes = q.dqb_curinodes;
	return r == 0;
}

/* Files that were removed are counted until the file system has freed them, which xfs does
 * later: what comes next begins when the project holds its directory alone. */
static void wait_until_clean(const char *dir)
{
	uint64_t end = testjob_now_ns() + 60000ull * MS, bytes = 0, inodes = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/big", dir);
	unlink(path);
	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		unlink(path);
	}
	while (read_held(dir, &bytes, &inodes) && (bytes > 64 << 10 || inodes > 1) &&
	       testjob_now_ns() < end)
		poll(NULL, 0, 10);
	if (bytes > 64 << 10 || inodes > 1)
		tap_ok(false, "the project still holds %llu bytes, %llu inodes",
		       (unsigned long long)bytes, (unsigned long long)inodes);
}

static void test_quota(const char *disk, int best_tier)
{
	struct seen seen = { 0 };
	struct guard *g = open_guard(NULL, best_tier, &seen);
	char dir[200];

	snprintf(dir, sizeof(dir), "%s/job", disk);
	if (!(guard_holds(g) & GUARD_QUOTA_EVENT)) {
		tap_skip("quota", "%s", guard_status(g));
		guard_close(g);
		return;
	}
	if ((mkdir(dir, 0755) < 0 && errno != EEXIST) || chown(dir, USER, USER) < 0 ||
	    set_project(dir, PROJECT) || set_limit(dir, 2048, 20))
		tap_ok(false, "prepare %s: %s", dir, strerror(errno));
	check_quota(g, &seen, dir, GUARD_BLOCKS);
	test_notify(g, &seen, dir);
	wait_until_clean(dir);
	check_quota(g, &seen, dir, GUARD_INODES);
	wait_until_clean(dir);
	rmdir(dir);
	guard_close(g);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return getenv("TEST_VERBOSE") && level < LIBBPF_DEBUG ? vprintf(fmt, ap) : 0;
}

int main(int argc, char **argv)
{
	const char *pin_dir = argc > 1 && argv[1][0] ? argv[1] : NULL;
	const char *disk = argc > 2 ? argv[2] : NULL;
	struct seen seen = { 0 };
	struct guard *g;

	libbpf_set_print(print_libbpf);
	testjob_root("guard");
	g = open_guard(NULL, 0, &seen);
	tap_note("holds %x", guard_holds(g));
	printf("# %s\n", guard_status(g));
	if (guard_holds(g) & GUARD_PTRACE)
		test_ptrace(g, &seen);
	else
		tap_skip("ptrace", "no trampolines here, as guard reports");
	if (guard_holds(g) & GUARD_PROJECT_ID)
		test_project(g, disk ? disk : "/tmp");
	else
		tap_skip("project id", "no trampolines here, as guard reports");
	if (guard_holds(g) & GUARD_CORES)
		test_cores(g);
	else
		tap_skip("io_uring", "no trampolines here, as guard reports");
	if (guard_holds(g) & GUARD_LEFT)
		test_left(g, &seen);
	else
		tap_skip("left its job", "no trampolines here, as guard reports");
	if (guard_holds(g) & GUARD_PROJECT_ID)
		test_restart(pin_dir);
	guard_close(g);
	g = open_guard(NULL, 3, &seen);
	tap_ok(!(guard_holds(g) & ~(unsigned)GUARD_QUOTA_EVENT) && strlen(guard_status(g)) > 0,
	       "without BPF it claims no protection: %s", guard_status(g));
	guard_close(g);
	if (disk) {
		test_quota(disk, 0);
		test_quota(disk, 3);
	} else {
		tap_skip("quota", "no file system with project quota given");
	}
	return tap_done();
}
