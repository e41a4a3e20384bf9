/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c - see run.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/run.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/utf8.h"

#define LIMIT_MS 30000
#define MS_NS INT64_C(1000000)
#define WAIT_STEP_MS 5
#define AFTER_KILL_MS 1000
/* Exit statuses of a child that did not become the program. */
#define NOT_FOUND 127
#define NOT_ALLOWED 126

/* The environment goes with the user, and so does root's keyring. */
static bool become_user(const struct passwd *p)
{
	if (clearenv() != 0 || setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1) < 0 ||
	    setenv("HOME", p->pw_dir, 1) < 0 || setenv("SHELL", "/bin/sh", 1) < 0 ||
	    setenv("USER", p->pw_name, 1) < 0 || setenv("LOGNAME", p->pw_name, 1) < 0)
		return false;
	if (geteuid() == p->pw_uid)
		return true;
	if (initgroups(p->pw_name, p->pw_gid) < 0 ||
	    setresgid(p->pw_gid, p->pw_gid, p->pw_gid) < 0 ||
	    setresuid(p->pw_uid, p->pw_uid, p->pw_uid) < 0)
		return false;
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return chdir("/") == 0;
}

/* A session of its own has no terminal, which the program of another user could type into. */
static _Noreturn void be_child(const struct gather_run *run, int out)
{
	const int nothing = open("/dev/null", O_RDWR);
	struct rlimit core = { 0, 0 };

	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(run->has_errors ? out : nothing, 2) < 0 || setsid() < 0 ||
	    close_range(3, ~0U, 0) < 0 || (run->as && setrlimit(RLIMIT_CORE, &core) < 0) ||
	    (run->as && !become_user(run->as)))
		_exit(NOT_ALLOWED);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a change of user forgets it */
	execvp(run->argv[0], (char *const *)(uintptr_t)run->argv);
	_exit(errno == ENOENT ? NOT_FOUND : NOT_ALLOWED);
}

/* Reads until the end or the deadline; what does not fit is read and dropped. 0, or -ETIMEDOUT. */
static int read_output(int fd, int64_t until_ns, struct gather_output *ret, size_t *ret_size)
{
	char rest[4096];
	size_t n = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_ms = (until_ns - clock_ns(CLOCK_MONOTONIC)) / MS_NS;
		bool has_room = n < sizeof(ret->text) - 1;
		ssize_t got;

		if (left_ms <= 0 || poll(&p, 1, (int)left_ms) == 0)
			return -ETIMEDOUT;
		got = has_room ? read(fd, ret->text + n, sizeof(ret->text) - 1 - n)
			       : read(fd, rest, sizeof(rest));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += has_room ? (size_t)got : 0;
	}
	*ret_size = n;
	return 0;
}

/* It may close its output and stay. -ETIMEDOUT. */
static int wait_until(pid_t pid, int64_t until_ns, int *ret_status)
{
	int status = 0;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
		if (clock_ns(CLOCK_MONOTONIC) >= until_ns)
			return -ETIMEDOUT;
		poll(NULL, 0, WAIT_STEP_MS);
	}
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

/* All of its session that did not leave its group. A process that its user traces stays a zombie for as long as the tracer likes: it is not
 * waited for. */
static void kill_program(pid_t pid)
{
	int status;

	kill(-pid, SIGKILL);
	wait_until(pid, clock_ns(CLOCK_MONOTONIC) + AFTER_KILL_MS * MS_NS, &status);
}

int gather_run(const struct gather_run *run, struct gather_output *ret, struct err *err)
{
	const int64_t limit_ms = run->limit_ms ? run->limit_ms : LIMIT_MS;
	const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + limit_ms * MS_NS;
	int pipe[2], r;
	size_t size = 0;
	pid_t pid;

	if (pipe2(pipe, O_CLOEXEC) < 0)
		return err_set(err, -errno, "make a pipe: %m");
	fflush(NULL); /* the child must not print what is buffered */
	pid = fork();
	if (pid == 0)
		be_child(run, pipe[1]);
	close(pipe[1]);
	if (pid < 0) {
		close(pipe[0]);
		return err_set(err, -errno, "start %s: %m", run->argv[0]);
	}
	r = read_output(pipe[0], until_ns, ret, &size);
	close(pipe[0]);
	ret->text[size] = '\0';
	utf8_mend(ret->text);
	if (r >= 0)
		r = wait_until(pid, until_ns, &ret->status);
	if (r < 0) {
		kill_program(pid);
		return err_set(err, r, "%s did not end within %lld s", run->argv[0],
			       (long long)limit_ms / 1000);
	}
	if (ret->status == NOT_FOUND)
		return err_set(err, -ENOENT, "there is no program %s here", run->argv[0]);
	return 0;
}

void gather_first_line(char *text)
{
	text[strcspn(text, "\n")] = '\0';
}
