/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adopt.c - put a session (ssh) into a job of its user; see step/adopt.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/job.h"
#include "agent/step/adopt.h"
#include "agent/job/handshake/make_plan.h"
#include "agent/job/phase/attach.h"
#include "agent/launch/adopt.h"
#include "common/views/datagram.h"
#include "common/log.h"

/* What sshd and a shell map before the user does anything. A session that exceeds the job's vmem at once
 * would end the job, so it is refused instead. */
#define SESSION_VMEM_BYTES ((uint64_t)64 << 20)
#define SESSION_PIDS 4 /* sshd twice, a shell, a command */

struct adopt_server {
	struct node *node;
	int fd;
	sd_event_source *io;
};

/* A datagram and who sent it. */
struct asker {
	struct adopt_request request;
	struct datagram message;
};

static bool can_adopt(const struct job *j, uint32_t uid)
{
	return j->s.request.uid == uid && j->phase == PHASE_RUNNING && j->is_attached &&
	       j->s.end.kind == END_NONE;
}

/* Of several jobs the one that started last. NULL: none, *ret_why says why. */
static struct job *choose_job(const struct node *n, uint32_t uid, const char **ret_why)
{
	struct job *best = NULL;

	*ret_why = "no job of yours runs on this node";
	for (struct job *j = n->jobs; j; j = j->next) {
		if (!can_adopt(j, uid))
			continue;
		if (j->is_frozen || j->pause != PAUSE_NONE) {
			*ret_why = "your job on this node is suspended";
			continue;
		}
		if (!best || j->s.clock.started_ns >= best->s.clock.started_ns)
			best = j;
	}
	return best;
}

/* The kernel does not refuse a process that is moved into a full cgroup, but counts it: check first. */
static int check_room(struct job *j, struct err *err)
{
	int64_t pids = j->s.request.res.pids, limit = j->s.request.res.vmem_bytes;
	char path[MANAGER_PATH_MAX], text[64];
	struct vmem_usage u;

	if (pids > 0 &&
	    manager_read(job_cgroup(j, path), "pids.current", text, sizeof(text), NULL) == 0 &&
	    strtoll(text, NULL, 10) + SESSION_PIDS > pids)
		return err_set(err, -EAGAIN,
			       "job %" PRId64 " has %s of its %" PRId64
			       " processes and threads; a session needs %d more",
			       j->s.job, text, pids, SESSION_PIDS);
	if (limit > 0 && vmem_read(j->node->vmem, j->work_id, &u, NULL) == 0 &&
	    u.now_bytes + SESSION_VMEM_BYTES > (uint64_t)limit)
		return err_set(err, -EAGAIN,
			       "job %" PRId64 " has %" PRIu64 " of its %" PRId64
			       " bytes of vmem in use; a session needs %" PRIu64 " more",
			       j->s.job, u.now_bytes, limit, SESSION_VMEM_BYTES);
	return 0;
}

static int move_in(const char *cgroup, int32_t pid, struct err *err)
{
	char path[MANAGER_PATH_MAX + 32], text[16];
	_cleanup_close_ int fd = -1;
	int n = snprintf(text, sizeof(text), "%" PRId32, pid);

	snprintf(path, sizeof(path), "%s/" JOB_WORK_CGROUP "/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		return err_set(err, -errno, "write %s to %s: %m", text, path);
	return 0;
}

static int adopt_session(struct job *j, const struct asker *a, struct adopt_reply *ret,
			 struct err *err)
{
	char cgroup[MANAGER_PATH_MAX], dir[4200];
	int r = check_room(j, err);

	if (r < 0)
		return r;
	ret->job = j->s.job;
	ret->attempt = j->s.attempt;
	ret->deny = handshake_denials(j->node);
	ret->rlimit_as = handshake_backstop(j);
	if (!job_is_foreign(j))
		snprintf(ret->views, sizeof(ret->views), "%s", j->node->views);
	if (job_file(j, "work", dir, sizeof(dir)) && strlen(dir) >= sizeof(ret->jobfs))
		return err_set(err, -ENAMETOOLONG, "the job has too long a path");
	if (job_file(j, "work", dir, sizeof(dir)))
		strcpy(ret->jobfs, dir);
	if (a->request.want == ADOPT_CHECK)
		return 0;
	r = move_in(job_cgroup(j, cgroup), a->message.who.pid, err);
	if (!r)
		log_job(LOG_INFO, j->s.job, "session", "a session of %s runs in it: process %d",
			j->s.request.user, (int)a->message.who.pid);
	return r;
}

/* One datagram for each request, also a refusal: pam_reeve waits for it. */
static void send_answer(struct adopt_server *s, const struct asker *a)
{
	struct adopt_reply reply = { .version = ADOPT_VERSION };
	struct err err = { "" };
	const char *why;
	struct job *j = choose_job(s->node, a->request.uid, &why);
	int r = j ? adopt_session(j, a, &reply, &err) : -ENOENT;

	if (r < 0) {
		reply.is_refused = 1;
		snprintf(reply.text, sizeof(reply.text), "%.200s", j ? err.text : why);
	}
	r = datagram_send(s->fd, &(struct datagram){ .data = &reply,
						     .size = sizeof(reply),
						     .peer = a->message.peer,
						     .peer_size = a->message.peer_size });
	if (r < 0)
		log_line(LOG_WARNING, "answer pam_reeve: %s", strerror(-r));
}

/* 1: a whole request of root's. */
static int receive_request(int fd, struct asker *ret)
{
	struct datagram *m = &ret->message;
	const struct adopt_request *q = &ret->request;
	int r;

	*m = (struct datagram){ .data = &ret->request, .size = sizeof(ret->request) };
	r = datagram_receive(fd, m);
	if (r < 0)
		return r;
	datagram_close_fds(m);
	return m->size == sizeof(*q) && !m->who.uid && m->who.pid > 0 &&
	       q->version == ADOPT_VERSION &&
	       (q->want == ADOPT_CHECK || q->want == ADOPT_ENTER) && q->uid;
}

static int on_ask(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct asker a = { 0 };

	(void)source;
	(void)revents;
	if (receive_request(fd, &a) > 0)
		send_answer(userdata, &a);
	return 0;
}

int adopt_server_open(struct node *n, struct adopt_server **ret, struct err *err)
{
	struct adopt_server *a = calloc(1, sizeof(*a));
	char path[600];
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->node = n;
	snprintf(path, sizeof(path), "%s/" ADOPT_SOCKET, n->conf->run_dir);
	a->fd = datagram_listen(path, err);
	r = a->fd < 0 ? a->fd : sd_event_add_io(n->event, &a->io, a->fd, EPOLLIN, on_ask, a);
	if (r < 0) {
		adopt_server_close(a);
		return r;
	}
	*ret = a;
	return 0;
}

struct adopt_server *adopt_server_close(struct adopt_server *a)
{
	if (!a)
		return NULL;
	sd_event_source_disable_unref(a->io);
	if (a->fd >= 0)
		close(a->fd);
	free(a);
	return NULL;
}
