/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.c - accept connections of root, read one question of each, send its answer now or later; see server.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "agent/foreign/server.h"
#include "common/log.h"

#define CONNECTIONS_MAX 4096 /* each task of a job that begins has one for a moment */
#define LOOK_US 50000	     /* how often an answer that waits is looked at */
#define TICK_US 1000000

struct foreign_server {
	struct node *node;
	const struct foreign_protocol *protocol;
	char path[600];
	int fd;
	sd_event_source *io, *tick;
	struct connection *connections;
	int n_connections;
};

struct connection {
	struct connection *next;
	struct foreign_server *server;
	int fd;
	sd_event_source *io, *timer;
	struct foreign_exchange x;
};

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
	close(c->fd);
	free(c);
}

/* Frees the connection. A peer that has gone gets no answer; what it asked for was done all the same. */
static void send_answer(struct connection *c)
{
	if (send(c->fd, c->x.answer, c->x.n_answer, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_line(LOG_WARNING, "%s: process %d did not take its answer: %m",
			 c->server->protocol->name, (int)c->x.peer);
	connection_free(c);
}

/* A timer and not an event of the job: answers wait for different things. */
static int on_look(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct connection *c = userdata;
	int r;

	(void)usec;
	if (!c->server->protocol->look(c->server->node, &c->x)) {
		send_answer(c);
		return 0;
	}
	r = sd_event_source_set_time_relative(s, LOOK_US);
	return r < 0 ? r : sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* The connection stays open; its peer leaves by closing it (on_question()). */
static void answer_later(struct connection *c)
{
	sd_event *e = c->server->node->event;

	if (sd_event_add_time_relative(e, &c->timer, CLOCK_MONOTONIC, 0, 1000, on_look, c) < 0)
		connection_free(c);
}

static int on_question(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct connection *c = userdata;
	ssize_t n;
	int r;

	(void)s, (void)revents;
	/* One question: a second readable event is the peer that leaves. */
	if (c->timer) {
		connection_free(c);
		return 0;
	}
	n = recv(fd, c->x.question, sizeof(c->x.question) - 1, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0 || (size_t)n >= sizeof(c->x.question)) {
		connection_free(c);
		return 0;
	}
	c->x.n_question = (size_t)n;
	c->x.asked_ns = node_now_ns();
	r = c->server->protocol->ask(c->server->node, &c->x);
	if (r < 0)
		connection_free(c);
	else if (r > 0)
		answer_later(c);
	else
		send_answer(c);
	return 0;
}

/* Root alone, by what the kernel says of the peer; others see their connection closed. */
static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct foreign_server *s = userdata;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(who);
	struct connection *c = NULL;

	(void)source, (void)revents;
	if (peer < 0)
		return 0;
	if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == 0 &&
	    s->n_connections < CONNECTIONS_MAX)
		c = calloc(1, sizeof(*c));
	if (!c) {
		close(peer);
		return 0;
	}
	c->server = s;
	c->fd = peer;
	c->x.peer = who.pid;
	c->next = s->connections;
	s->connections = c;
	s->n_connections++;
	if (sd_event_add_io(s->node->event, &c->io, peer, EPOLLIN, on_question, c) < 0)
		connection_free(c);
	return 0;
}

/* 0600: slurmd and slurmstepd ask as root. */
static int listen_at(const char *path, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(err, -ENAMETOOLONG, "RunDirectory is too long for a socket");
	strcpy(at.sun_path, path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    chmod(path, 0600) < 0 || listen(fd, 512) < 0)
		return err_set(err, -errno, "listen at %s: %m", path);
	return TAKE_FD(fd);
}

static int on_second(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct foreign_server *s = userdata;
	int r;

	(void)usec;
	s->protocol->tick(s->node);
	r = sd_event_source_set_time_relative(source, TICK_US);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int foreign_server_open(struct node *n, const struct foreign_protocol *p,
			struct foreign_server **ret, struct err *err)
{
	struct foreign_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->node = n;
	s->protocol = p;
	snprintf(s->path, sizeof(s->path), "%s/%s", n->conf->run_dir, p->socket);
	if (p->open)
		p->open(n);
	s->fd = listen_at(s->path, err);
	r = s->fd < 0 ? s->fd
		      : sd_event_add_io(n->event, &s->io, s->fd, EPOLLIN, on_connect, s);
	if (r >= 0)
		r = sd_event_add_time_relative(n->event, &s->tick, CLOCK_BOOTTIME, TICK_US, 0,
					       on_second, s);
	if (r < 0) {
		foreign_server_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct foreign_server *foreign_server_close(struct foreign_server *s)
{
	if (!s)
		return NULL;
	while (s->connections)
		connection_free(s->connections);
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->tick);
	if (s->fd >= 0) {
		close(s->fd);
		unlink(s->path); /* tells the batch system that the agent was stopped, and is not being restarted */
	}
	free(s);
	return NULL;
}
