/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why.c - why a queued job waits, as of the last pass. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/preempt/preempt_impl.h"

/* A list of all jobs asks this of each: where the queue is in order, by halves. */
static int32_t find_queued(const struct schedule *s, int32_t job)
{
	bool is_sorted = !s->is_unsorted && !s->is_edited;
	size_t at = is_sorted ? schedule_bisect_queued(s, s->n_queued, job) : s->n_queued;

	if (at < s->n_queued && s->queued[at].job == job)
		return (int32_t)at;
	for (at = 0; at < s->n_queued; at++)
		if (s->queued[at].job == job)
			return (int32_t)at;
	return -1;
}

static void find_position(const struct schedule *s, int32_t job, struct schedule_why *ret)
{
	const struct preempt *p = s->preempt;
	int32_t queue = job_at(s, job)->pub.queue;

	ret->position = -1;
	if (s->config.rule != SCHEDULE_PREEMPT) {
		ret->n = (int32_t)s->n_queued;
		ret->position = find_queued(s, job);
		return;
	}
	for (size_t i = 0; p && i < p->n_order; i++) {
		const struct job *j = job_at(s, p->order[i].job);

		if (!j->is_used || j->state != SCHEDULE_QUEUED || j->pub.queue != queue)
			continue;
		if (p->order[i].job == job)
			ret->position = ret->n;
		ret->n++;
	}
}

/* Places the job without regard to the reservation, and takes that back. */
static bool fits_now(struct schedule *s, const struct job *j)
{
	struct place_ask p = { .job = j };
	int32_t part = 0;

	if (!place_job(s, &p))
		return false;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			struct node *n = &s->nodes[s->parts[part]];

			node_allocate(s, n, &j->pub.chunks[c], NODE_ALL, -1);
			if (j->pub.is_exclusive && n->n_parts == 0)
				n->n_whole = 0;
			node_index(s, n);
		}
	}
	return true;
}

void schedule_why(struct schedule *s, int32_t job, struct schedule_why *ret)
{
	const struct job *j = job_at(s, job);

	*ret = (struct schedule_why){ .first = s->reservation.job,
				      .first_s = s->reservation.at_s };
	find_position(s, job, ret);
	if (j->is_blocked || job_is_limited(s, j))
		ret->wait = SCHEDULE_BLOCKED;
	else if (!place_is_possible(s, j))
		ret->wait = SCHEDULE_NEVER;
	else if (ret->position < 0)
		ret->wait = SCHEDULE_NOT_CONSIDERED;
	else if (s->reservation.job == job || ret->position == 0)
		ret->wait = SCHEDULE_FIRST;
	else
		ret->wait = fits_now(s, j) ? SCHEDULE_WOULD_DELAY : SCHEDULE_BEHIND;
}
