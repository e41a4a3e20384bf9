/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views.c - keeps the namespaces of all jobs of the node; see common/views/views.h.
 *
 * It enters none of them and runs nothing. A view is dropped when the job's main process has ended (its pidfd is readable then), so it needs no agent
 * for that, and keeps no disk of a job busy.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/launch/launch.h"
#include "common/cleanup.h"
#include "common/views/datagram.h"
#include "common/err.h"
#include "common/views/views.h"

struct kept {
	struct views_id id;
	struct views_view view;
};

struct keeper {
	struct kept *list;
	struct pollfd *polls; /* [0]: the socket; [i + 1]: the main process of list[i] */
	size_t n, room;
};

static struct kept *find_view(const struct keeper *k, struct views_id id)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->list[i].id.job == id.job && k->list[i].id.attempt == id.attempt)
			return &k->list[i];
	return NULL;
}

static void drop_view(struct keeper *k, size_t i)
{
	views_close(&k->list[i].view);
	close(k->polls[i + 1].fd);
	k->n--;
	k->list[i] = k->list[k->n];
	k->polls[i + 1] = k->polls[k->n + 1];
}

static int make_room(struct keeper *k)
{
	size_t room = 2 * k->room + 16;
	struct pollfd *polls;
	struct kept *list;

	if (k->n < k->room)
		return 0;
	list = reallocarray(k->list, room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	k->list = list;
	polls = reallocarray(k->polls, room + 1, sizeof(*polls));
	if (!polls)
		return -ENOMEM;
	k->polls = polls;
	k->room = room;
	return 0;
}

/* An agent that was killed before it knew that this was done asks again: the later view counts. */
static void keep_view(struct keeper *k, struct views_id id, struct datagram *d)
{
	const struct kept *old = find_view(k, id);

	if (d->n_fds != 3 || make_room(k) < 0)
		return;
	if (old)
		drop_view(k, (size_t)(old - k->list));
	k->list[k->n] = (struct kept){ id, { d->fds[VIEWS_MNT], d->fds[VIEWS_IPC] } };
	k->polls[k->n + 1] = (struct pollfd){ .fd = d->fds[VIEWS_MAIN], .events = POLLIN };
	k->n++;
	d->n_fds = 0;
}

static void answer_open(const struct keeper *k, struct views_id id, const struct datagram *d)
{
	struct views_message m = { id.job, id.attempt, VIEWS_OPEN };
	struct datagram answer = {
		.data = &m, .size = sizeof(m), .peer = d->peer, .peer_size = d->peer_size
	};
	const struct kept *found = find_view(k, id);

	if (found) {
		answer.fds[VIEWS_MNT] = found->view.mnt;
		answer.fds[VIEWS_IPC] = found->view.ipc;
		answer.n_fds = 2;
	}
	datagram_send(k->polls[0].fd, &answer);
}

static void receive_message(struct keeper *k)
{
	struct views_message m;
	struct datagram d = { .data = &m, .size = sizeof(m) };

	if (datagram_receive(k->polls[0].fd, &d) < 0)
		return;
	if (d.size == sizeof(m) && d.who.uid == 0 && m.want == VIEWS_KEEP)
		keep_view(k, (struct views_id){ m.job, m.attempt }, &d);
	else if (d.size == sizeof(m) && d.who.uid == 0 && m.want == VIEWS_OPEN)
		answer_open(k, (struct views_id){ m.job, m.attempt }, &d);
	datagram_close_fds(&d);
}

static int serve_views(struct keeper *k)
{
	for (;;) {
		if (poll(k->polls, k->n + 1, -1) < 0 && errno != EINTR)
			return -errno;
		for (size_t i = k->n; i > 0; i--)
			if (k->polls[i].revents)
				drop_view(k, i - 1);
		if (k->polls[0].revents)
			receive_message(k);
	}
}

/* 1: another process holds it, and keeps the views. The lock ends with this process. */
static int lock_socket(const char *socket, struct err *err)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%.500s.lock", socket);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 1 : err_set(err, -errno, "lock %s: %m", path);
	return 0;
}

/* All that it needs is open: no right of root's is left, and nothing of it can be read. Three descriptors a job. */
static int give_up_rights(struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct rlimit files, core = { 0, 0 };

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (setrlimit(RLIMIT_CORE, &core) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &head, none) < 0)
		return err_set(err, -errno, "give up rights: %m");
	return 0;
}

static int keep_views(const char *socket, struct err *err)
{
	struct keeper k = { .list = NULL };
	int r = lock_socket(socket, err);

	if (r)
		return r;
	if (make_room(&k) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	k.polls[0] = (struct pollfd){ .fd = datagram_listen(socket, err), .events = POLLIN };
	if (k.polls[0].fd < 0)
		return k.polls[0].fd;
	r = give_up_rights(err);
	return r < 0 ? r : err_set(err, serve_views(&k), "wait for messages: %m");
}

int views_main(const char *socket)
{
	struct err err = { "" };
	int r = keep_views(socket, &err);

	if (r < 0)
		fprintf(stderr, "reeve-launch: %s: %s\n", socket, err.text);
	return r < 0;
}
