/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listen.c - accepts a connection, checks who its peer is, and reads one question within a limit of time; see listen.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "common/clock.h"
#include "common/err.h"
#include "slurm/submit/listen.h"

/* The peer sends its question at once; one that does not must not keep slurmctld waiting. */
#define READ_NS (100 * MS_NS)
#define BACKLOG 16

/* The umask and not chmod(2) makes it 0600: there is no moment at which others could connect. */
int listen_open(const char *path, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(err, -ENAMETOOLONG, "SubmitSocket=%s is too long for a socket",
			       path);
	strcpy(at.sun_path, path);
	if (fd < 0)
		return err_set(err, -errno, "make a socket: %m");
	unlink(path);
	mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0 || listen(fd, BACKLOG) < 0)
		return err_set(err, r < 0 ? r : -errno, "listen at %s: %s", path,
			       strerror(r < 0 ? -r : errno));
	return TAKE_FD(fd);
}

/* -EAGAIN: the connection is closed without an answer, and the next one is waited for. */
static int check_peer(int fd, struct err *err)
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return err_set(err, -EAGAIN, "the peer's credentials: %m");
	if (who.uid != 0 && who.uid != geteuid())
		return err_set(err, -EAGAIN,
			       "uid %u (process %d) may not ask here: this is for slurmctld",
			       who.uid, who.pid);
	return 0;
}

/* Reads up to the empty line, which is cut off. */
static int read_question(int fd, char *text, struct err *err)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + READ_NS;
	size_t size = 0;

	for (;;) {
		int64_t left_ns = until_ns - clock_ns(CLOCK_MONOTONIC);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;
		char *end;

		if (left_ns <= 0 || poll(&p, 1, (int)(left_ns / MS_NS) + 1) <= 0)
			return err_set(err, -EAGAIN, "a question did not come to its end");
		n = recv(fd, text + size, QUESTION_MAX - 1 - size, MSG_DONTWAIT);
		if (n <= 0)
			return err_set(err, -EAGAIN,
				       n < 0 ? "a question was not read: %m"
					     : "a question was cut, or has more than "
					       "32 KiB");
		size += (size_t)n;
		text[size] = '\0';
		end = strstr(text, "\n\n");
		if (!end)
			continue;
		end[1] = '\0';
		return 0;
	}
}

/* An error other than -EAGAIN is one of the listening socket: the program ends with it, and systemd starts it
 * again. */
int listen_accept(int fd, char *text, int *ret_fd, struct err *err)
{
	_cleanup_close_ int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	int r;

	if (peer < 0)
		return err_set(err, errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno,
			       "accept a connection: %m");
	r = check_peer(peer, err);
	if (r >= 0)
		r = read_question(peer, text, err);
	if (r >= 0)
		*ret_fd = TAKE_FD(peer);
	return r;
}

void listen_answer(int fd, const char *text)
{
	_cleanup_close_ int peer = fd;

	/* A socket's buffer has room for it: it is the first that is sent there. */
	(void)!send(peer, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}
