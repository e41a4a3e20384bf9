/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.c - the listening socket, libmicrohttpd in sd-event, and the closing of slow clients.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <systemd/sd-event.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "common/time_units.h"
#include "controller/http/certificate.h"
#include "controller/http/server_impl.h"

#define SWEEP_US 500000 /* between looks for late connections */
#define IDLE_S 75	/* a user's connection between two requests */
#define WRITE_S 120	/* until a user's client has read its answer */
#define RATE_FROM_S 5	/* after this time a body must arrive at RATE_BYTES a second at least */
#define RATE_BYTES 8192
#define PER_ADDRESS_MAX 64

/* Sets the timer for when libmicrohttpd wants to run again without an event. */
static int arm_timer(struct server_lane *l)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(l->daemon, &ms) != MHD_YES)
		return sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	if (ms > 60000)
		ms = 60000;
	sd_event_source_set_time_relative(l->timer, ms * 1000);
	return sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static int run_lane(struct server_lane *l)
{
	MHD_run(l->daemon);
	return arm_timer(l);
}

/* MHD_run() does not process connections that a handler resumed meanwhile: it is run until none was. */
static int run_resumed(struct server *s)
{
	int r = 0;

	while (s->resumed && r >= 0) {
		struct server_lane *l = s->resumed;

		s->resumed = l->next;
		l->has_resumed = false;
		r = run_lane(l);
	}
	return r;
}

/* All lanes where something has arrived: it is to be handled together (api/sync/sync_batch.h), and not that of one lane alone. */
static int run_ready(struct server *s)
{
	struct epoll_event ready[SERVER_LANES];
	int n = epoll_wait(s->ready_fd, ready, SERVER_LANES, 0), r = 0;

	for (int i = 0; i < n && r >= 0; i++)
		r = run_lane(ready[i].data.ptr);
	return r < 0 ? r : run_resumed(s);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	STOPS_IN("http");
	(void)source;
	(void)fd;
	(void)events;
	return run_ready(ctx);
}

static int on_resume(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("http");
	(void)source;
	(void)us;
	return run_resumed(ctx);
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("http");
	struct server_lane *l = ctx;
	int r = run_lane(l);

	(void)source;
	(void)us;
	return r < 0 ? r : run_resumed(l->server);
}

static int on_accept(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	STOPS_IN("accept");
	struct server *s = ctx;
	int r = server_accept(s);

	(void)source;
	(void)fd;
	(void)events;
	return r < 0 ? r : run_ready(s);
}

/* Seconds that a connection may stay in its phase; without a good credential much less. */
static int64_t allowed_s(const struct server *s, const struct connection *c)
{
	static const int64_t unknown[] = {
		[PHASE_IDLE] = 5, [PHASE_READ] = 5, [PHASE_WRITE] = 20
	};

	enum connection_phase phase = c->phase;

	/* libmicrohttpd is done with an answer when the channel has it. */
	if (phase == PHASE_IDLE && c->channel && channel_is_sending(c->channel))
		phase = PHASE_WRITE;
	if (phase == PHASE_HANDLE)
		return INT32_MAX;
	if (!c->user)
		return unknown[phase];
	switch (phase) {
	case PHASE_IDLE:
		return IDLE_S;
	case PHASE_READ:
		return s->config.request_timeout_s;
	default:
		return WRITE_S;
	}
}

/* libmicrohttpd closes connections that are silent; this finds those that send or read too
 * slowly. */
static bool is_late(const struct server *s, const struct connection *c, int64_t now)
{
	int64_t age_ns = now - c->since_ns;

	if (age_ns > allowed_s(s, c) * S_NS)
		return true;
	return c->user && c->phase == PHASE_READ && age_ns > RATE_FROM_S * S_NS &&
	       c->body_bytes < (age_ns / S_NS - RATE_FROM_S) * RATE_BYTES;
}

/* A sweep that comes late means that this program did not run: that time counts for no client.
 */
static void note_stall(struct server *s)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC),
		late_ns = now - s->swept_ns - SWEEP_US * 1000LL;

	if (late_ns > S_NS / 4)
		s->stalled_ns += late_ns;
	s->swept_ns = now;
}

static int on_sweep(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("sweep");
	struct server *s = ctx;
	int64_t now;

	(void)us;
	note_stall(s);
	now = server_clock_ns(s);
	for (struct connection *c = s->connections; c; c = c->next)
		if (!c->is_released && is_late(s, c, now)) {
			s->counts.late++;
			connection_cut(s, c);
		}
	server_check_drops(s);
	peers_prune(s->peers, clock_ns(CLOCK_MONOTONIC));
	if (s->has_freed)
		malloc_trim(0);
	s->has_freed = false;
	sd_event_source_set_time_relative(source, SWEEP_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int64_t at_least(int64_t n, int64_t least)
{
	return n < least ? least : n;
}

/* Anonymous connections get a quarter, and a quarter of that is for addresses of nodes alone;
 * users get half of all. Nodes get the rest, and what the others leave. */
static int set_limits(struct server *s)
{
	int64_t max = s->config.max_connections;

	s->limits.per_address = at_least(max / 64, 4);
	if (s->limits.per_address > PER_ADDRESS_MAX)
		s->limits.per_address = PER_ADDRESS_MAX;
	s->limits.people = at_least(max / 2, 4);
	s->limits.per_user = at_least(max / 8, 4);
	s->limits.user_least = s->limits.people < 256 ? 2 : 4;
	s->limits.known = at_least(max - max / 4, 4);
	s->pools[POOL_ANY].max = at_least(max / 16 * 3, 4);
	if (s->config.only_uid) /* one program, which speaks for all users */
		s->limits.per_address = s->pools[POOL_ANY].max;
	s->pools[POOL_NODES].max = at_least(max / 16, 4);
	for (int i = 0; i < _POOL_MAX; i++) {
		s->pools[i].at = calloc((size_t)s->pools[i].max, sizeof(*s->pools[i].at));
		if (!s->pools[i].at)
			return -ENOMEM;
	}
	return 0;
}

/* We accept connections and pass them in. libmicrohttpd's own limit is above ours, for
 * connections that were cut and that it has not closed yet. */
static int start_daemons(struct server *s, struct err *err)
{
	const struct server_config *c = &s->config;

	for (int i = 0; i < SERVER_LANES; i++) {
		struct server_lane *l = &s->lanes[i];

		l->server = s;
		l->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0,
			NULL, NULL, exchange_access, s, MHD_OPTION_CONNECTION_LIMIT,
			c->max_connections + 1024, MHD_OPTION_CONNECTION_TIMEOUT,
			(unsigned)c->request_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			(size_t)32768, MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, s,
			MHD_OPTION_NOTIFY_COMPLETED, exchange_end, s,
			MHD_OPTION_NOTIFY_CONNECTION, server_on_connection, s, MHD_OPTION_END);
		if (!l->daemon)
			return err_set(err, -EIO, "the HTTP server did not start: %m");
	}
	return 0;
}

static int open_peers(struct server *s, struct err *err)
{
	uint64_t seed[2];

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return err_set(err, -errno, "random numbers: %m");
	s->random = seed[0] | 1;
	s->peers = peers_new(seed[1]);
	s->swept_ns = clock_ns(CLOCK_MONOTONIC);
	s->handshake_ns = MS_NS; /* until the first */
	if (!s->peers || set_limits(s) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* 1 us: an accuracy of 0 means sd-event's default, 250 ms. */
static int add_timer(struct server *s, struct sd_event_source **ret, sd_event_time_handler_t fn,
		     void *ctx)
{
	return sd_event_add_time_relative(s->config.event, ret, CLOCK_MONOTONIC, 0, 1, fn, ctx);
}

static int attach_lane(struct server *s, struct server_lane *l)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = l };

	if (!info)
		return -EIO;
	if (epoll_ctl(s->ready_fd, EPOLL_CTL_ADD, info->epoll_fd, &e) < 0)
		return -errno;
	return add_timer(s, &l->timer, on_timer, l);
}

static int attach_lanes(struct server *s)
{
	int r = 0;

	s->ready_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->ready_fd < 0)
		return -errno;
	for (int i = 0; i < SERVER_LANES && r >= 0; i++)
		r = attach_lane(s, &s->lanes[i]);
	if (r >= 0)
		r = sd_event_add_io(s->config.event, &s->io, s->ready_fd, EPOLLIN, on_io, s);
	return r < 0 ? r : add_timer(s, &s->resume, on_resume, s);
}

static int attach_events(struct server *s, struct err *err)
{
	int r = attach_lanes(s);

	/* A socket from systemd blocks until O_NONBLOCK is set. */
	if (r >= 0 && fcntl(s->config.listen_fd, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r >= 0)
		r = sd_event_add_io(s->config.event, &s->accept, s->config.listen_fd, EPOLLIN,
				    on_accept, s);
	if (r >= 0)
		r = sd_event_add_time_relative(s->config.event, &s->sweep, CLOCK_MONOTONIC,
					       SWEEP_US, 0, on_sweep, s);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

int server_open(const struct server_config *c, struct server **ret, struct err *err)
{
	_cleanup_(server_closep) struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->config = *c;
	s->ready_fd = -1;
	r = open_peers(s, err);
	if (r >= 0)
		r = start_daemons(s, err);
	if (r >= 0)
		r = attach_events(s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

/* MHD_stop_daemon() must not be called while connections are suspended. */
static void stop_daemons(struct server *s)
{
	s->is_closing = true;
	exchange_drop_suspended(s);
	for (int i = 0; i < SERVER_LANES; i++) {
		struct server_lane *l = &s->lanes[i];

		do {
			s->resumed = NULL;
			l->has_resumed = false;
			if (l->daemon)
				MHD_run(l->daemon);
		} while (l->has_resumed);
		if (l->daemon)
			MHD_stop_daemon(l->daemon);
		sd_event_source_disable_unref(l->timer);
	}
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->resume);
	if (s->ready_fd >= 0)
		close(s->ready_fd);
	connection_close_channels(s);
}

struct server *server_close(struct server *s)
{
	if (!s)
		return NULL;
	sd_event_source_disable_unref(s->accept);
	stop_daemons(s);
	sd_event_source_disable_unref(s->sweep);
	for (int i = 0; i < _POOL_MAX; i++)
		free(s->pools[i].at);
	peers_free(s->peers);
	free(s);
	return NULL;
}

static void addrinfo_done(struct addrinfo **a)
{
	if (*a)
		freeaddrinfo(*a);
}

static int split_where(const char *where, char *host, size_t size, const char **ret_port,
		       struct err *err)
{
	const char *colon = strrchr(where, ':'), *from = where;
	size_t n = colon ? (size_t)(colon - where) : 0;

	if (!colon || !colon[1])
		return err_set(err, -EINVAL, "'%s' is not ADDRESS:PORT", where);
	if (n >= 2 && where[0] == '[' && where[n - 1] == ']') {
		from++;
		n -= 2;
	}
	if (n >= size)
		return err_set(err, -EINVAL, "'%s' is not ADDRESS:PORT", where);
	memcpy(host, from, n);
	host[n] = '\0';
	*ret_port = colon + 1;
	return 0;
}

_Static_assert(sizeof(socklen_t) == sizeof(uint32_t), "sizes of addresses");

int server_find_address(const char *where, struct sockaddr_storage *ret, uint32_t *ret_size,
			struct err *err)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST,
					.ai_socktype = SOCK_STREAM };
	_cleanup_(addrinfo_done) struct addrinfo *found = NULL;
	char host[128];
	const char *port = NULL;
	int r = split_where(where, host, sizeof(host), &port, err);

	if (r < 0)
		return r;
	r = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (r != 0)
		return err_set(err, -EINVAL, "Listen=%s: %s; write a numeric ADDRESS:PORT",
			       where, gai_strerror(r));
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_size = found->ai_addrlen;
	return 0;
}

static int bind_address(const struct sockaddr_storage *a, uint32_t size, int *ret_fd)
{
	_cleanup_close_ int fd =
		socket(a->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)a, size) < 0 || listen(fd, SOMAXCONN) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int server_listen(const char *where, int *ret_fd, struct err *err)
{
	struct sockaddr_storage a;
	uint32_t size;
	int r = server_find_address(where, &a, &size, err);

	if (r < 0)
		return r;
	r = bind_address(&a, size, ret_fd);
	if (r < 0)
		return err_set(err, r, "listen on %s: %s; is another controller running?",
			       where, strerror(-r));
	return 0;
}

/* Is there a socket, or nothing? No process can be listening: the leader alone has these. */
static int remove_old_socket(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %m", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST,
			       "%s is there and is no socket; remove it, or choose "
			       "another path",
			       path);
	if (unlink(path) < 0)
		return err_set(err, -errno, "remove the old socket %s: %m", path);
	return 0;
}

int server_listen_local(const char *path, int *ret_fd, struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return err_set(err, -errno, "socket: %m");
	if (*path != '/' || strlen(path) >= sizeof(a.sun_path))
		return err_set(err, -EINVAL,
			       "'%s' is not an absolute path of at most %zu bytes", path,
			       sizeof(a.sun_path) - 1);
	strcpy(a.sun_path, path);
	r = remove_old_socket(path, err);
	if (r < 0)
		return r;
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return err_set(err, -errno, "listen on %s: %m", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

void server_get_counts(const struct server *s, struct server_counts *ret)
{
	*ret = s->counts;
	snprintf(ret->shed_from, sizeof(ret->shed_from), "%s", s->shed_from);
	ret->has_certificate = s->config.certificate;
	if (!s->config.certificate)
		return;
	ret->certificate_left_s = certificate_left_s(s->config.certificate);
	ret->certificate_key = certificate_key(s->config.certificate);
}
