/* server.c - accept the plugin's connections, one question each, root alone; see server.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "agent/slurm/jobs.h"
#include "agent/slurm/server.h"
#include "common/log.h"
#include "common/time_units.h"

#define CONNECTIONS_MAX 4096 /* each task of a job that begins has one for a moment */
#define LOOK_US 50000	     /* how often an answer that waits is looked at */
#define TICK_US 1000000
/* slurmctld that does not answer scontrol must not keep the end message from the user: the plugin waits 30 s for it. */
#define COMMENT_NS (10 * S_NS)

struct slurm_server {
	struct node *node;
	char path[600];
	int fd;
	sd_event_source *io, *tick;
	struct connection *connections;
	int n_connections;
};

struct connection {
	struct connection *next;
	struct slurm_server *server;
	int fd;
	int32_t peer;
	sd_event_source *io, *timer;
	struct slurm_question q;
	struct slurm_answer answer;
	int64_t asked_ns; /* CLOCK_BOOTTIME */
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
static void send_answer(struct connection *c, struct slurm_answer *a)
{
	a->version = SLURM_HANDSHAKE_VERSION;
	if (send(c->fd, a, sizeof(*a), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_line(LOG_WARNING, "slurm: job %u: the answer was not taken: %m", c->q.job);
	connection_free(c);
}

/* The Epilog waits until the job's disk is gone, and the end of a task until slurmctld knows why. */
static bool is_to_wait(const struct connection *c)
{
	struct node *n = c->server->node;

	if (c->q.kind == SLURM_END)
		return !slurm_jobs_is_over(n, &c->q);
	return c->q.kind == SLURM_EXIT && slurm_jobs_is_commenting(n, &c->q) &&
	       node_now_ns() - c->asked_ns < COMMENT_NS;
}

/* A timer and not an event of the job: the answers of EXIT and END wait for different things. */
static int on_look(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct connection *c = userdata;
	int r;

	(void)usec;
	if (!is_to_wait(c)) {
		send_answer(c, &c->answer);
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

/* Frees the connection, unless the answer has to wait. */
static void answer_question(struct connection *c)
{
	struct slurm_answer *a = &c->answer;
	struct node *n = c->server->node;

	c->asked_ns = node_now_ns();
	a->kind = SLURM_GO;
	switch (c->q.kind) {
	case SLURM_BEGIN:
		slurm_jobs_begin(n, &c->q, a);
		break;
	case SLURM_STEP:
		slurm_jobs_step(n, &c->q, c->peer, a);
		break;
	case SLURM_TASK:
		slurm_jobs_task(n, &c->q, c->peer, a);
		break;
	case SLURM_EXIT:
		slurm_jobs_exit(n, &c->q, c->peer, a);
		break;
	case SLURM_END:
		slurm_jobs_end(n, &c->q);
		break;
	default:
		connection_free(c);
		return;
	}
	if (is_to_wait(c))
		answer_later(c);
	else
		send_answer(c, a);
}

static int on_question(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct connection *c = userdata;
	ssize_t n = recv(fd, &c->q, sizeof(c->q), MSG_DONTWAIT);

	(void)s, (void)revents;
	if (n < 0 && errno == EAGAIN)
		return 0;
	/* One question: a second readable event is the peer that leaves. */
	if (c->timer || n != (ssize_t)sizeof(c->q)) {
		connection_free(c);
		return 0;
	}
	if (c->q.version != SLURM_HANDSHAKE_VERSION || c->q.job == 0) {
		log_line(
			LOG_ERR,
			"slurm: reeve_spank.so is of another version than reeve-agent: install one version of both");
		send_answer(c, &(struct slurm_answer){ .kind = SLURM_REFUSED });
		return 0;
	}
	answer_question(c);
	return 0;
}

/* Root alone, by what the kernel says of the peer; others see their connection closed. */
static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct slurm_server *s = userdata;
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
	*c = (struct connection){
		.server = s, .fd = peer, .peer = who.pid, .next = s->connections
	};
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

/* Each second: SampleInterval may be minutes, and suspended time is free. */
static int on_second(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct slurm_server *s = userdata;
	int r;

	(void)usec;
	slurm_jobs_tick(s->node);
	r = sd_event_source_set_time_relative(source, TICK_US);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int slurm_server_open(struct node *n, struct slurm_server **ret, struct err *err)
{
	struct slurm_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->node = n;
	snprintf(s->path, sizeof(s->path), "%s/slurm.sock", n->conf->run_dir);
	s->fd = listen_at(s->path, err);
	r = s->fd < 0 ? s->fd
		      : sd_event_add_io(n->event, &s->io, s->fd, EPOLLIN, on_connect, s);
	if (r >= 0)
		r = sd_event_add_time_relative(n->event, &s->tick, CLOCK_BOOTTIME, TICK_US, 0,
					       on_second, s);
	if (r < 0) {
		slurm_server_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct slurm_server *slurm_server_close(struct slurm_server *s)
{
	if (!s)
		return NULL;
	while (s->connections)
		connection_free(s->connections);
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->tick);
	if (s->fd >= 0) {
		close(s->fd);
		unlink(s->path); /* tells the plugin that the agent was stopped, and is not being restarted */
	}
	free(s);
	return NULL;
}
