/* SPDX-License-Identifier: GPL-2.0-or-later */
/* due.c - one timer of the event loop for what is due of all jobs; see job/due.h. */
#include <errno.h>
#include <stdlib.h>
#include "agent/job/due.h"
#include "common/time_units.h"

struct job_due_timer {
	sd_event_source *timer;
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

/* It may fire before anything is due; then it is set again. */
static void arm_timer(struct node *n, int64_t at_ns)
{
	uint64_t usec = (uint64_t)(at_ns / 1000); /* what is due now must not wait */
	int r;

	n->due->at_ns = at_ns;
	if (!n->due->timer)
		r = sd_event_add_time(n->event, &n->due->timer, CLOCK_BOOTTIME, usec,
				      TIMER_AT_ONCE_US, on_timer, n);
	else
		r = sd_event_source_set_time(n->due->timer, usec);
	if (r >= 0)
		r = sd_event_source_set_enabled(n->due->timer, SD_EVENT_ONESHOT);
	if (r < 0) /* out of memory in the event loop itself: nothing else will work either */
		sd_event_exit(n->event, r);
}

/* One entry each time: the callback may free any job, and the event loop gets its turn between two. */
static int on_timer(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct node *n = userdata;
	struct due_entry t = find_first(n);

	(void)s;
	(void)usec;
	n->due->at_ns = 0;
	if (t.job && t.at_ns <= node_now_ns()) {
		t.job->due_ns[t.what] = 0;
		n->due->on_due(n, t.job, t.what); /* may free the job */
		t = find_first(n);
	}
	if (t.job)
		arm_timer(n, t.at_ns);
	return 0;
}

/* A later time than the timer is set to needs no new setting: on_timer() finds what is first. */
void job_due_set(struct job *j, enum job_due what, int64_t at_ns)
{
	struct node *n = j->node;

	j->due_ns[what] = at_ns == JOB_DUE_NEVER ? 0 : at_ns;
	if (what == DUE_ACT) /* something has changed */
		j->is_saved = j->is_reported = false;
	if (at_ns != JOB_DUE_NEVER && (!n->due->at_ns || at_ns < n->due->at_ns))
		arm_timer(n, at_ns);
}

int job_due_open(struct node *n, job_due_fn on_due, struct err *err)
{
	n->due = calloc(1, sizeof(*n->due));
	if (!n->due)
		return err_set(err, -ENOMEM, "out of memory");
	n->due->on_due = on_due;
	return 0;
}

void job_due_close(struct node *n)
{
	if (!n->due)
		return;
	sd_event_source_disable_unref(n->due->timer);
	free(n->due);
	n->due = NULL;
}
