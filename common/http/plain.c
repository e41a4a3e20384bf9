/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain.c - see plain.h. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/http/exchange.h"
#include "common/http/plain.h"
#include "common/http/plain_call.h"

/* One call under way. */
struct plain {
	struct plain_call call;
	struct http *http;
	int64_t until_ns;    /* of the call, CLOCK_MONOTONIC; INT64_MAX: none */
	int64_t patience_ns; /* when to say that it takes long; INT64_MAX: never */
};

/* ---- waiting ---- */

static int ms_until(int64_t at_ns, int64_t now_ns)
{
	int64_t ms;

	if (at_ns == INT64_MAX)
		return -1;
	ms = (at_ns - now_ns + MS_NS - 1) / MS_NS;
	return ms < 0 ? 0 : ms > 3600 * 1000 ? 3600 * 1000 : (int)ms;
}

/* 0: *ret has what poll() says of the socket; -ETIMEDOUT. Tells the user when it takes long. */
static int wait_socket(struct plain *p, struct pollfd *fd, int64_t until_ns)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	for (;;) {
		int64_t at = p->patience_ns < until_ns ? p->patience_ns : until_ns;
		int n = poll(fd, 1, ms_until(at, now));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= p->patience_ns) {
			p->patience_ns = INT64_MAX;
			p->http->patience.fn(p->http->patience.ctx);
		}
		if (now >= until_ns)
			return -ETIMEDOUT;
	}
}

/* ---- connecting ---- */

static void addresses_done(struct addrinfo **a)
{
	if (*a)
		freeaddrinfo(*a);
}

/* Numbers need no name service, which loads libraries of the site. */
static int find_addresses(struct plain *p, struct addrinfo **ret, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	int e = getaddrinfo(p->call.host, p->call.port, &hints, ret);

	if (e == EAI_NONAME) {
		hints.ai_flags = AI_ADDRCONFIG;
		e = getaddrinfo(p->call.host, p->call.port, &hints, ret);
	}
	if (e == 0)
		return 0;
	*ret = NULL;
	return http_no_host(p->http, e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e), err);
}

static int connect_address(struct plain *p, const struct addrinfo *a, int64_t until_ns)
{
	_cleanup_close_ int fd =
		socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int one = 1, error = 0, r = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			return -errno;
		r = wait_socket(p, &ready, until_ns);
	}
	if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		r = -errno;
	if (r < 0 || error)
		return r < 0 ? r : -error;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	p->http->plain_fd = TAKE_FD(fd);
	return 0;
}

/* Tries the addresses of the host in turn; each has its share of the time that is left. */
static int connect_host(struct plain *p, struct err *err)
{
	_cleanup_(addresses_done) struct addrinfo *found = NULL;
	int64_t most = p->http->n_urls > 1 ? PLAIN_CONNECT_OF_SEVERAL_NS : PLAIN_CONNECT_NS,
		until;
	int r = find_addresses(p, &found, err), n = 0;

	if (r < 0)
		return r;
	until = clock_ns(CLOCK_MONOTONIC) + most;
	if (until > p->until_ns)
		until = p->until_ns;
	for (const struct addrinfo *a = found; a; a = a->ai_next)
		n++;
	for (const struct addrinfo *a = found; a; a = a->ai_next, n--) {
		int64_t now = clock_ns(CLOCK_MONOTONIC);

		r = connect_address(p, a, now + (until - now) / n);
		if (r == 0)
			return 0;
	}
	if (r == -ETIMEDOUT)
		return http_no_time(p->http, "no connection was made in time", err);
	return http_no_connection(p->http, r, strerror(-r), err);
}

static int open_connection(struct plain *p, struct err *err)
{
	struct http *h = p->http;

	/* Else the answer to another call would come first. */
	p->call.is_reused = plain_call_can_reuse(h) && !h->ahead;
	if (p->call.is_reused)
		return 0;
	plain_call_close(h);
	h->plain_url = h->url;
	return connect_host(p, err);
}

/* ---- the exchange ---- */

/* 1: whole. Also when not all was sent: then the connection is of no further use. */
static int exchange_bytes(struct plain *p)
{
	int r = plain_call_send(&p->call);

	while (r == 0) {
		bool sends = plain_call_has_to_send(&p->call);
		struct pollfd fd = { .fd = p->http->plain_fd,
				     .events = (short)(POLLIN | (sends ? POLLOUT : 0)) };

		r = wait_socket(p, &fd, p->until_ns);
		if (r == 0 && (fd.revents & (POLLIN | POLLHUP | POLLERR)))
			r = plain_call_receive(&p->call);
		else if (r == 0)
			r = plain_call_send(&p->call);
	}
	return r;
}

static int exchange_once(struct plain *p, struct err *err)
{
	char head[PLAIN_HEAD_MAX];
	int r = plain_call_begin(&p->call, p->http, err);

	if (r == 0)
		r = plain_call_head(&p->call, head, err);
	if (r == 0)
		r = open_connection(p, err);
	return r < 0 ? r : plain_call_end(&p->call, exchange_bytes(p), err);
}

/* Its request was sent ahead, over the connection that is there. */
static int take_ahead(struct plain *p, struct err *err)
{
	struct http *h = p->http;
	int r = plain_call_begin(&p->call, h, err);

	if (r < 0)
		return r;
	free(h->ahead);
	h->ahead = NULL;
	h->is_sent = p->call.is_reused = true;
	return plain_call_end(&p->call, exchange_bytes(p), err);
}

int plain_exchange(struct http *h, struct err *err)
{
	struct plain *p = calloc(1, sizeof(*p));
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->http = h;
	p->until_ns = h->timeout_s ? now + (h->timeout_s + h->wait_s) * S_NS : INT64_MAX;
	p->patience_ns = h->patience.fn ? now + h->patience.after_ms * MS_NS : INT64_MAX;
	r = h->was_ahead ? take_ahead(p, err) : exchange_once(p, err);
	if (r == -EAGAIN && !h->was_ahead)
		r = exchange_once(p, err); /* over a new connection */
	free(p);
	return r;
}

/* ---- ahead of its call ---- */

void plain_send_ahead(struct http *h, const char *path)
{
	struct http_call call = { .method = "GET", .path = path };
	struct http next = *h;
	struct plain_call p = { .http = &next };
	char head[PLAIN_HEAD_MAX];
	struct err unused;
	size_t size;

	if (!path || h->plain_fd < 0 || h->ahead)
		return;
	next.sent = next.answer = (struct http_buffer){ 0 };
	next.call_url = NULL;
	if (http_prepare(&next, call, &unused) == 0 &&
	    plain_call_head(&p, head, &unused) == 0) {
		size = p.left[0].iov_len;
		h->ahead = strdup(path);
		if (!h->ahead ||
		    send(h->plain_fd, head, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
			plain_call_close(h);
	}
	http_forget(&next);
}
