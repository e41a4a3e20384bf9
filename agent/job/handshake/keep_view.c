/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keep_view.c - finds the namespaces of a launcher and passes them on; see handshake/keep_view.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include "agent/job/handshake/keep_view.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/views/views.h"

#define PATIENCE_NS (10 * S_NS) /* for the process that keeps views to come up */

/* A name of its own for each RunDirectory: another agent may run here, as the demo's does. */
void handshake_start_keeper(struct node *n)
{
	const char *argv[] = { n->conf->launcher, "--views", n->views, NULL };
	const struct manager_id none = { 0, 0 };
	struct err err;
	char name[200];

	snprintf(name, sizeof(name), VIEWS_NAME "%.150s", n->conf->run_dir);
	for (char *c = name; *c; c++)
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') &&
		    !(*c >= '0' && *c <= '9'))
			*c = '-';
	if (!n->ops->foreign && n->ops->spawn(n->manager, none, name, argv, &err) < 0)
		log_line(LOG_WARNING, "the jobs' views: %s", err.text);
}

/* The launcher's, and no later process's of its number: the number is its own as long as it lives. */
static int open_view(const struct job *j, int main_fd, struct views_view *ret, struct err *err)
{
	char its[MANAGER_PATH_MAX], path[MANAGER_PATH_MAX];
	int r = manager_open_view(j->s.pid, ret, err);

	if (r < 0)
		return r;
	r = manager_cgroup_of(j->s.pid, its, sizeof(its), err);
	if (r < 0)
		return r;
	if (!manager_is_below(its, job_cgroup(j, path)) ||
	    pidfd_send_signal(main_fd, 0, NULL, 0) < 0)
		return err_set(err, -ESRCH, "the launcher is gone");
	return 0;
}

/* -EAGAIN: to be called again. */
static int pass_view(struct node *n, const struct job *j, struct err *err)
{
	_cleanup_(views_close) struct views_view view = VIEWS_NONE;
	_cleanup_close_ int main_fd = pidfd_open(j->s.pid, 0);
	int r;

	if (main_fd < 0)
		return err_set(err, -errno, "open the launcher: %m");
	r = open_view(j, main_fd, &view, err);
	if (r < 0)
		return r;
	r = views_keep(n->views, (struct views_id){ j->s.job, j->s.attempt }, &view, main_fd);
	if (!r)
		return 0;
	if (r == -ENOENT || r == -ECONNREFUSED)
		handshake_start_keeper(n);
	return err_set(err, -EAGAIN, "the process that keeps views does not answer: %s",
		       strerror(-r));
}

int handshake_keep_view(struct node *n, struct job *j)
{
	struct err err;
	int r = pass_view(n, j, &err);

	if (!r) {
		n->views_lost_ns = 0;
		return 0;
	}
	if (r == -EAGAIN && !n->views_lost_ns)
		n->views_lost_ns = node_now_ns();
	if (r == -EAGAIN && node_now_ns() - n->views_lost_ns < PATIENCE_NS)
		return 1;
	job_note(j, "reeve exec and ssh cannot enter it: %.180s", err.text);
	return 0;
}
