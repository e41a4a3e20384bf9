/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why.c - why a queued job waits, as of the last pass, and a forecast of its start. */
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

/* ---- the future ---- */

static int copy_node(struct schedule *to, const struct schedule *from, const struct node *n)
{
	struct schedule_node new = { .cores = n->cores,
				     .mem_bytes = n->mem_bytes,
				     .jobfs_bytes = n->jobfs_bytes,
				     .features = n->features,
				     .is_open = n->is_open,
				     .closed_from_s = n->closed_from_s };

	for (int m = 1; n->gpus >= 0 && m < NODE_MODELS; m++)
		new.gpus[m] = (int16_t)from->gpus[n->gpus].has[m];
	return schedule_add_node(to, &new);
}

static int copy_job(struct schedule *to, const struct schedule *from, const struct job *j,
		    int32_t *ret)
{
	struct schedule_allocation h = { j->state, j->nodes, j->since_s };
	int r = j->state == SCHEDULE_QUEUED ? schedule_add(to, &j->pub, ret)
					    : schedule_add_allocated(to, &j->pub, &h, ret);

	if (r == 0)
		schedule_set_blocked(to, *ret, j->is_blocked || job_is_limited(from, j));
	return r;
}

/* *ret_job is the job's number in the copy. On failure *ret, which may be NULL, needs schedule_free(). */
static int copy_schedule(const struct schedule *s, int32_t job, struct schedule **ret,
			 int32_t *ret_job)
{
	struct schedule_config config = s->config;
	int r;

	config.may_start = NULL; /* jobs that limits refuse now are blocked in the copy */
	config.on_start = NULL;
	r = schedule_new(&config, ret);
	for (size_t i = 0; i < s->n_nodes && r == 0; i++)
		r = copy_node(*ret, s, &s->nodes[i]);
	if (r == 0)
		schedule_edit_begin(*ret);
	for (size_t b = 0; b < s->n_blocks * BLOCK && r == 0; b++) {
		const struct job *j = job_at(s, (int32_t)b);
		int32_t new;

		if (!j->is_used)
			continue;
		r = copy_job(*ret, s, j, &new);
		if ((int32_t)b == job)
			*ret_job = new;
	}
	return r == 0 ? schedule_edit_end(*ret) : r;
}

/* Removes the running jobs that end next. Returns when they end. */
static int64_t end_next_jobs(struct schedule *s, int64_t now_s)
{
	int64_t end_s = job_at(s, s->running[0])->end_s;

	while (s->n_running && job_at(s, s->running[0])->end_s == end_s)
		schedule_remove(s, s->running[0]);
	return end_s > now_s ? end_s : now_s + 1;
}

int schedule_forecast(const struct schedule *from, int32_t job, int64_t now_s,
		      int32_t max_passes, int64_t *ret_s)
{
	_cleanup_(schedule_freep) struct schedule *s = NULL;
	const struct schedule_action *actions;
	size_t n;
	int r = copy_schedule(from, job, &s, &job);

	*ret_s = SCHEDULE_FOREVER;
	for (int32_t i = 0; i < max_passes && r == 0; i++) {
		r = schedule_pass(s, now_s, &actions, &n);
		if (r < 0 || schedule_state(s, job) != SCHEDULE_QUEUED)
			break;
		if (!s->n_running)
			return 0;
		now_s = end_next_jobs(s, now_s);
	}
	if (r == 0 && schedule_state(s, job) != SCHEDULE_QUEUED)
		*ret_s = now_s;
	return r;
}

static bool report_starts(const struct schedule *s, const struct schedule_action *actions,
			  size_t n, const struct schedule_future *f, int64_t now_s)
{
	for (size_t i = 0; i < n; i++)
		if (actions[i].what == SCHEDULE_START &&
		    !f->on_start(f->ctx, job_at(s, actions[i].job)->pub.id, now_s))
			return false;
	return true;
}

int schedule_run_future(const struct schedule *from, const struct schedule_future *f)
{
	_cleanup_(schedule_freep) struct schedule *s = NULL;
	const struct schedule_action *actions;
	int64_t now_s = f->now_s;
	int32_t none;
	size_t n;
	int r = copy_schedule(from, -1, &s, &none);

	for (int32_t i = 0; i < f->max_passes && r == 0 && f->has_time(f->ctx); i++) {
		r = schedule_pass(s, now_s, &actions, &n);
		if (r < 0 || !report_starts(s, actions, n, f, now_s) || !s->n_running)
			break;
		now_s = end_next_jobs(s, now_s);
	}
	return r;
}
