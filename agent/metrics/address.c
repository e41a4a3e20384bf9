/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.c - reads MetricsListen=; see metrics/address.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "agent/metrics/address.h"
#include "common/err.h"

#define FOUR "127.0.0.1:"
#define SIX "[::1]:"

/* 1 to 65535, in digits alone; 0: none. */
static unsigned parse_port(const char *text)
{
	unsigned port = 0;
	size_t n = strspn(text, "0123456789");

	if (!n || n > 5 || text[n])
		return 0;
	for (; *text; text++)
		port = port * 10 + (unsigned)(*text - '0');
	return port <= 65535 ? port : 0;
}

static int refuse_address(const char *text, const char *why, struct err *err)
{
	return err_set(err, -EINVAL,
		       "MetricsListen = %.80s: %s; write the path of a socket "
		       "(/run/reeve/metrics.sock), 127.0.0.1:PORT or [::1]:PORT",
		       text, why);
}

static int parse_path(const char *text, struct metrics_address *ret, struct err *err)
{
	size_t n = strlen(text);

	if (n >= sizeof(ret->at.local.sun_path))
		return refuse_address(text, "a path of more than 107 bytes is none of a socket",
				      err);
	if (text[n - 1] == '/')
		return refuse_address(text, "a directory", err);
	ret->at.local.sun_family = AF_UNIX;
	memcpy(ret->at.local.sun_path, text, n + 1);
	ret->size = sizeof(ret->at.local);
	return 0;
}

static int parse_inet(const char *text, struct metrics_address *ret, struct err *err)
{
	bool is_six = !strncmp(text, SIX, strlen(SIX));
	unsigned port = parse_port(text + strlen(is_six ? SIX : FOUR));

	if (!port)
		return refuse_address(text, "the port is none from 1 to 65535", err);
	if (is_six) {
		ret->at.six = (struct sockaddr_in6){ .sin6_family = AF_INET6,
						     .sin6_port = htons((uint16_t)port),
						     .sin6_addr = IN6ADDR_LOOPBACK_INIT };
		ret->size = sizeof(ret->at.six);
	} else {
		ret->at.four =
			(struct sockaddr_in){ .sin_family = AF_INET,
					      .sin_port = htons((uint16_t)port),
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		ret->size = sizeof(ret->at.four);
	}
	return 0;
}

int metrics_address_parse(const char *text, struct metrics_address *ret, struct err *err)
{
	struct metrics_address a = { .size = 0 };
	int r;

	if (text[0] == '/')
		r = parse_path(text, &a, err);
	else if (!strncmp(text, FOUR, strlen(FOUR)) || !strncmp(text, SIX, strlen(SIX)))
		r = parse_inet(text, &a, err);
	else
		r = refuse_address(
			text,
			"the agent is not reached from other machines (see \"Metrics of "
			"a node\" in docs/operation.md)",
			err);
	if (!r)
		*ret = a;
	return r;
}
