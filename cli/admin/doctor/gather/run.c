/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c - see run.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
/* Exit statuses of a child that did not become the program. */
#define NOT_FOUND 127
#define NOT_ALLOWED 126

static _Noreturn void be_child(const struct gather_run *run, int out)
{
	int nothing = open("/dev/null", O_RDWR);

	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(run->has_errors ? out : nothing, 2) < 0 ||
	    (run->become && !run->become(run->ctx)))
		_exit(NOT_ALLOWED);
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

static int wait_status(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int gather_run(const struct gather_run *run, struct gather_output *ret, struct err *err)
{
	int64_t limit_ms = run->limit_ms ? run->limit_ms : LIMIT_MS;
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
	r = read_output(pipe[0], clock_ns(CLOCK_MONOTONIC) + limit_ms * MS_NS, ret, &size);
	close(pipe[0]);
	if (r < 0)
		kill(pid, SIGKILL);
	ret->status = wait_status(pid);
	ret->text[size] = '\0';
	utf8_mend(ret->text);
	if (r < 0)
		return err_set(err, r, "%s did not end within %lld s", run->argv[0],
			       (long long)limit_ms / 1000);
	if (ret->status == NOT_FOUND)
		return err_set(err, -ENOENT, "there is no program %s here", run->argv[0]);
	return 0;
}

void gather_first_line(char *text)
{
	text[strcspn(text, "\n")] = '\0';
}
