/* server.c - the listening socket, libmicrohttpd in sd-event, and slow clients. See server.h.
 */
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <time.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/server_impl.h"

#define SWEEP_US 2000000
#define IDLE_S 75
#define WRITE_S 120
#define S_NS 1000000000LL

int64_t server_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * S_NS + t.tv_nsec;
}

/* libmicrohttpd says when it wants to run again without an event. */
static int arm_timer(struct server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(s->daemon, &ms) != MHD_YES)
		return sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
	if (ms > 60000)
		ms = 60000;
	sd_event_source_set_time_relative(s->timer, ms * 1000);
	return sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static int run(struct server *s)
{
	do {
		s->has_resumed = false;
		MHD_run(s->daemon);
	} while (s->has_resumed);
	return arm_timer(s);
}

void server_note_resume(struct server *s)
{
	s->has_resumed = true;
	sd_event_source_set_time_relative(s->timer, 0);
	sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	(void)source;
	(void)fd;
	(void)events;
	return run(ctx);
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	(void)source;
	(void)us;
	return run(ctx);
}

static int64_t allowed_s(const struct server *s, enum connection_phase phase)
{
	switch (phase) {
	case PHASE_IDLE:
		return IDLE_S;
	case PHASE_READ:
		return s->config.request_timeout_s;
	case PHASE_WRITE:
		return WRITE_S;
	default:
		return INT32_MAX;
	}
}

static void cut(struct connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
}

/* Inactivity is libmicrohttpd's to see; a client that trickles is ours. */
static int on_sweep(sd_event_source *source, uint64_t us, void *ctx)
{
	struct server *s = ctx;
	int64_t now = server_now_ns();

	(void)us;
	for (struct connection *c = s->connections; c; c = c->next)
		if (now - c->since_ns > allowed_s(s, c->phase) * S_NS)
			cut(c);
	if (s->has_freed)
		malloc_trim(0);
	s->has_freed = false;
	sd_event_source_set_time_relative(source, SWEEP_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void add_connection(struct server *s, struct MHD_Connection *mhd, void **socket_ctx)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->mhd = mhd;
	c->since_ns = server_now_ns();
	c->next = s->connections;
	if (c->next)
		c->next->previous = c;
	s->connections = c;
	s->counts.connections++;
	*socket_ctx = c;
}

static void remove_connection(struct server *s, struct connection *c)
{
	if (!c)
		return;
	if (c->previous)
		c->previous->next = c->next;
	else
		s->connections = c->next;
	if (c->next)
		c->next->previous = c->previous;
	s->counts.connections--;
	free(c);
}

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		add_connection(ctx, mhd, socket_ctx);
	else
		remove_connection(ctx, *socket_ctx);
}

void connection_set_phase(struct MHD_Connection *mhd, enum connection_phase phase)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *c = info ? info->socket_context : NULL;

	if (!c)
		return;
	c->phase = phase;
	c->since_ns = server_now_ns();
}

static int start_daemon(struct server *s, struct err *err)
{
	const struct server_config *c = &s->config;

	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, exchange_access, s,
		MHD_OPTION_LISTEN_SOCKET, c->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		c->max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)c->request_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)32768, MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, s,
		MHD_OPTION_NOTIFY_COMPLETED, exchange_end, s, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, s, MHD_OPTION_END);
	if (!s->daemon)
		return err_set(err, -EIO, "the HTTP server did not start: %m");
	return 0;
}

static int attach(struct server *s, struct err *err)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	if (!info)
		return err_set(err, -EIO, "libmicrohttpd has no epoll descriptor");
	r = sd_event_add_io(s->config.event, &s->io, info->epoll_fd, EPOLLIN, on_io, s);
	if (r >= 0)
		/* Accuracy 0 would be sd-event's default: a quarter of a second late. */
		r = sd_event_add_time_relative(s->config.event, &s->timer, CLOCK_MONOTONIC, 0,
					       1, on_timer, s);
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
	r = start_daemon(s, err);
	if (r >= 0)
		r = attach(s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct server *server_close(struct server *s)
{
	if (!s)
		return NULL;
	if (s->daemon) {
		/* It would close a descriptor that is the caller's. */
		MHD_quiesce_daemon(s->daemon);
		s->is_closing = true;
		exchange_drop_held(s);
		/* It may not be stopped while it has one that was not resumed. */
		do {
			s->has_resumed = false;
			MHD_run(s->daemon);
		} while (s->has_resumed);
		MHD_stop_daemon(s->daemon);
	}
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->timer);
	sd_event_source_disable_unref(s->sweep);
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

static int bind_one(const struct addrinfo *a, int *ret_fd)
{
	_cleanup_close_ int fd = socket(
		a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
	int one = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int server_listen(const char *where, int *ret_fd, struct err *err)
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
	r = bind_one(found, ret_fd);
	if (r < 0)
		return err_set(err, r, "listen on %s: %s; is another controller running?",
			       where, strerror(-r));
	return 0;
}

void server_get_counts(const struct server *s, struct server_counts *ret)
{
	*ret = s->counts;
}
