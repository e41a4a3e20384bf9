/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handshake.c - the agent's side of the launcher handshake; see handshake/handshake.h and agent/launch/plan.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "agent/job/handshake/handshake.h"
#include "agent/job/handshake/keep_view.h"
#include "agent/job/handshake/make_plan.h"
#include "agent/job/output.h"
#include "agent/job/handshake/plan.h"
#include "agent/job/report.h"
#include "agent/job/save.h"
#include "agent/job/phase/attach.h"
#include "agent/job/phase/kill.h"
#include "common/log.h"
#include "common/utf8.h"

#define IN_MAX 2048 /* more than any frame that a launcher may send */

struct handshake_server {
	struct node *node;
	int fd;
	sd_event_source *io;
};

struct handshake {
	struct job *job;
	int fd;
	sd_event_source *io;
	char in[IN_MAX];
	size_t n_in;
	char *out;
	size_t n_out, out_at;
	int pass[2];  /* stream files that go with the first byte; -1 */
	bool is_told; /* GO was sent */
};

/* The launcher has its own descriptors after sendmsg(); the agent keeps none of the user's files open. */
static void pass_done(struct handshake *g)
{
	for (int i = 0; i < 2; i++) {
		if (g->pass[i] >= 0)
			close(g->pass[i]);
		g->pass[i] = -1;
	}
}

static void handshake_free(struct handshake *g)
{
	if (g->job && g->job->handshake == g)
		g->job->handshake = NULL;
	sd_event_source_disable_unref(g->io);
	pass_done(g);
	free(g->out);
	close(g->fd);
	free(g);
}

void handshake_drop(struct job *j)
{
	if (j->handshake)
		handshake_free(j->handshake);
}

/* As much as the socket takes. The descriptors go with the first byte, and once. */
static ssize_t send_some(struct handshake *g)
{
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec part = { g->out + g->out_at, g->n_out - g->out_at };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (g->pass[0] >= 0) {
		m.msg_control = control.buf;
		m.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(c), g->pass, 2 * sizeof(int));
	}
	n = sendmsg(g->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		pass_done(g);
	return n;
}

/* 0: sent, or the rest is sent when the socket has room. -EPIPE: the launcher is gone. */
static int flush_out(struct handshake *g)
{
	while (g->out_at < g->n_out) {
		ssize_t n = send_some(g);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			return -EPIPE;
		g->out_at += (size_t)n;
	}
	return sd_event_source_set_io_events(g->io, g->out_at < g->n_out ? EPOLLIN | EPOLLOUT
									 : EPOLLIN);
}

/* Becomes the owner of `data`. A launcher has one answer under way at a time. */
static int send_frame(struct handshake *g, char *data, size_t size)
{
	if (!data)
		return -ENOMEM;
	free(g->out);
	g->out = data;
	g->n_out = size;
	g->out_at = 0;
	return flush_out(g);
}

/* Lets the launcher execute the user's program. */
static int send_go(struct handshake *g)
{
	struct plan_head *go = calloc(1, sizeof(*go));

	if (go)
		go->type = PLAN_GO;
	g->is_told = true;
	return send_frame(g, (char *)go, sizeof(*go));
}

static int send_plan(struct node *n, struct handshake *g, struct err *err)
{
	struct job *j = g->job;
	size_t size;
	char *data;
	int r = 0;

	if (!j->s.request.script && !j->s.request.argv) /* not kept in memory once it ran */
		r = state_load_command(n->db, j->s.job, j->s.attempt, &j->s.request, err);
	if (!r && j->s.request.stream && !job_is_sister(j))
		r = job_output_create(j, g->pass, err);
	if (!r)
		r = handshake_make_plan(j, NULL, &data, &size, err);
	return r ? r : send_frame(g, data, size);
}

/* The job cannot be started within its limits: record why and kill its unit. Always -ECANCELED. */
static int refuse_launch(struct handshake *g, const char *why)
{
	struct job *j = g->job;

	job_fail(j, "%.250s", why);
	if (j->kill_fd >= 0)
		job_kill_now(j);
	else
		job_kill_launcher(j);
	job_act_after(j, 0);
	return -ECANCELED;
}

/* A launcher that asks again (its agent died, or the connection was dropped) gets the same answer:
 * job_attach(), keeping its view and the plan are repeatable. */
static int on_hello(struct node *n, struct handshake *g)
{
	struct job *j = g->job;
	struct err err;
	int r;

	if (j->s.end.kind != END_NONE)
		return refuse_launch(g, "the job was ended before it began");
	r = job_attach(n, j, j->s.pid, &err);
	if (!r && handshake_keep_view(n, j) > 0)
		return -EAGAIN;
	if (!r)
		r = send_plan(n, g, &err);
	return r < 0 ? refuse_launch(g, err.text) : 0;
}

/* Path, device and inode of the file that the launcher opened for stderr, for end_message_write(). A part on
 * another node has none. */
static void note_error_file(struct job *j, const struct plan_opened *o)
{
	_cleanup_free_ char *out = NULL, *err = NULL;
	const char *path = NULL;
	char stream[4200];

	if (job_is_sister(j))
		path = NULL; /* it writes nothing */
	else if (j->s.request.stream)
		path = job_file(j, j->s.request.join ? "out" : "err", stream, sizeof(stream));
	else if (job_plan_outputs(&j->s.request, j->s.job, &out, &err) == 0)
		path = err ? err : out;
	free(j->s.err_path);
	j->s.err_path = path ? strdup(path) : NULL;
	j->s.err_dev = o->err.dev;
	j->s.err_ino = o->err.ino;
}

/* The job is saved as running before the user's first instruction: an agent that dies now charges the job
 * and finds it again. Its first report, or its end, syncs that (report_soon()). */
static int on_opened(struct handshake *g, const struct plan_opened *o)
{
	char cpus[CPULIST_TEXT_MAX];
	struct job *j = g->job;
	struct err err;

	if (j->phase == PHASE_UNIT) {
		note_error_file(j, o);
		report_save_baseline(j->node, j);
		clock_start(&j->clock, node_now_ns());
		j->s.clock.started_ns = node_realtime_ns();
		j->phase = PHASE_RUNNING;
		if (job_save_lazy(j, &err) < 0) {
			j->phase = PHASE_UNIT;
			j->clock = (struct clock){ 0 };
			j->s.clock.started_ns = 0;
			job_act_after(j, 1000);
			return -EIO; /* the launcher asks again */
		}
		log_job(LOG_INFO, j->s.job, "start", "started for %s on cpus %s",
			j->s.request.user, cpulist_format(&j->s.cpus, cpus, sizeof(cpus)));
		job_enter_phase(j, PHASE_RUNNING);
	}
	request_shed(&j->s.request);
	return send_go(g);
}

/* The launcher reports that it cannot start the program, and repeats it until GO answers: the reason is
 * latched then. After exec no process is left to report it. */
static int on_failed(struct handshake *g, const char *text, size_t size)
{
	struct job *j = g->job;
	char words[PLAN_FAILED_MAX + 1];

	utf8_copy(words, sizeof(words), text, size);
	if (!j->is_executed) {
		job_fail(j, "%.250s", words);
		job_act_after(j, 0);
	}
	return send_go(g);
}

/* One whole frame. The launcher runs as the user: its sizes and texts are checked like any input. */
static int on_frame(struct node *n, struct handshake *g, struct plan_head head,
		    const char *data)
{
	struct plan_opened opened;
	uint32_t version;

	switch (head.type) {
	case PLAN_HELLO:
		if (head.size != sizeof(version))
			return -EBADMSG;
		memcpy(&version, data, sizeof(version));
		if (version != PLAN_VERSION)
			return refuse_launch(
				g, "the launcher is of another version than the agent");
		return on_hello(n, g);
	case PLAN_OPENED:
		if (head.size != sizeof(opened) || !g->job->is_attached)
			return -EBADMSG;
		memcpy(&opened, data, sizeof(opened));
		return on_opened(g, &opened);
	case PLAN_FAILED:
		return head.size > PLAN_FAILED_MAX ? -EBADMSG : on_failed(g, data, head.size);
	default:
		return -EBADMSG;
	}
}

/* -EBADMSG: not a frame of the protocol; the connection is dropped, and a launcher asks again. */
static int take_frames(struct node *n, struct handshake *g)
{
	struct plan_head head;
	int r = 0;

	while (!r && g->n_in >= sizeof(head)) {
		size_t whole;

		memcpy(&head, g->in, sizeof(head));
		if (head.size > IN_MAX - sizeof(head))
			return -EBADMSG;
		whole = sizeof(head) + head.size;
		if (g->n_in < whole)
			break;
		r = on_frame(n, g, head, g->in + sizeof(head));
		g->n_in -= whole;
		memmove(g->in, g->in + whole, g->n_in);
	}
	return r;
}

/* Any error, and the end of the connection, frees the handshake: it is not used after that. */
static int on_handshake(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct handshake *g = userdata;
	struct job *j = g->job;
	ssize_t n;
	int r = 0;

	(void)s;
	if (revents & EPOLLOUT)
		r = flush_out(g);
	n = r < 0 ? 0 : recv(fd, g->in + g->n_in, sizeof(g->in) - g->n_in, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n > 0) {
		g->n_in += (size_t)n;
		r = take_frames(j->node, g);
		if (r >= 0)
			return 0;
	}
	/* Closed by exec: the launcher has become the user's program. */
	if (n == 0 && g->is_told && j->phase == PHASE_RUNNING)
		j->is_executed = true;
	handshake_free(g);
	return 0;
}

/* The job of which this peer is the launcher; NULL: of none. By its cgroup, its uid and, once a launcher
 * has connected, its pid: a process that the user started in the unit gets no plan. */
static struct job *peer_job(struct node *n, int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	struct manager_id id;
	struct job *j;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
	    manager_find(n->ops->parent(n->manager), who.pid, &id, NULL) < 0)
		return NULL;
	j = job_find(n, id.job, id.attempt);
	if (!j || j->s.request.uid != who.uid || j->is_executed)
		return NULL;
	if (j->phase == PHASE_UNIT)
		j->s.pid = who.pid;
	return (j->phase == PHASE_UNIT || j->phase == PHASE_RUNNING) && j->s.pid == who.pid
		       ? j
		       : NULL;
}

/* A second connection of the same job replaces the first one: a launcher has one at a time. */
static int on_connect(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct handshake_server *k = userdata;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct job *j = peer < 0 ? NULL : peer_job(k->node, peer);
	struct handshake *g = j ? calloc(1, sizeof(*g)) : NULL;

	(void)s;
	(void)revents;
	if (!g) {
		if (peer >= 0)
			close(peer);
		return 0;
	}
	handshake_drop(j);
	*g = (struct handshake){ .job = j, .fd = peer, .pass = { -1, -1 } };
	j->handshake = g;
	if (sd_event_add_io(k->node->event, &g->io, peer, EPOLLIN, on_handshake, g) < 0)
		handshake_free(g);
	return 0;
}

/* 0666: launchers run as users. What counts is the peer's cgroup, see peer_job(). */
static int listen_at(const char *path, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(err, -ENAMETOOLONG, "RunDirectory is too long for a socket");
	strcpy(at.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    chmod(path, 0666) < 0 || listen(fd, 512) < 0)
		return err_set(err, -errno, "listen at %s: %m", path);
	return TAKE_FD(fd);
}

int handshake_server_open(struct node *n, struct handshake_server **ret, struct err *err)
{
	struct handshake_server *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->node = n;
	k->fd = listen_at(n->socket, err);
	r = k->fd < 0 ? k->fd
		      : sd_event_add_io(n->event, &k->io, k->fd, EPOLLIN, on_connect, k);
	if (r < 0) {
		handshake_server_close(k);
		return r;
	}
	handshake_start_keeper(n);
	*ret = k;
	return 0;
}

struct handshake_server *handshake_server_close(struct handshake_server *k)
{
	if (!k)
		return NULL;
	sd_event_source_disable_unref(k->io);
	if (k->fd >= 0)
		close(k->fd);
	free(k);
	return NULL;
}
