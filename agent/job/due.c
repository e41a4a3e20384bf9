/* SPDX-License-Identifier: GPL-2.0-or-later */
/* due.c - one timer of the event loop for what is due of all jobs, and a source for what is due now; see job/due.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "agent/job/due.h"
#include "common/time_units.h"

/* What is due now needs no timer, which makes a virtual machine leave the processor when it is set. Nor is it a deferred source: one
 * that enables itself again is called before all others. */
struct job_due_timer {
	sd_event_source *timer, *now;
	int now_fd;    /* eventfd, watched by its edges: never read */
	int64_t at_ns; /* CLOCK_BOOTTIME that the timer is set to; 0: off */
	job_due_fn on_due;
};

struct due_entry {
	struct job *job; /* NULL: nothing is due, ever */
	enum job_due what;
	int64_t at_ns;
};

/* Walks all jobs: a node has few, and no index has to be kept. */
static struct due_entry find_first(const struct node *n)
{
	struct due_entry t = { .at_ns = JOB_DUE_NEVER };

	for (struct job *j = n->jobs; j; j = j->next)
		for (int i = 0; i < _DUE_MAX; i++)
			if (j->due_ns[i] && j->due_ns[i] < t.at_ns)
				t = (struct due_entry){ j, (enum job_due)i, j->due_ns[i] };
	return t;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata);

static int set_timer(struct node *n, int64_t at_ns)
{
	uint64_t usec = (uint64_t)(at_ns / 1000);
	int r;

	n->due->at_ns = at_ns;
	if (!n->due->timer)
		r = sd_event_add_time(n->event, &n->due->timer, CLOCK_BOOTTIME, usec,
				      TIMER_AT_ONCE_US, on_timer, n);
	else
		r = sd_event_source_set_time(n->due->timer, usec);
	return r < 0 ? r : sd_event_source_set_enabled(n->due->timer, SD_EVENT_ONESHOT);
}

/* The timer may fire before anything is due; then it is set again. A later time than it is set to needs no new setting. */
static void wake_at(struct node *n, int64_t at_ns)
{
	int r = 0;

	if (at_ns <= node_now_ns())
		r = eventfd_write(n->due->now_fd, 1) < 0 ? -errno : 0;
	else if (!n->due->at_ns || at_ns < n->due->at_ns)
		r = set_timer(n, at_ns);
	if (r < 0) /* the event loop itself has no memory: nothing else will work either */
		sd_event_exit(n->event, r);
}

/* One entry each time: the callback may free any job, and the event loop gets its turn between two. */
static int act_on_first(struct node *n)
{
	struct due_entry t = find_first(n);

	if (t.job && t.at_ns <= node_now_ns()) {
		t.job->due_ns[t.what] = 0;
		n->due->on_due(n, t.job, t.what); /* may free the job */
		t = find_first(n);
	}
	if (t.job)
		wake_at(n, t.at_ns);
	return 0;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct node *n = userdata;

	(void)s;
	(void)usec;
	n->due->at_ns = 0;
	return act_on_first(n);
}

static int on_now(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	(void)s, (void)fd, (void)revents;
	return act_on_first(userdata);
}

void job_due_set(struct job *j, enum job_due what, int64_t at_ns)
{
	j->due_ns[what] = at_ns == JOB_DUE_NEVER ? 0 : at_ns;
	if (what == DUE_ACT) /* something has changed */
		j->is_saved = j->is_reported = false;
	if (at_ns != JOB_DUE_NEVER)
		wake_at(j->node, at_ns);
}

int job_due_open(struct node *n, job_due_fn on_due, struct err *err)
{
	int r;

	n->due = calloc(1, sizeof(*n->due));
	if (!n->due)
		return err_set(err, -ENOMEM, "out of memory");
	n->due->on_due = on_due;
	n->due->now_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->due->now_fd < 0)
		return err_set(err, -errno, "eventfd: %m");
	r = sd_event_add_io(n->event, &n->due->now, n->due->now_fd, EPOLLIN | EPOLLET, on_now,
			    n);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

void job_due_close(struct node *n)
{
	if (!n->due)
		return;
	sd_event_source_disable_unref(n->due->timer);
	sd_event_source_disable_unref(n->due->now);
	if (n->due->now_fd >= 0)
		close(n->due->now_fd);
	free(n->due);
	n->due = NULL;
}
