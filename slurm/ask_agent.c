/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask_agent.c - connect to the agent's socket, send a question, wait for the answer; see ask_agent.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/wire/agent_service.h"
#include "slurm/ask_agent.h"

#define RETRY_MS 200

/* -errno of connect(2). */
static int try_connect(int fd, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(at.sun_path, path);
	return connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
}

/* An agent that was killed leaves its socket, and systemd starts it again. One that was stopped leaves none, nor does one that `systemctl
 * restart` stops. */
static bool is_coming(int r, const char *path)
{
	return r == -ECONNREFUSED || (r == -ENOENT && agent_service_is_up(path));
}

/* `until_ms`: as long an agent is waited for. */
static int connect_to(const char *path, int patience_s, int64_t until_ms, struct err *err)
{
	struct timeval patience = { .tv_sec = patience_s };
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r;

	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return err_set(err, -ENAMETOOLONG, "the socket's path %s is too long", path);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return err_set(err, -errno, "make a socket: %m");
	r = try_connect(fd, path);
	while (is_coming(r, path) && monotonic_ms() < until_ms) {
		nanosleep(&pause, NULL);
		r = try_connect(fd, path);
	}
	if (r < 0)
		return err_set(
			err, r,
			"no reeve-agent answers at %s (%s): systemctl status reeve-agent%s",
			path, strerror(-r),
			r == -ENOENT && agent_service_is_up(path)
				? "; Engine = slurm in agent.conf?"
				: "");
	return TAKE_FD(fd);
}

static int send_question(const char *socket_path, const struct slurm_question *q,
			 int patience_s, int64_t until_ms, struct err *err)
{
	_cleanup_close_ int fd = connect_to(socket_path, patience_s, until_ms, err);

	if (fd < 0)
		return fd;
	/* No SIGPIPE in slurmstepd: its other work goes on. */
	if (send(fd, q, sizeof(*q), MSG_NOSIGNAL) == (ssize_t)sizeof(*q))
		return TAKE_FD(fd);
	return err_set(err, errno == EPIPE ? -ECONNRESET : -errno,
		       "reeve-agent does not take the question: %m");
}

int ask_agent_send(const char *socket_path, const struct slurm_question *q, int patience_s,
		   struct err *err)
{
	return send_question(socket_path, q, patience_s, monotonic_ms() + patience_s * 1000,
			     err);
}

/* The texts of the answer get a NUL at their end: nothing of another program is trusted to have one. */
int ask_agent_receive(int fd, struct slurm_answer *ret, struct err *err)
{
	_cleanup_close_ int agent = fd;
	ssize_t n;

	do
		n = recv(agent, ret, sizeof(*ret), 0);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return err_set(
			err, -ECONNRESET,
			"reeve-agent closed the connection without an answer: journalctl -u reeve-agent; it and reeve_spank.so must be "
			"of one version");
	if (n < 0)
		return err_set(
			err, errno == EAGAIN ? -ETIMEDOUT : -errno,
			"reeve-agent runs and does not answer: systemctl status reeve-agent");
	if (n != (ssize_t)sizeof(*ret) || ret->version != SLURM_HANDSHAKE_VERSION)
		return err_set(
			err, -EPROTO,
			"reeve-agent and reeve_spank.so are of different versions: install one "
			"version of both, then restart reeve-agent");
	ret->tmpdir[sizeof(ret->tmpdir) - 1] = '\0';
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 0;
}

int ask_agent(const char *socket_path, const struct slurm_question *q, int patience_s,
	      struct slurm_answer *ret, struct err *err)
{
	int64_t until_ms = monotonic_ms() + patience_s * 1000;
	int r = -ECONNRESET;

	for (int tries = 0; r == -ECONNRESET && tries < ASK_TRIES && monotonic_ms() <= until_ms;
	     tries++) {
		r = send_question(socket_path, q, patience_s, until_ms, err);
		if (r >= 0)
			r = ask_agent_receive(r, ret, err);
	}
	return r;
}
