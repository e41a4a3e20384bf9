/* SPDX-License-Identifier: GPL-2.0-or-later */
/* passed.c - takes systemd's sockets and names their addresses; see passed.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include "common/err.h"
#include "controller/http/passed.h"
#include "controller/http/server.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
	struct sockaddr_storage storage;
};

static const char *format_address(const union address *a, char buf[static PASSED_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "?";

	switch (a->any.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof(host));
		snprintf(buf, PASSED_TEXT_MAX, "%s:%d", host, ntohs(a->v4.sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof(host));
		snprintf(buf, PASSED_TEXT_MAX, "[%s]:%d", host, ntohs(a->v6.sin6_port));
		break;
	default:
		snprintf(buf, PASSED_TEXT_MAX, "%.*s", (int)sizeof(a->local.sun_path),
			 a->local.sun_path);
	}
	return buf;
}

const char *passed_format(int fd, char buf[static PASSED_TEXT_MAX])
{
	union address a = { .storage = { 0 } };
	socklen_t size = sizeof(a);

	if (getsockname(fd, &a.any, &size) < 0)
		snprintf(buf, PASSED_TEXT_MAX, "unknown");
	else
		format_address(&a, buf);
	return buf;
}

bool passed_is_at(int fd, const char *where)
{
	char is[PASSED_TEXT_MAX], wanted[PASSED_TEXT_MAX];
	union address a = { .storage = { 0 } };
	socklen_t size;

	if (server_find_address(where, &a.storage, &size, NULL) < 0)
		return false;
	return !strcmp(passed_format(fd, is), format_address(&a, wanted));
}

/* Puts the descriptor where its kind belongs. */
static int sort_socket(int fd, struct passed_sockets *to, struct err *err)
{
	char text[PASSED_TEXT_MAX];
	int *at = NULL;

	if (sd_is_socket(fd, AF_INET, SOCK_STREAM, 1) > 0 ||
	    sd_is_socket(fd, AF_INET6, SOCK_STREAM, 1) > 0)
		at = &to->listen_fd;
	else if (sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) > 0)
		at = &to->web_fd;
	if (!at)
		return err_set(err, -EINVAL,
			       "systemd passed %s, which is no listening stream socket: the "
			       "socket unit has ListenStream= alone",
			       passed_format(fd, text));
	if (*at >= 0)
		return err_set(err, -EINVAL,
			       "systemd passed %s too: the socket unit has one address and one "
			       "path at most",
			       passed_format(fd, text));
	*at = fd;
	return 0;
}

int passed_take(struct passed_sockets *ret, struct err *err)
{
	struct passed_sockets to = { -1, -1 };
	int n = sd_listen_fds(1), r = 0;

	if (n < 0)
		return err_set(err, n, "sockets from systemd: %s", strerror(-n));
	for (int i = 0; i < n && r >= 0; i++)
		r = sort_socket(SD_LISTEN_FDS_START + i, &to, err);
	if (r >= 0)
		*ret = to;
	return r;
}
