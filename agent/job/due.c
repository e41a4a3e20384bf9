/* due.c - see job/due.h. */
#include "agent/job/due.h"
#include "agent/job/phase/limit.h"

#define ACCURACY_US 1000

struct turn {
	struct job *job; /* NULL: nothing is due, ever */
	enum job_due what;
	int64_t at_ns;
};

static struct turn next_turn(const struct node *n)
{
	struct turn t = { .at_ns = JOB_DUE_NEVER };

	for (struct job *j = n->jobs; j; j = j->next)
		for (int i = 0; i < _DUE_MAX; i++)
			if (j->due_ns[i] && j->due_ns[i] < t.at_ns)
				t = (struct turn){ j, (enum job_due)i, j->due_ns[i] };
	return t;
}

static int on_due(sd_event_source *s, uint64_t usec, void *userdata);

/* Sooner than it may be: then nothing is due, and it is set anew. */
static void arm(struct node *n, int64_t at_ns)
{
	uint64_t usec = (uint64_t)(at_ns / 1000); /* what is due now must not wait */
	int r;

	n->due_ns = at_ns;
	if (!n->due)
		r = sd_event_add_time(n->event, &n->due, CLOCK_BOOTTIME, usec, ACCURACY_US,
				      on_due, n);
	else
		r = sd_event_source_set_time(n->due, usec);
	if (r >= 0)
		r = sd_event_source_set_enabled(n->due, SD_EVENT_ONESHOT);
	if (r < 0) /* out of memory in the event loop itself: nothing else will work either */
		sd_event_exit(n->event, r);
}

static int on_due(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct node *n = userdata;
	struct turn t = next_turn(n);

	(void)s;
	(void)usec;
	n->due_ns = 0;
	if (t.job && t.at_ns <= node_now_ns()) {
		t.job->due_ns[t.what] = 0;
		if (t.what == DUE_ACT)
			job_act(t.job); /* may free it */
		else
			limit_look_at_clock(n, t.job);
		t = next_turn(n);
	}
	if (t.job)
		arm(n, t.at_ns);
	return 0;
}

void job_due_set(struct job *j, enum job_due what, int64_t at_ns)
{
	struct node *n = j->node;

	j->due_ns[what] = at_ns == JOB_DUE_NEVER ? 0 : at_ns;
	if (at_ns != JOB_DUE_NEVER && (!n->due_ns || at_ns < n->due_ns))
		arm(n, at_ns);
}

void job_due_close(struct node *n)
{
	n->due = sd_event_source_disable_unref(n->due);
}
