/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.c - accept clients, read the head of one request of each, send the text; see metrics/server.h. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "agent/metrics/address.h"
#include "agent/metrics/collect.h"
#include "agent/metrics/request.h"
#include "agent/metrics/server.h"
#include "common/time_units.h"
#include "common/token.h"

#define CONNECTIONS_MAX 32
#define TIME_US 5000000	      /* for a connection, from its beginning to its end */
#define KEEP_NS (1 * S_NS)    /* how long a text is served again */
#define SEND_MAX (256u << 10) /* at once; then the event loop does what else is due */
/* So many events of a source in 100 ms: of the listening one, each with at most ACCEPTS_MAX clients, of a client. */
#define PERIOD_US 100000
#define LISTEN_EVENTS_MAX 10
#define CLIENT_EVENTS_MAX 20
#define ACCEPTS_MAX 8
#define BACKLOG 1024 /* what waits longer than the kernel has room for is refused there */
#define FORMS 4

/* A text, and how many connections still send it. */
struct page {
	char *text;
	size_t size;
	int refs;
	int64_t made_ns;
};

struct metrics_server {
	struct node *node;
	struct metrics_address address;
	int fd;
	sd_event_source *io;
	struct connection *connections; /* oldest first */
	int n_connections;
	struct page *pages[FORMS]; /* by form_index(); NULL: not made yet */
};

struct connection {
	struct connection *next;
	struct metrics_server *server;
	int fd;
	sd_event_source *io, *timer;
	struct page *page; /* NULL: an answer without a text */
	size_t n_in, n_head, sent;
	char head[256]; /* n_head 0: the request is still read */
	char in[METRICS_REQUEST_MAX];
};

static struct page *page_unref(struct page *p)
{
	if (p && --p->refs == 0) {
		free(p->text);
		free(p);
	}
	return NULL;
}

/* Also takes it off the server's list. */
static void connection_free(struct connection *c)
{
	struct connection **at = &c->server->connections;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->server->n_connections--;
	sd_event_source_disable_unref(c->io);
	sd_event_source_disable_unref(c->timer);
	page_unref(c->page);
	close(c->fd);
	free(c);
}

/* ---- the answer ---- */

static bool is_local(const struct metrics_server *s)
{
	return s->address.at.any.sa_family == AF_UNIX;
}

/* Which clients may see single jobs: of a socket file, all that may open it; of a port, those with the token.
 * 401: the token is wrong. */
static int check_client(const struct metrics_server *s, const struct metrics_request *request,
			struct metrics_form *form)
{
	const char *path = s->node->conf->metrics_token;
	char token[TOKEN_MAX];

	form->has_jobs = is_local(s);
	if (form->has_jobs || !request->authorization)
		return 200;
	if (!path || token_read(path, token, NULL) < 0 ||
	    !token_is_shown(request->authorization, token))
		return 401;
	form->has_jobs = true;
	return 200;
}

static size_t form_index(struct metrics_form form)
{
	return (form.is_openmetrics ? 1u : 0u) + (form.has_jobs ? 2u : 0u);
}

/* A reference to the text of this form, made now or less than KEEP_NS ago. NULL: no memory. */
static struct page *take_page(struct metrics_server *s, struct metrics_form form)
{
	struct page **kept = &s->pages[form_index(form)], *p = *kept;
	int64_t now_ns = node_now_ns();

	if (!p || now_ns - p->made_ns >= KEEP_NS) {
		p = calloc(1, sizeof(*p));
		if (!p || metrics_collect(s->node, form, &p->text, &p->size) < 0) {
			free(p);
			return NULL;
		}
		p->refs = 1;
		p->made_ns = now_ns;
		page_unref(*kept);
		*kept = p;
	}
	p->refs++;
	return p;
}

/* One piece. 1: all is sent; 0: more follows; < 0: the client is gone. */
static int send_some(struct connection *c)
{
	size_t n_text = c->page ? c->page->size : 0, in_text;
	const char *from;
	size_t n;
	ssize_t r;

	if (c->sent < c->n_head) {
		from = c->head + c->sent;
		n = c->n_head - c->sent;
	} else {
		in_text = c->sent - c->n_head;
		from = c->page ? c->page->text + in_text : NULL;
		n = n_text - in_text;
	}
	if (n > SEND_MAX)
		n = SEND_MAX;
	if (n == 0)
		return 1;
	r = send(c->fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (r < 0)
		return errno == EAGAIN ? 0 : -errno;
	c->sent += (size_t)r;
	return c->sent == c->n_head + n_text;
}

/* Head and first piece now, the rest by events. Frees the connection when all is sent. */
static void send_answer(struct connection *c)
{
	size_t before;
	int r;

	do {
		before = c->sent;
		r = send_some(c);
	} while (r == 0 && c->sent > before && c->sent <= c->n_head);
	if (r != 0)
		connection_free(c);
	else if (sd_event_source_set_io_events(c->io, EPOLLOUT) < 0)
		connection_free(c);
}

static void format_head(struct connection *c, int status, bool is_openmetrics)
{
	const struct metrics_text t = { NULL, is_openmetrics };

	c->n_head = (size_t)snprintf(
		c->head, sizeof(c->head),
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n",
		status, metrics_request_reason(status),
		status == 200 ? metrics_type(&t) : "text/plain", c->page ? c->page->size : 0,
		status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

static void answer_request(struct connection *c, const struct metrics_request *request)
{
	struct metrics_form form = { metrics_wants_open(request->accept), false };
	int status = request->status;

	if (status == 200)
		status = check_client(c->server, request, &form);
	if (status == 200) {
		c->page = take_page(c->server, form);
		status = c->page ? 200 : 500;
	}
	format_head(c, status, form.is_openmetrics);
	if (request->is_head)
		c->page = page_unref(c->page);
	send_answer(c);
}

/* ---- the request ---- */

static void read_some(struct connection *c)
{
	ssize_t n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in, MSG_DONTWAIT);
	struct metrics_request request;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		connection_free(c);
		return;
	}
	c->n_in += (size_t)n;
	if (metrics_request_parse(c->in, c->n_in, &request))
		answer_request(c, &request);
}

static int on_client(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct connection *c = userdata;

	(void)s, (void)fd, (void)revents;
	if (c->n_head)
		send_answer(c);
	else
		read_some(c);
	return 0;
}

static int on_timeout(sd_event_source *s, uint64_t usec, void *userdata)
{
	(void)s, (void)usec;
	connection_free(userdata);
	return 0;
}

static int watch_client(struct connection *c)
{
	sd_event *e = c->server->node->event;
	int r = sd_event_add_io(e, &c->io, c->fd, EPOLLIN, on_client, c);

	if (r >= 0)
		r = sd_event_source_set_priority(c->io, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_source_set_ratelimit(c->io, PERIOD_US, CLIENT_EVENTS_MAX);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &c->timer, CLOCK_MONOTONIC, TIME_US, 100000,
					       on_timeout, c);
	return r;
}

/* The oldest client goes for a new one: those that say nothing keep no other out. */
static void add_client(struct metrics_server *s, int peer)
{
	struct connection *c = malloc(sizeof(*c)), **at = &s->connections;

	if (!c) {
		close(peer);
		return;
	}
	*c = (struct connection){ .server = s, .fd = peer };
	if (s->n_connections >= CONNECTIONS_MAX)
		connection_free(s->connections);
	while (*at)
		at = &(*at)->next;
	*at = c;
	s->n_connections++;
	if (watch_client(c) < 0)
		connection_free(c);
	else
		read_some(c); /* the request is most often there with the connection */
}

static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	int peer;

	(void)source, (void)revents;
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (peer < 0)
			break;
		add_client(userdata, peer);
	}
	return 0;
}

/* ---- open and close ---- */

/* 0660: root, and the group of MetricsGroup=. Another file of this name is not removed. */
static int bind_path(struct metrics_server *s, int fd, struct err *err)
{
	const char *path = s->address.at.local.sun_path, *name = s->node->conf->metrics_group;
	const struct group *group = name ? getgrnam(name) : NULL;
	struct stat st;

	if (name && !group)
		return err_set(err, -ENOENT, "MetricsGroup = %.80s: no such group here", name);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	if (bind(fd, &s->address.at.any, s->address.size) < 0)
		return err_set(err, -errno, "%s: %m", path);
	if (chown(path, 0, group ? group->gr_gid : 0) < 0 || chmod(path, 0660) < 0)
		return err_set(err, -errno, "chown and chmod %s: %m", path);
	return 0;
}

static int bind_port(struct metrics_server *s, int fd, struct err *err)
{
	const int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &s->address.at.any, s->address.size) < 0)
		return err_set(err, -errno, "bind: %m");
	return 0;
}

static int start_listening(struct metrics_server *s, struct err *err)
{
	_cleanup_close_ int fd = socket(s->address.at.any.sa_family,
					SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return err_set(err, -errno, "socket: %m");
	r = is_local(s) ? bind_path(s, fd, err) : bind_port(s, fd, err);
	if (r < 0)
		return r;
	if (listen(fd, BACKLOG) < 0)
		return err_set(err, -errno, "listen: %m");
	r = sd_event_add_io(s->node->event, &s->io, fd, EPOLLIN, on_connect, s);
	if (r >= 0)
		r = sd_event_source_set_priority(s->io, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_source_set_ratelimit(s->io, PERIOD_US, LISTEN_EVENTS_MAX);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	s->fd = TAKE_FD(fd);
	return 0;
}

static void check_token(struct node *n)
{
	char token[TOKEN_MAX];
	struct err err;

	if (n->conf->metrics_token && token_read(n->conf->metrics_token, token, &err) < 0)
		node_note(n, "metrics: no client gets those of jobs: MetricsToken: %s",
			  err.text);
}

int metrics_server_open(struct node *n, struct metrics_server **ret, struct err *err)
{
	struct metrics_server *s;
	int r;

	*ret = NULL;
	if (!n->conf->metrics_listen)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->node = n;
	s->fd = -1;
	r = metrics_address_parse(n->conf->metrics_listen, &s->address, err);
	if (!r)
		r = start_listening(s, err);
	if (r < 0) {
		node_note(n, "metrics: cannot listen at %s: %s", n->conf->metrics_listen,
			  err->text);
		metrics_server_close(s);
		return 0;
	}
	check_token(n);
	*ret = s;
	return 0;
}

struct metrics_server *metrics_server_close(struct metrics_server *s)
{
	if (!s)
		return NULL;
	while (s->connections)
		connection_free(s->connections);
	for (size_t i = 0; i < FORMS; i++)
		page_unref(s->pages[i]);
	sd_event_source_disable_unref(s->io);
	if (s->fd >= 0) {
		close(s->fd);
		if (is_local(s))
			unlink(s->address.at.local.sun_path);
	}
	free(s);
	return NULL;
}
