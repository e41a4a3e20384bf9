/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_clone_into - a process begins in its cgroup, with nothing of the caller's changed by it. Skipped without root and cgroup v2. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/process/clone_into.h"

static char group[256];
static volatile sig_atomic_t n_signals;

static int make_group(void **state)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	char procs[300];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", mounts[i]);
		snprintf(group, sizeof(group), "%s/reeve-clone-%d", mounts[i], getpid());
		if (access(procs, F_OK) == 0 && mkdir(group, 0755) == 0 &&
		    snprintf(procs, sizeof(procs), "%s/cgroup.kill", group) > 0 &&
		    access(procs, F_OK) == 0)
			return 0;
		rmdir(group);
	}
	group[0] = '\0';
	return 0;
}

static int remove_group(void **state)
{
	(void)state;
	for (int i = 0; group[0] && rmdir(group) < 0 && i < 200; i++)
		usleep(10000);
	return 0;
}

static void need_group(void)
{
	if (!group[0])
		skip();
}

/* The exit status tells: 0: in the cgroup, signals blocked, another process. */
static void check_place(void *ctx)
{
	char text[4096];
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	sigset_t now;

	if (n < 0 || getpid() == *(pid_t *)ctx)
		_exit(2);
	text[n] = '\0';
	if (!strstr(text, strrchr(group, '/')))
		_exit(3);
	sigprocmask(SIG_BLOCK, NULL, &now);
	_exit(sigismember(&now, SIGTERM) && sigismember(&now, SIGUSR1) ? 0 : 4);
}

static int wait_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int wait_pidfd(int fd)
{
	siginfo_t info = { 0 };

	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), 0);
	close(fd);
	return info.si_code == CLD_EXITED ? info.si_status : -1;
}

static void test_begins_in_its_cgroup(void **state)
{
	pid_t self = getpid();
	struct clone_into how = { group, check_place, &self };

	(void)state;
	need_group();
	for (int i = 0; i < 20; i++) {
		assert_int_equal(wait_status(clone_into_fork(&how)), 0);
		assert_int_equal(wait_pidfd(clone_into_spawn(&how)), 0);
	}
}

static void run_true(void *ctx)
{
	execl(ctx, ctx, (char *)NULL);
	_exit(errno == ENOENT ? 77 : 78);
}

static void test_exec_and_its_failure(void **state)
{
	char program[] = "/bin/true", missing[] = "/bin/no-such-program";
	struct clone_into how = { group, run_true, program };

	(void)state;
	need_group();
	assert_int_equal(wait_pidfd(clone_into_spawn(&how)), 0);
	how.ctx = missing;
	assert_int_equal(wait_pidfd(clone_into_spawn(&how)), 77);
}

static void count_signal(int sig)
{
	(void)sig;
	n_signals++;
}

/* What agents change in the child before exec. */
static void change_all(void *ctx)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct rlimit few = { 32, 32 };

	(void)ctx;
	raise(SIGUSR1); /* blocked: no handler of the caller runs in its memory */
	sigaction(SIGUSR1, &by_default, NULL);
	setrlimit(RLIMIT_NOFILE, &few);
	umask(0);
	close(0);
	_exit(setsid() < 0 || chdir("/") < 0);
}

static void test_nothing_of_the_caller_changes(void **state)
{
	struct clone_into how = { group, change_all, NULL };
	struct sigaction counts = { .sa_handler = count_signal }, now;
	struct rlimit before, after;
	char cwd[2][4096];
	sigset_t mask;
	mode_t was;

	(void)state;
	need_group();
	was = umask(027);
	assert_int_equal(sigaction(SIGUSR1, &counts, NULL), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_non_null(getcwd(cwd[0], sizeof(cwd[0])));
	assert_int_equal(wait_pidfd(clone_into_spawn(&how)), 0);
	assert_int_equal(n_signals, 0);
	assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, count_signal);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(before.rlim_cur, after.rlim_cur);
	assert_int_equal(umask(was), 027);
	assert_non_null(getcwd(cwd[1], sizeof(cwd[1])));
	assert_string_equal(cwd[0], cwd[1]);
	assert_true(fcntl(0, F_GETFD) >= 0);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	assert_false(sigismember(&mask, SIGUSR1));
}

static void test_no_cgroup_no_process(void **state)
{
	struct clone_into how = { "/proc", check_place, NULL };

	(void)state;
	assert_true(clone_into_fork(&how) < 0);
	assert_true(clone_into_spawn(&how) < 0);
	how.cgroup = "/no/such/cgroup";
	assert_int_equal(clone_into_fork(&how), -ENOENT);
	assert_int_equal(clone_into_spawn(&how), -ENOENT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins_in_its_cgroup),
		cmocka_unit_test(test_exec_and_its_failure),
		cmocka_unit_test(test_nothing_of_the_caller_changes),
		cmocka_unit_test(test_no_cgroup_no_process),
	};

	return cmocka_run_group_tests(tests, make_group, remove_group);
}
