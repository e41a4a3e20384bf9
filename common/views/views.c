/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views.c - asks the process that keeps the namespaces of jobs; see views.h. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/views/datagram.h"
#include "common/err.h"
#include "common/views/views.h"

void views_close(struct views_view *v)
{
	closep(&v->mnt);
	closep(&v->ipc);
	*v = VIEWS_NONE;
}

int views_keep(const char *socket, struct views_id id, const struct views_view *v, int main_fd)
{
	struct views_message m = { id.job, id.attempt, VIEWS_KEEP };
	struct datagram d = { .data = &m, .size = sizeof(m), .n_fds = 3 };
	_cleanup_close_ int fd = datagram_connect(socket, 0);

	d.fds[VIEWS_MNT] = v->mnt;
	d.fds[VIEWS_IPC] = v->ipc;
	d.fds[VIEWS_MAIN] = main_fd;
	return fd < 0 ? fd : datagram_send(fd, &d);
}

int views_open(const char *socket, struct views_id id, struct views_view *ret, struct err *err)
{
	struct views_message m = { id.job, id.attempt, VIEWS_OPEN };
	struct datagram d = { .data = &m, .size = sizeof(m) };
	_cleanup_close_ int fd = datagram_connect(socket, VIEWS_PATIENCE_S);
	int r = fd < 0 ? fd : datagram_send(fd, &d);

	if (!r)
		r = datagram_receive(fd, &d);
	if (r < 0)
		return err_set(
			err, r,
			"the process that keeps the jobs' views (%s) does not answer: %s",
			VIEWS_NAME, strerror(-r));
	if (d.size != sizeof(m) || m.job != id.job || m.attempt != id.attempt || d.n_fds != 2) {
		datagram_close_fds(&d);
		return err_set(
			err, -ESRCH,
			"the job's view of the file system is not kept: the job has ended, or began before an upgrade of "
			"the agent, or %s was ended",
			VIEWS_NAME);
	}
	*ret = (struct views_view){ d.fds[VIEWS_MNT], d.fds[VIEWS_IPC] };
	return 0;
}

int views_enter(const struct views_view *v, struct err *err)
{
	if (setns(v->ipc, CLONE_NEWIPC) < 0)
		return err_set(err, -errno, "enter the job's shared memory: %m");
	if (setns(v->mnt, CLONE_NEWNS) < 0)
		return err_set(err, -errno, "enter the job's view of the file system: %m");
	return 0;
}
