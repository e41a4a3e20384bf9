/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moves.c - starts, suspends, resumes and withdraws jobs in a schedule, and keeps the lists of jobs
 * by state. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

/* What asking the caller's limits costs, in comparisons of a node. */
#define MAY_START_WORK 16

static int add_action(struct schedule *s, enum schedule_what what, int32_t job, int32_t by)
{
	if (schedule_reserve(&s->actions, &s->max_actions, s->n_actions + 1,
			     sizeof(*s->actions)) < 0)
		return -ENOMEM;
	s->actions[s->n_actions++] = (struct schedule_action){ what, job, by };
	return 0;
}

bool move_may_start(struct schedule *s, struct job *j)
{
	if (j->is_blocked)
		return false;
	s->work += MAY_START_WORK;
	if (!s->config.may_start || s->config.may_start(s->config.ctx, j->pub.id))
		return true;
	j->limited_in = s->n_passes;
	return false;
}

static void report_start(struct schedule *s, const struct job *j, bool is_withdrawn)
{
	if (s->config.on_start)
		s->config.on_start(s->config.ctx, j->pub.id, is_withdrawn);
}

/* Where a job is, or would be, in the list of running jobs. */
static size_t find_running(const struct schedule *s, int32_t job)
{
	int64_t end_s = job_at(s, job)->end_s;
	size_t low = 0, high = s->n_running;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int64_t other = job_at(s, s->running[mid])->end_s;

		if (other < end_s || (other == end_s && s->running[mid] < job))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int move_list_running(struct schedule *s, int32_t job)
{
	size_t at;

	if (schedule_reserve(&s->running, &s->max_running, s->n_running + 1,
			     sizeof(*s->running)) < 0)
		return -ENOMEM;
	at = s->is_edited ? s->n_running : find_running(s, job);
	s->is_running_unsorted |= s->is_edited;
	memmove(&s->running[at + 1], &s->running[at],
		(s->n_running - at) * sizeof(*s->running));
	s->running[at] = job;
	s->n_running++;
	return 0;
}

void move_unlist_running(struct schedule *s, int32_t job)
{
	size_t at = s->is_running_unsorted ? 0 : find_running(s, job);

	while (s->running[at] != job)
		at++;
	s->n_running--;
	memmove(&s->running[at], &s->running[at + 1],
		(s->n_running - at) * sizeof(*s->running));
}

int move_list_suspended(struct schedule *s, int32_t job)
{
	if (schedule_reserve(&s->suspended, &s->max_suspended, s->n_suspended + 1,
			     sizeof(*s->suspended)) < 0)
		return -ENOMEM;
	s->suspended[s->n_suspended++] = job;
	return 0;
}

void move_unlist_suspended(struct schedule *s, int32_t job)
{
	size_t i = 0;

	while (s->suspended[i] != job)
		i++;
	s->n_suspended--;
	memmove(&s->suspended[i], &s->suspended[i + 1],
		(s->n_suspended - i) * sizeof(*s->suspended));
}

int move_start(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);

	if (j->n_parts > 1) {
		j->nodes = malloc((size_t)j->n_parts * sizeof(*j->nodes));
		if (!j->nodes)
			return -ENOMEM;
		memcpy(j->nodes, s->parts, (size_t)j->n_parts * sizeof(*j->nodes));
	} else {
		j->one_node = s->parts[0];
		j->nodes = &j->one_node;
	}
	j->state = SCHEDULE_RUNNING;
	j->since_s = now_s;
	j->end_s = now_s + j->pub.limit_s - j->pub.ran_s;
	j->is_new = true;
	if (s->reservation.job == job)
		reservation_cancel(s);
	reservation_job_started(s, job);
	report_start(s, j, false);
	if (move_list_running(s, job) < 0)
		return -ENOMEM;
	return add_action(s, SCHEDULE_START, job, -1);
}

int move_suspend(struct schedule *s, int32_t job, int32_t by, int64_t now_s)
{
	struct job *j = job_at(s, job);

	reservation_invalidate(s);
	move_unlist_running(s, job);
	j->pub.ran_s += now_s - j->since_s;
	j->since_s = now_s;
	j->state = SCHEDULE_SUSPENDED;
	node_allocate_job(s, j, NODE_CORES, -1);
	shapes_forget(s);
	if (move_list_suspended(s, job) < 0)
		return -ENOMEM;
	return add_action(s, SCHEDULE_SUSPEND, job, by);
}

int move_resume(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);

	reservation_invalidate(s);
	move_unlist_suspended(s, job);
	j->pub.suspended_s += now_s - j->since_s;
	j->since_s = now_s;
	j->state = SCHEDULE_RUNNING;
	j->end_s = now_s + j->pub.limit_s - j->pub.ran_s;
	node_allocate_job(s, j, NODE_CORES, 1);
	if (s->reservation.job == job)
		reservation_cancel(s);
	if (move_list_running(s, job) < 0)
		return -ENOMEM;
	return add_action(s, SCHEDULE_RESUME, job, -1);
}

static void drop_nodes(struct job *j)
{
	if (j->nodes != &j->one_node)
		free(j->nodes);
	j->nodes = NULL;
}

int move_withdraw(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);
	size_t i = s->n_actions;

	while (i > 0 &&
	       (s->actions[i - 1].job != job || s->actions[i - 1].what != SCHEDULE_START))
		i--;
	if (i > 0) {
		memmove(&s->actions[i - 1], &s->actions[i],
			(s->n_actions - i) * sizeof(*s->actions));
		s->n_actions--;
	}
	if (schedule_reserve(&s->withdrawn, &s->max_withdrawn, s->n_withdrawn + 1,
			     sizeof(*s->withdrawn)) < 0)
		return -ENOMEM;
	s->withdrawn[s->n_withdrawn++] = job;
	reservation_invalidate(s);
	move_unlist_running(s, job);
	node_allocate_job(s, j, NODE_ALL, -1);
	drop_nodes(j);
	shapes_forget(s);
	report_start(s, j, true);
	j->state = SCHEDULE_QUEUED;
	j->is_new = false;
	if (!j->pub.overdue_since_s)
		j->pub.overdue_since_s = now_s;
	return 0;
}
