/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shuffle.c - orders the queued jobs of a queue by how much their users and groups have above them.
 *
 * The score of a job is the sum of the cores of all jobs above it, of the same user or group. It is
 * kept by user, by group, and by both: jobs of the same user and group count once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/preempt/preempt_impl.h"

/* Adds a job to the sums. Returns its score: the cores above it. */
static int64_t add_job(struct tally *t, int32_t u, int32_t g, int64_t cores)
{
	int64_t user, group, both;

	user = tally_add(t, TALLY_USER(u), cores) - cores;
	group = tally_add(t, TALLY_GROUP(g), cores) - cores;
	both = tally_add(t, TALLY_BOTH(u, g), cores) - cores;
	return user + group - both;
}

static void add_list(struct schedule *s, const int32_t *jobs, size_t n, int32_t queue)
{
	for (size_t i = 0; i < n; i++) {
		const struct job *j = job_at(s, jobs[i]);

		if (j->pub.queue == queue)
			add_job(&s->preempt->cores, j->pub.user, j->pub.group, j->cores);
	}
}

static int compare_scores(const void *a, const void *b)
{
	const struct preempt_entry *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return (x->position > y->position) - (x->position < y->position);
}

int preempt_shuffle_queue(struct schedule *s, int32_t queue)
{
	struct preempt *p = s->preempt;
	size_t first = p->n_order;

	tally_clear(&p->cores);
	if (schedule_reserve(&p->order, &p->max_order, first + s->n_queued, sizeof(*p->order)) <
	    0)
		return -ENOMEM;
	if (tally_reserve(&p->cores, 3 * (s->n_queued + s->n_running + s->n_suspended)) < 0)
		return -ENOMEM;
	add_list(s, s->running, s->n_running, queue);
	add_list(s, s->suspended, s->n_suspended, queue);
	for (size_t i = 0; i < s->n_queued; i++) {
		const struct schedule_entry *e = &s->queued[i];

		if (e->queue != queue)
			continue;
		p->order[p->n_order++] = (struct preempt_entry){
			.score = add_job(&p->cores, e->user, e->group, e->cores),
			.job = e->job,
			.most_cores = e->most_cores,
			.position = i,
		};
	}
	if (p->n_order > first)
		qsort(&p->order[first], p->n_order - first, sizeof(*p->order), compare_scores);
	return 0;
}
