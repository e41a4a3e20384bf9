/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch.c - from the first instruction of the unit to the user's program; see plan.h for the handshake. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "agent/launch/launch.h"
#include "common/cleanup.h"
#include "common/err.h"

#define HOLDS 1 /* nothing is run: the launcher stays */

struct talk {
	const char *path;
	int fd;
};

static int connect_once(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;

	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Waits for ever: the agent may be away for an upgrade, and a job never runs without its limits. */
static void connect_agent(struct talk *t)
{
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

	if (t->fd >= 0)
		close(t->fd);
	while ((t->fd = connect_once(t->path)) < 0) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 500 * 1000 * 1000)
			pause.tv_nsec *= 2;
	}
}

static int send_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

static int send_frame(int fd, uint32_t type, const void *data, uint32_t size)
{
	struct plan_head head = { type, size };

	return send_all(fd, &head, sizeof(head)) < 0 ? -EPIPE : send_all(fd, data, size);
}

/* Descriptors that come along land in fds[]; what is not wanted is closed by the caller. */
static ssize_t receive_with_fds(int fd, void *data, size_t size, int fds[2])
{
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { data, size };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(2 * sizeof(int)) && fds[0] < 0)
		memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
	return n;
}

static int receive_all(int fd, void *data, size_t size, int fds[2])
{
	char *p = data;

	while (size) {
		ssize_t n = receive_with_fds(fd, p, size, fds);

		if (n <= 0)
			return -EPIPE;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* -EPIPE when the agent closed the socket or sent an invalid frame: the caller asks again. */
static int receive_frame(int fd, uint32_t type, char **ret, size_t *ret_size, int fds[2])
{
	_cleanup_free_ char *data = NULL;
	struct plan_head head;

	if (receive_all(fd, &head, sizeof(head), fds) < 0)
		return -EPIPE;
	if (head.type != type || head.size > PLAN_SIZE_MAX)
		return -EPIPE;
	data = malloc(head.size + 1);
	if (!data || receive_all(fd, data, head.size, fds) < 0)
		return -EPIPE;
	*ret_size = head.size;
	*ret = TAKE_PTR(data);
	return 0;
}

static int receive_go(int fd)
{
	_cleanup_free_ char *data = NULL;
	int none[2] = { -1, -1 };
	size_t size;

	return receive_frame(fd, PLAN_GO, &data, &size, none);
}

/* Repeats the reason until an agent answers GO: then it is latched, and cannot be lost with the agent. */
static int report_failure(struct talk *t, const char *text)
{
	uint32_t size = (uint32_t)strnlen(text, PLAN_FAILED_MAX);

	while (t->fd < 0 || send_frame(t->fd, PLAN_FAILED, text, size) < 0 ||
	       receive_go(t->fd) < 0)
		connect_agent(t);
	return LAUNCH_EXIT_FAILED;
}

static int limit_space(uint64_t bytes, struct err *err)
{
	struct rlimit to = { bytes, bytes };

	if (bytes && setrlimit(RLIMIT_AS, &to) < 0)
		return err_set(err, -errno, "limit the address space: %m");
	return 0;
}

static const char *path_of(char **env)
{
	for (; *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return "";
}

/* A script without "#!" runs under /bin/sh, as a shell would run it. Returns only -errno. */
static int exec_script(const struct plan *p)
{
	size_t n = 0;
	char **argv;

	execve(p->script, p->argv, p->env);
	if (errno != ENOEXEC)
		return -errno;
	while (p->argv[n])
		n++;
	argv = calloc(n + 2, sizeof(char *));
	if (!argv)
		return -ENOMEM;
	argv[0] = (char *)"sh";
	argv[1] = (char *)p->script;
	for (size_t i = 1; i < n; i++)
		argv[i + 1] = p->argv[i];
	execve("/bin/sh", argv, p->env);
	n = (size_t)errno;
	free(argv);
	return -(int)n;
}

static int exec_plan(const struct plan *p, struct err *err)
{
	int r;

	if (p->script) {
		r = exec_script(p);
		errno = -r;
		return err_set(err, r,
			       "cannot run the job script: %m; check the interpreter in its "
			       "first line");
	}
	/* execvpe() searches the PATH of the caller's environment, the job's is wanted. */
	clearenv();
	setenv("PATH", path_of(p->env), 1);
	execvpe(p->argv[0], p->argv, p->env);
	r = -errno;
	if (r == -ENOENT)
		return err_set(err, r, "command not found: %s (PATH=%s)", p->argv[0],
			       path_of(p->env));
	return err_set(err, r, "cannot run %s: %m", p->argv[0]);
}

/* Last before exec: a limited address space or a system call filter could disturb the launcher itself. */
static int set_limits(const struct plan *p, struct err *err)
{
	int r = limit_space(p->rlimit_as, err);

	return r < 0 ? r : launch_seccomp(p->deny, err);
}

int launch_become(const struct plan *p, struct err *err)
{
	int r = set_limits(p, err);

	return r < 0 ? r : exec_plan(p, err);
}

/* Everything after GO. HOLDS, or else returns only with a reason. */
static int become_user(const struct plan *p, struct launch_files *f, struct err *err)
{
	int r = launch_files_use(f, err);

	if (!r)
		r = set_limits(p, err);
	if (r < 0)
		return r;
	return p->hold ? HOLDS : exec_plan(p, err);
}

static void keep_clear_of_stdio(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < 3);
	if (fd >= 3)
		close(fd);
}

/* The whole handshake, once. -EPIPE: the agent went away, connect again. HOLDS: the part is in place.
 * Else the exit status; a launcher that becomes the user's program does not return. */
static int talk_once(struct talk *t)
{
	struct launch_files files = { .out = -1, .err = -1 };
	_cleanup_free_ char *payload = NULL;
	const uint32_t version = PLAN_VERSION;
	int fds[2] = { -1, -1 }, r;
	struct plan plan = { 0 };
	struct err err;
	size_t size;

	connect_agent(t);
	if (send_frame(t->fd, PLAN_HELLO, &version, sizeof(version)) < 0 ||
	    receive_frame(t->fd, PLAN_PLAN, &payload, &size, fds) < 0)
		return -EPIPE;
	files.out = fds[0];
	files.err = fds[1];
	r = plan_decode(payload, size, &plan, &err);
	if (!r)
		r = launch_files_open(&plan, &files, &err);
	if (r < 0)
		return report_failure(t, err.text);
	if (send_frame(t->fd, PLAN_OPENED, &files.opened, sizeof(files.opened)) < 0 ||
	    receive_go(t->fd) < 0) {
		launch_files_close(&files);
		plan_done(&plan);
		return -EPIPE;
	}
	r = become_user(&plan, &files, &err);
	plan_done(&plan);
	return r == HOLDS ? r : report_failure(t, err.text);
}

/* The socket closes, as by exec, and with it the agent knows that the part is in place. Nothing
 * is ever a child of this process; signals end it, as they would any other. */
static void __attribute__((noreturn)) hold_part(struct talk *t)
{
	close(t->fd);
	for (;;)
		pause();
}

int launch_main(const char *socket_path)
{
	struct talk t = { .path = socket_path, .fd = -1 };
	struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	int r;

	keep_clear_of_stdio();
	signal(SIGPIPE, SIG_DFL);
	while ((r = talk_once(&t)) == -EPIPE)
		nanosleep(&pause, NULL);
	if (r == HOLDS)
		hold_part(&t);
	return r;
}
