/* SPDX-License-Identifier: GPL-2.0-or-later */
/* passed - listening sockets that systemd opened and passed to this program (sd_listen_fds(3)): one with an IP
 * address, in place of Listen=, and one with a path, in place of WebSocket=. Connections that arrive while the
 * program restarts wait in such a socket.
 */
#pragma once
#include <stdbool.h>

struct err;

struct passed_sockets {
	int listen_fd, web_fd; /* -1: none was passed */
};

/* Once, before other descriptors are opened. -EINVAL: a socket of neither kind, one that does not listen, or
 * two of one kind. */
int passed_take(struct passed_sockets *ret, struct err *err);

#define PASSED_TEXT_MAX 160
/* "0.0.0.0:8640", "[::1]:8640", "/run/reeve/web.sock" */
const char *passed_format(int fd, char buf[static PASSED_TEXT_MAX]);
/* Is it the address that server_listen() would listen on for `where`? */
bool passed_is_at(int fd, const char *where);
