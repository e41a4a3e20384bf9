/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datagram - messages over unix sockets that only root can reach: with descriptors, and with the sender's identity as the kernel knows it. */
#pragma once
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

struct err;

#define DATAGRAM_FDS_MAX 3

struct datagram {
	void *data;
	size_t size;		   /* of `data`; after datagram_receive() of what came */
	int fds[DATAGRAM_FDS_MAX]; /* the first `n_fds` are open; the receiver closes them */
	int n_fds;
	struct ucred who;	 /* at a socket of datagram_listen() */
	struct sockaddr_un peer; /* who sent it; to send: used if `peer_size` is not 0 */
	socklen_t peer_size;
};

/* A socket at `path` (0600) that replaces an older one. It never blocks. -errno with words. */
int datagram_listen(const char *path, struct err *err);
/* A socket that is connected to the one at `path`, and can be answered at. Each exchange may take `patience_s` seconds; 0: it never blocks.
 * -errno, -ENAMETOOLONG. */
int datagram_connect(const char *path, int patience_s);

/* All of it, or -errno: -EAGAIN if the receiver has too many to read. */
int datagram_send(int fd, const struct datagram *d);
/* -EAGAIN: none is there (in time). -EMSGSIZE: it does not fit. After an error no descriptor is open. */
int datagram_receive(int fd, struct datagram *d);
void datagram_close_fds(struct datagram *d);
