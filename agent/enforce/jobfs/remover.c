/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remover.c - a small process of the agent's that forks for each removal; see remover.h. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include "agent/enforce/jobfs/remover.h"

#define REMOVER_NICE 10
#define QUEUE_BYTES (8 << 20) /* some thousand removals, as a start of the agent may find */

/* One descriptor beside a message. */
union fd_message {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* ---- in the process ---- */

static void finish_removal(int out_fd, const struct remover_verdict *v)
{
	ssize_t n = write(out_fd, v, sizeof(*v));

	_exit(n == (ssize_t)sizeof(*v) ? 0 : 1);
}

/* Nothing here outlives the agent, which lists what is left when it starts again. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static void run_removal(struct jobfs *fs, const struct jobfs_job *job, int out_fd, pid_t parent)
{
	struct remover_verdict v = { 0 };

	end_with(parent);
	v.result = jobfs_wipe(fs, job, &v.err);
	finish_removal(out_fd, &v);
}

/* The next order and its pipe. 0: there will be none. */
static int receive_order(int fd, struct jobfs_job *job, int *ret_out)
{
	union fd_message control;
	struct iovec part = { job, sizeof(*job) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n == (ssize_t)sizeof(*job) ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return 0;
	memcpy(ret_out, CMSG_DATA(c), sizeof(*ret_out));
	return 1;
}

/* The agent's connections must end when the agent closes them. */
static void keep_two(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

static void __attribute__((noreturn)) serve_orders(struct jobfs *fs, int fd, pid_t parent)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, unseen = { .sa_handler = SIG_IGN };
	struct jobfs_job job;
	sigset_t none;
	int out;

	end_with(parent);
	sigaction(SIGTERM, &plain, NULL);
	sigaction(SIGPIPE, &plain, NULL);
	sigaction(SIGCHLD, &unseen, NULL); /* children are reaped by the kernel */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "reeve-jobfs-rm");
	setpriority(PRIO_PROCESS, 0, REMOVER_NICE);
	keep_two(fs->fd, fd);
	parent = getpid();
	while (receive_order(fd, &job, &out)) {
		pid_t pid = fork();

		if (pid == 0) {
			close(fd); /* the agent sees by it that its reader has died */
			run_removal(fs, &job, out, parent);
		}
		close(out); /* a fork that failed: the agent reads the end of the pipe */
	}
	while (wait(NULL) >= 0 || errno == EINTR) /* until none is left */
		;
	_exit(0);
}

/* ---- in the agent ---- */

int remover_start(struct jobfs *fs)
{
	pid_t parent = getpid(), pid;
	const int room = QUEUE_BYTES;
	int pair[2];

	/* A stream: of other kinds the kernel holds ten messages (net.unix.max_dgram_qlen). A message with a descriptor
	 * is read alone. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	pid = fork();
	if (pid == 0)
		serve_orders(fs, pair[1], parent);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -errno;
	}
	fs->remover = (struct jobfs_remover){ pair[0], pid };
	return 0;
}

void remover_stop(struct jobfs *fs)
{
	if (fs->remover.fd < 0)
		return;
	close(fs->remover.fd);
	fs->remover.fd = -1;
	if (!fs->removing)
		kill(fs->remover.pid, SIGKILL);
	waitpid(fs->remover.pid, NULL, fs->removing ? WNOHANG : 0);
}

static int send_order(const struct jobfs *fs, const struct jobfs_job *job, int out_fd)
{
	union fd_message control = { 0 };
	struct jobfs_job copy = *job;
	struct iovec part = { &copy, sizeof(copy) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &out_fd, sizeof(out_fd));
	if (fs->remover.fd < 0)
		return -EPIPE;
	return sendmsg(fs->remover.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* One that has died is started again, from the agent as it is now. */
static int send_or_restart(struct jobfs *fs, const struct jobfs_job *job, int out_fd)
{
	int r = send_order(fs, job, out_fd);

	if (r != -EPIPE && r != -ECONNRESET)
		return r;
	if (fs->remover.fd >= 0) {
		close(fs->remover.fd);
		waitpid(fs->remover.pid, NULL, 0);
	}
	fs->remover = (struct jobfs_remover){ -1, 0 };
	r = remover_start(fs);
	return r < 0 ? r : send_order(fs, job, out_fd);
}

int remover_order(struct jobfs *fs, const struct jobfs_job *job, struct err *err)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %m");
	r = send_or_restart(fs, job, fds[1]);
	close(fds[1]);
	if (r == 0)
		return fds[0];
	close(fds[0]);
	return err_set(err, r, "ask for the removal: %s", strerror(-r));
}
