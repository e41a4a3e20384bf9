/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.h - where the agent's metrics are read: MetricsListen= of agent.conf. Pure. */
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

struct err;

/* A socket file, or a port of this machine alone. */
struct metrics_address {
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} at;
	socklen_t size;
};

/* "/run/reeve/metrics.sock", "127.0.0.1:9640", "[::1]:9640". -EINVAL: none of these; err has the text and what to
 * write instead. */
int metrics_address_parse(const char *text, struct metrics_address *ret, struct err *err);
