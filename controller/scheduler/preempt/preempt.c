/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempt.c - one pass of the rule that suspends jobs: resumes and starts jobs, queue by queue.
 * The rule is in preempt.h. */
#include <errno.h>
#include <stdlib.h>
#include "controller/scheduler/preempt/preempt_impl.h"

/* Attempts at preempting in a pass: each scores all running jobs. */
#define ATTEMPTS_MAX 8

struct preempt *preempt_free(struct preempt *p)
{
	if (!p)
		return NULL;
	free(p->cores.slots);
	free(p->running.slots);
	free(p->order);
	free(p->victims);
	free(p->sorted);
	room_done(&p->room);
	free(p);
	return NULL;
}

/* ---- resuming ---- */

/* Has the node of each part the cores for it? Parts on one node are looked at one by one:
 * resume_job() looks at them together. */
static bool has_cores(const struct schedule *s, const struct job *j)
{
	int32_t part = 0;

	for (int32_t c = 0; c < j->pub.n_chunks; c++)
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++)
			if (s->nodes[j->nodes[part]].free_cores < j->pub.chunks[c].cores)
				return false;
	return true;
}

/* Are the cores of each part free, and not reserved for another job? */
static bool may_resume(const struct schedule *s, const struct job *j, int64_t now_s)
{
	const struct reservation *k = &s->reservation;
	bool is_reserved = k->job >= 0 && job_at(s, k->job) != j &&
			   now_s + j->pub.limit_s - j->pub.ran_s > k->at_s;
	int32_t part = 0;

	if (!has_cores(s, j))
		return false;
	for (int32_t c = 0; is_reserved && c < j->pub.n_chunks; c++) {
		struct schedule_chunk cores = { .cores = j->pub.chunks[c].cores };

		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++)
			if (!reservation_allows(s, k, j->nodes[part], &cores, j))
				return false;
	}
	return true;
}

/* 0 also where it stays suspended; -ENOMEM. */
static int resume_job(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);

	if (j->is_blocked || !may_resume(s, j, now_s))
		return 0;
	node_allocate_job(s, j, NODE_CORES, 1);
	for (int32_t i = 0; i < j->n_parts; i++) {
		if (s->nodes[j->nodes[i]].free_cores >= 0)
			continue;
		node_allocate_job(s, j, NODE_CORES, -1);
		return 0;
	}
	node_allocate_job(s, j, NODE_CORES, -1);
	return move_resume(s, job, now_s);
}

static double xfactor_of(const struct schedule *s, int32_t job, int64_t now_s)
{
	struct preempt_job j = preempt_job_of(job_at(s, job), now_s);

	return preempt_xfactor(&j);
}

/* The largest XFactor first. */
static int compare_xfactors(const void *a, const void *b)
{
	const struct preempt_suspended *x = a, *y = b;

	if (x->xfactor != y->xfactor)
		return x->xfactor > y->xfactor ? -1 : 1;
	return x->job - y->job;
}

/* Jobs without cores are left out before the rest is sorted: resuming others gives them none. */
static int resume_queue(struct schedule *s, int32_t queue, int64_t now_s)
{
	struct preempt *p = s->preempt;
	size_t n = 0;
	int r = 0;

	if (schedule_reserve(&p->sorted, &p->max_sorted, s->n_suspended, sizeof(*p->sorted)) <
	    0)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_suspended; i++) {
		int32_t job = s->suspended[i];
		const struct job *j = job_at(s, job);

		if (j->pub.queue == queue && has_cores(s, j))
			p->sorted[n++] =
				(struct preempt_suspended){ xfactor_of(s, job, now_s), job };
	}
	if (n > 1)
		qsort(p->sorted, n, sizeof(*p->sorted), compare_xfactors);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = resume_job(s, p->sorted[i].job, now_s);
	return r;
}

/* ---- starting ---- */

/* The most cores that any node has free; NODE_BUCKETS - 1: so many or more; -1: there is no node. */
static int64_t find_most_free(const struct schedule *s)
{
	int64_t b = NODE_BUCKETS - 1;

	while (b >= 0 && !s->in_bucket[b])
		b--;
	return b;
}

/* Starts a queued job where it fits beside the reservation. 1: it started; 0: it does not fit. */
static int start_job(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);
	struct place_ask p = { .job = j, .until_s = now_s + j->pub.limit_s };
	const struct reservation *k = &s->reservation;
	int r;

	/* Its own reservation leaves the job more room than other jobs have: shapes that failed
	 * beside the reservation say nothing about it. */
	if (k->job != job && shape_is_hopeless(s, j, j->pub.limit_s))
		return 0;
	if (k->job >= 0 && k->job != job && p.until_s > k->at_s)
		p.reservation = &s->reservation;
	if (!place_job(s, &p)) {
		if (k->job != job)
			shape_add_failed(s, j, j->pub.limit_s);
		return 0;
	}
	r = move_start(s, job, now_s);
	return r < 0 ? r : 1;
}

/* Starts a job of p->order where it fits or by preempting others. 1: it started. */
static int start_entry(struct schedule *s, const struct preempt_entry *e, int64_t most)
{
	bool is_free = most == NODE_BUCKETS - 1 || e->most_cores <= most;
	struct preempt *p = s->preempt;
	struct job *j;
	int r;

	s->work++;
	if (!is_free && p->attempts >= ATTEMPTS_MAX)
		return 0;
	j = job_at(s, e->job);
	if (j->state != SCHEDULE_QUEUED || !move_may_start(s, j))
		return 0;
	r = is_free ? start_job(s, e->job, s->pass.now_s) : 0;
	if (r != 0 || p->attempts >= ATTEMPTS_MAX)
		return r;
	p->attempts++;
	return preempt_start(s, e->job, s->pass.now_s);
}

/* 1: no time is left. */
static int start_queue(struct schedule *s)
{
	struct preempt *p = s->preempt;
	int64_t most = find_most_free(s);

	for (; p->at < p->n_order; p->at++) {
		int r;

		if (!schedule_has_time(s))
			return 1;
		r = start_entry(s, &p->order[p->at], most);
		if (r < 0)
			return r;
		if (r > 0)
			most = find_most_free(s);
	}
	p->stage = PREEMPT_OPEN_QUEUE;
	p->queue++;
	return 0;
}

/* ---- the reservation ---- */

/* The suspended job with the largest XFactor beyond PREEMPT_PRESSING; -1: none. */
static int32_t find_most_pressing(const struct schedule *s, int64_t now_s)
{
	double most = PREEMPT_PRESSING;
	int32_t job = -1;

	for (size_t i = 0; i < s->n_suspended; i++) {
		double x = xfactor_of(s, s->suspended[i], now_s);

		if (x > most && !job_at(s, s->suspended[i])->is_blocked) {
			most = x;
			job = s->suspended[i];
		}
	}
	return job;
}

/* The first submitted job that has waited for longer than reserve_after_s and may start is to get the
 * reservation. 1: no time is left. */
static int seek_starving(struct schedule *s)
{
	struct preempt *p = s->preempt;
	int64_t after_s = s->config.reserve_after_s;

	p->stage = PREEMPT_RESERVE;
	for (; p->reserved < 0 && after_s && p->at < s->n_queued; p->at++) {
		struct job *j = job_at(s, s->queued[p->at].job);

		if (s->pass.now_s - j->pub.submit_s <= after_s)
			return 0;
		if (move_may_start(s, j))
			p->reserved = s->queued[p->at].job;
		if (schedule_has_time(s))
			continue;
		p->at++;
		p->stage = PREEMPT_SEEK_STARVING;
		return 1;
	}
	return 0;
}

static int make_reservation(struct schedule *s)
{
	struct preempt *p = s->preempt;
	int r = p->reserved < 0 ? 0 : reservation_make(s, p->reserved, s->pass.now_s);

	if (r == 0)
		p->stage = PREEMPT_OPEN_QUEUE;
	return r;
}

/* The next lower run priority than `below` that a queue has; INT64_MIN: none. */
static int64_t next_priority(const struct schedule *s, int64_t below, bool is_first)
{
	int64_t next = INT64_MIN;

	for (int q = 0; q < SCHEDULE_QUEUES_MAX; q++) {
		int64_t p = s->config.run_priority[q];

		if ((is_first || p < below) && p > next)
			next = p;
	}
	return next;
}

/* Bits of the queues that have queued or suspended jobs. */
static uint32_t find_used_queues(const struct schedule *s)
{
	uint32_t used = 0;

	for (size_t i = 0; i < s->n_suspended; i++)
		used |= UINT32_C(1) << job_at(s, s->suspended[i])->pub.queue;
	for (size_t i = 0; i < s->n_queued; i++)
		used |= UINT32_C(1) << s->queued[i].queue;
	return used;
}

/* Opens the next queue of the run priority, or goes on to the next lower one. */
static int open_queue(struct schedule *s)
{
	struct preempt *p = s->preempt;
	int32_t q = p->queue;
	int r;

	while (q < SCHEDULE_QUEUES_MAX &&
	       !(s->config.run_priority[q] == p->run_priority && p->used >> q & 1))
		q++;
	p->queue = q;
	if (q == SCHEDULE_QUEUES_MAX) {
		p->run_priority = next_priority(s, p->run_priority, false);
		p->queue = 0;
		return 0;
	}
	r = resume_queue(s, q, s->pass.now_s);
	if (r < 0)
		return r;
	p->at = p->n_order;
	p->stage = PREEMPT_START_QUEUE;
	return preempt_shuffle_queue(s, q);
}

static int begin_pass(struct schedule *s)
{
	struct preempt *p = s->preempt;

	if (!p)
		p = s->preempt = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	reservation_cancel(s);
	p->is_begun = true;
	p->stage = PREEMPT_SEEK_STARVING;
	p->at = p->n_order = 0;
	p->attempts = 0;
	p->is_counted = false;
	p->queue = 0;
	p->run_priority = next_priority(s, 0, true);
	p->used = find_used_queues(s);
	p->reserved = find_most_pressing(s, s->pass.now_s);
	return 0;
}

static int run_stage(struct schedule *s)
{
	switch (s->preempt->stage) {
	case PREEMPT_SEEK_STARVING:
		return seek_starving(s);
	case PREEMPT_RESERVE:
		return make_reservation(s);
	case PREEMPT_OPEN_QUEUE:
		return open_queue(s);
	case PREEMPT_START_QUEUE:
		return start_queue(s);
	}
	return 0;
}

void preempt_begin(struct schedule *s)
{
	if (s->preempt)
		s->preempt->is_begun = false;
}

int preempt_pass(struct schedule *s)
{
	int r = s->preempt && s->preempt->is_begun ? 0 : begin_pass(s);

	while (r == 0 && s->preempt->run_priority > INT64_MIN)
		r = run_stage(s);
	return r;
}
