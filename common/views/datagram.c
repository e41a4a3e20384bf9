/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datagram.c - datagrams with descriptors over unix sockets; see datagram.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/views/datagram.h"
#include "common/err.h"

union control {
	char buf[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(DATAGRAM_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

static int set_path(struct sockaddr_un *at, const char *path)
{
	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(at->sun_path))
		return -ENAMETOOLONG;
	strcpy(at->sun_path, path);
	return 0;
}

int datagram_listen(const char *path, struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_un at;
	const int on = 1;

	if (set_path(&at, path) < 0)
		return err_set(err, -ENAMETOOLONG, "%s is too long for a socket", path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    chmod(path, 0600) < 0)
		return err_set(err, -errno, "listen at %s: %m", path);
	return TAKE_FD(fd);
}

int datagram_connect(const char *path, int patience_s)
{
	struct sockaddr_un at, own = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = patience_s };
	_cleanup_close_ int fd = -1;

	if (set_path(&at, path) < 0)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | (patience_s ? 0 : SOCK_NONBLOCK), 0);
	/* An address of the kernel's choice, to be answered at; connected, so that nothing but the other side can send to it. */
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own.sun_family)) < 0 ||
	    connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int datagram_send(int fd, const struct datagram *d)
{
	union control control = { 0 };
	struct iovec part = { d->data, d->size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	size_t size = (size_t)d->n_fds * sizeof(int);
	struct cmsghdr *c;
	ssize_t n;

	if (d->peer_size) {
		m.msg_name = (void *)&d->peer;
		m.msg_namelen = d->peer_size;
	}
	if (size) {
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(size);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(c), d->fds, size);
	}
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

void datagram_close_fds(struct datagram *d)
{
	while (d->n_fds > 0)
		close(d->fds[--d->n_fds]);
}

/* False: more came than fit; the rest of them is closed. */
static bool take_fds(const struct cmsghdr *c, struct datagram *d)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (d->n_fds < DATAGRAM_FDS_MAX)
			d->fds[d->n_fds++] = fd;
		else
			close(fd);
	}
	return n <= DATAGRAM_FDS_MAX;
}

static bool take_control(struct msghdr *m, struct datagram *d)
{
	bool fits = !(m->msg_flags & (MSG_TRUNC | MSG_CTRUNC));

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof(d->who)))
			memcpy(&d->who, CMSG_DATA(c), sizeof(d->who));
		if (c->cmsg_type == SCM_RIGHTS)
			fits &= take_fds(c, d);
	}
	return fits;
}

int datagram_receive(int fd, struct datagram *d)
{
	union control control = { 0 };
	struct iovec part = { d->data, d->size };
	struct msghdr m = { .msg_name = &d->peer,
			    .msg_namelen = sizeof(d->peer),
			    .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof(control.buf) };
	ssize_t n;

	d->n_fds = 0;
	/* Not root, unless the kernel names it. */
	d->who = (struct ucred){ .uid = (uid_t)-1, .gid = (gid_t)-1 };
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!take_control(&m, d)) {
		datagram_close_fds(d);
		return -EMSGSIZE;
	}
	d->size = (size_t)n;
	d->peer_size = m.msg_namelen;
	return 0;
}
