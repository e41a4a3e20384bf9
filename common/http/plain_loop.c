/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain_loop.c - see plain_loop.h. A call is resolving (`resolve`), connecting (`connecting_fd`), or exchanging bytes over
 * h->plain_fd. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/http/plain_call.h"
#include "common/http/plain_loop.h"
#include "common/http/resolve.h"

#define NS_OF_US 1000

struct plain_loop {
	struct plain_call call;
	sd_event *event;
	sd_event_source *io, *timer, *begin;
	plain_loop_fn done;
	void *ctx;
	int64_t until_ns;	  /* of the whole call, CLOCK_MONOTONIC; INT64_MAX: none */
	int64_t connect_until_ns; /* of all addresses together */
	struct resolve *resolve;
	struct addrinfo *found, *next; /* next: to be tried */
	int n_left;		       /* from `next` on */
	int connecting_fd;
	bool is_exchanging;
	char head[PLAIN_HEAD_MAX];
};

static void drop_sources(struct plain_loop *l)
{
	l->io = sd_event_source_disable_unref(l->io);
	l->timer = sd_event_source_disable_unref(l->timer);
	l->begin = sd_event_source_disable_unref(l->begin);
}

static void drop_connecting(struct plain_loop *l)
{
	l->io = sd_event_source_disable_unref(l->io);
	if (l->connecting_fd >= 0)
		close(l->connecting_fd);
	l->connecting_fd = -1;
}

struct plain_loop *plain_loop_free(struct plain_loop *l)
{
	if (!l)
		return NULL;
	drop_connecting(l);
	drop_sources(l);
	if (l->is_exchanging)
		plain_call_close(l->call.http);
	l->resolve = resolve_free(l->resolve);
	if (l->found)
		freeaddrinfo(l->found);
	sd_event_unref(l->event);
	free(l);
	return NULL;
}

/* The call is over; nothing may touch `l` after this. */
static void finish_call(struct plain_loop *l, int r, struct err *err)
{
	plain_loop_fn done = l->done;
	void *ctx = l->ctx;

	l->is_exchanging = false; /* plain_call_end() has decided about the connection */
	plain_loop_free(l);
	done(ctx, r, err);
}

/* -errno of the event loop. */
static int set_timer(struct plain_loop *l, int64_t at_ns)
{
	int64_t ns = at_ns - clock_ns(CLOCK_MONOTONIC);
	int r;

	if (at_ns == INT64_MAX)
		return sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	r = sd_event_source_set_time_relative(l->timer, ns > 0 ? (uint64_t)(ns / NS_OF_US) : 0);
	return r < 0 ? r : sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

/* ---- the exchange ---- */

static int on_exchange(sd_event_source *s, int fd, uint32_t revents, void *ctx);
static void begin_connection(struct plain_loop *l);

static void end_exchange(struct plain_loop *l, int r)
{
	struct err err = { "" };

	l->io = sd_event_source_disable_unref(l->io);
	r = plain_call_end(&l->call, r, &err);
	l->is_exchanging = false;
	if (r == -EAGAIN)
		begin_connection(l);
	else
		finish_call(l, r, &err);
}

static int watch_exchange(struct plain_loop *l)
{
	uint32_t events = EPOLLIN | (plain_call_has_to_send(&l->call) ? EPOLLOUT : 0);

	if (l->io)
		return sd_event_source_set_io_events(l->io, events);
	return sd_event_add_io(l->event, &l->io, l->call.http->plain_fd, events, on_exchange,
			       l);
}

static void go_on(struct plain_loop *l, int r)
{
	if (r == 0)
		r = watch_exchange(l);
	if (r > 0 || r < 0)
		end_exchange(l, r);
}

static int on_exchange(sd_event_source *s, int fd, uint32_t revents, void *ctx)
{
	struct plain_loop *l = ctx;

	(void)s, (void)fd;
	if (revents & (EPOLLIN | EPOLLHUP | EPOLLERR))
		go_on(l, plain_call_receive(&l->call));
	else
		go_on(l, plain_call_send(&l->call));
	return 0;
}

static void begin_exchange(struct plain_loop *l)
{
	int r = set_timer(l, l->until_ns);

	l->is_exchanging = true;
	go_on(l, r < 0 ? r : plain_call_send(&l->call));
}

/* ---- connecting ---- */

static int on_connected(sd_event_source *s, int fd, uint32_t revents, void *ctx);

/* -errno: this address is none to wait for. */
static int connect_address(struct plain_loop *l, const struct addrinfo *a)
{
	int r;

	l->connecting_fd =
		socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->connecting_fd < 0)
		return -errno;
	if (connect(l->connecting_fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	r = sd_event_add_io(l->event, &l->io, l->connecting_fd, EPOLLOUT, on_connected, l);
	return r < 0 ? r : 0;
}

/* Tries the addresses that are left in turn; each has its share of the time that is left. `r`: why the one before failed. */
static void connect_next(struct plain_loop *l, int r)
{
	struct err err = { "" };

	while (l->next) {
		const struct addrinfo *a = l->next;
		int64_t now = clock_ns(CLOCK_MONOTONIC);
		int64_t share = (l->connect_until_ns - now) / l->n_left;

		l->next = a->ai_next;
		l->n_left--;
		r = connect_address(l, a);
		if (r == 0)
			r = set_timer(l, now + (share > 0 ? share : 0));
		if (r >= 0)
			return;
		drop_connecting(l);
	}
	if (r == -ETIMEDOUT)
		r = http_no_time(l->call.http, "no connection was made in time", &err);
	else
		r = http_no_connection(l->call.http, r, strerror(-r), &err);
	finish_call(l, r, &err);
}

static int on_connected(sd_event_source *s, int fd, uint32_t revents, void *ctx)
{
	struct plain_loop *l = ctx;
	socklen_t size = sizeof(int);
	int one = 1, error = 0;

	(void)s, (void)revents;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error) {
		drop_connecting(l);
		connect_next(l, -error);
		return 0;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	l->call.http->plain_fd = TAKE_FD(l->connecting_fd);
	drop_connecting(l);
	begin_exchange(l);
	return 0;
}

static void on_resolved(void *ctx, int e, struct addrinfo *found)
{
	struct plain_loop *l = ctx;
	struct err err = { "" };
	int r;

	l->resolve = NULL;
	if (e) {
		r = http_no_host(l->call.http, gai_strerror(e), &err);
		finish_call(l, r, &err);
		return;
	}
	l->found = l->next = found;
	for (const struct addrinfo *a = found; a; a = a->ai_next)
		l->n_left++;
	connect_next(l, -EHOSTUNREACH);
}

static void begin_connection(struct plain_loop *l)
{
	struct http *h = l->call.http;
	int64_t most = h->n_urls > 1 ? PLAIN_CONNECT_OF_SEVERAL_NS : PLAIN_CONNECT_NS;
	struct err err = { "" };
	int r;

	r = plain_call_begin(&l->call, h, &err);
	if (r == 0)
		r = plain_call_head(&l->call, l->head, &err);
	l->call.is_reused = r == 0 && plain_call_can_reuse(h);
	if (l->call.is_reused) {
		begin_exchange(l);
		return;
	}
	plain_call_close(h);
	h->plain_url = h->url;
	l->connect_until_ns = clock_ns(CLOCK_MONOTONIC) + most;
	if (l->connect_until_ns > l->until_ns)
		l->connect_until_ns = l->until_ns;
	if (r == 0)
		r = set_timer(l, l->connect_until_ns);
	if (r >= 0)
		r = resolve_start(
			l->event,
			(struct resolve_host){ l->call.host, l->call.port, on_resolved, l },
			&l->resolve, &err);
	if (r < 0)
		finish_call(l, r, &err);
}

/* ---- from the loop ---- */

static int on_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
	struct plain_loop *l = ctx;
	struct err err = { "" };
	int r;

	(void)s, (void)usec;
	if (l->is_exchanging) {
		end_exchange(l, -ETIMEDOUT);
	} else if (l->connecting_fd >= 0) {
		drop_connecting(l);
		connect_next(l, -ETIMEDOUT);
	} else {
		r = http_no_time(l->call.http, "its name was not resolved in time", &err);
		finish_call(l, r, &err);
	}
	return 0;
}

static int on_begin(sd_event_source *s, void *ctx)
{
	(void)s;
	begin_connection(ctx);
	return 0;
}

DEFINE_CLEANUP(struct plain_loop *, plain_loop_free)

int plain_loop_start(struct http *h, struct sd_event *event, struct plain_loop_done done,
		     struct plain_loop **ret, struct err *err)
{
	_cleanup_(plain_loop_freep) struct plain_loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->call.http = h;
	l->connecting_fd = -1;
	l->event = sd_event_ref(event);
	l->done = done.fn;
	l->ctx = done.ctx;
	l->until_ns = INT64_MAX;
	if (h->timeout_s)
		l->until_ns = clock_ns(CLOCK_MONOTONIC) + (h->timeout_s + h->wait_s) * S_NS;
	r = sd_event_add_time_relative(event, &l->timer, CLOCK_MONOTONIC, 0, TIMER_AT_ONCE_US,
				       on_timer, l);
	if (r >= 0)
		r = sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_defer(event, &l->begin, on_begin, l);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	*ret = TAKE_PTR(l);
	return 0;
}
