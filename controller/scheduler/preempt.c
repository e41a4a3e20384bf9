/* preempt.c - the cycle of preempt.h. */
#include <errno.h>
#include <stdlib.h>
#include "controller/scheduler/preempt_impl.h"

/* Attempts at suspending in a pass: each looks at all that runs. */
#define ATTEMPTS 8

struct preempt *preempt_free(struct preempt *p)
{
	if (!p)
		return NULL;
	free(p->cores.slots);
	free(p->running.slots);
	free(p->order);
	free(p->victims);
	free(p->sorted);
	free(p);
	return NULL;
}

/* ---- resuming ---- */

static bool may_resume(const struct schedule *s, const struct job *j, int64_t now_s)
{
	bool is_kept = s->kept.job >= 0 && now_s + j->pub.limit_s - j->pub.ran_s > s->kept.at_s;
	int32_t part = 0;

	if (is_kept && job_at(s, s->kept.job) == j)
		is_kept = false;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		struct schedule_chunk cores = { .cores = j->pub.chunks[c].cores };

		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			int32_t node = j->nodes[part];

			if (s->nodes[node].free_cores < cores.cores)
				return false;
			if (is_kept && !keep_allows(s, &s->kept, node, &cores, j))
				return false;
		}
	}
	return true;
}

static int resume(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);

	if (j->is_held_back || !may_resume(s, j, now_s))
		return 0;
	/* Several parts on one node: together. */
	job_hold(s, j, HOLD_CORES, 1);
	for (int32_t i = 0; i < j->n_parts; i++) {
		if (s->nodes[j->nodes[i]].free_cores >= 0)
			continue;
		job_hold(s, j, HOLD_CORES, -1);
		return 0;
	}
	job_hold(s, j, HOLD_CORES, -1);
	return move_resume(s, job, now_s);
}

static double pressure(const struct schedule *s, int32_t job, int64_t now_s)
{
	struct preempt_side side = preempt_side(job_at(s, job), now_s);

	return preempt_xfactor(&side);
}

struct asking {
	const struct schedule *s;
	int64_t now_s;
};

static int compare_pressure(const void *a, const void *b, void *ctx)
{
	const struct asking *q = ctx;
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	double px = pressure(q->s, x, q->now_s), py = pressure(q->s, y, q->now_s);

	if (px != py)
		return px > py ? -1 : 1;
	return (x > y) - (x < y);
}

static int resume_queue(struct schedule *s, int32_t queue, int64_t now_s)
{
	struct preempt *p = s->preempt;
	struct asking q = { s, now_s };
	size_t n = 0;
	int r = 0;

	if (schedule_room(&p->sorted, &p->max_sorted, s->n_suspended, sizeof(*p->sorted)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_suspended; i++)
		if (job_at(s, s->suspended[i])->pub.queue == queue)
			p->sorted[n++] = s->suspended[i];
	if (n > 1)
		qsort_r(p->sorted, n, sizeof(*p->sorted), compare_pressure, &q);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = resume(s, p->sorted[i], now_s);
	return r;
}

/* ---- starting ---- */

/* The most cores that any node has free, or BUCKETS - 1 for more; -1: no node. */
static int64_t most_bucket(const struct schedule *s)
{
	int64_t b = BUCKETS - 1;

	while (b >= 0 && !s->in_bucket[b])
		b--;
	return b;
}

static int start(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);
	struct placing p = { .job = j, .until_s = now_s + j->pub.limit_s };

	if (s->kept.job != job && shape_is_hopeless(s, j, j->pub.limit_s))
		return 0;
	if (s->kept.job >= 0 && s->kept.job != job && p.until_s > s->kept.at_s)
		p.kept = &s->kept;
	if (place_job(s, &p)) {
		int r = move_start(s, job, now_s);

		return r < 0 ? r : 1;
	}
	if (s->kept.job != job)
		shape_failed(s, j, j->pub.limit_s);
	return 0;
}

static int start_queue(struct schedule *s, size_t first, int64_t now_s)
{
	struct preempt *p = s->preempt;
	int64_t most = most_bucket(s);
	int r = 0;

	for (size_t i = first; i < p->n_order && r >= 0; i++) {
		int32_t job = p->order[i].job;
		bool is_free = most == BUCKETS - 1 || p->order[i].most_cores <= most;
		struct job *j;

		if (!is_free && p->attempts >= ATTEMPTS)
			continue;
		j = job_at(s, job);
		if (j->state != SCHEDULE_QUEUED || !job_may_start(s, j))
			continue;
		r = is_free ? start(s, job, now_s) : 0;
		if (r == 0 && p->attempts < ATTEMPTS) {
			p->attempts++;
			r = preempt_start(s, job, now_s);
		}
		if (r > 0)
			most = most_bucket(s);
	}
	return r;
}

/* ---- the most pressing ---- */

static int32_t most_pressing(const struct schedule *s, int64_t now_s)
{
	double most = PREEMPT_PRESSING;
	int32_t job = -1;

	for (size_t i = 0; i < s->n_suspended; i++) {
		double x = pressure(s, s->suspended[i], now_s);

		if (x > most && !job_at(s, s->suspended[i])->is_held_back) {
			most = x;
			job = s->suspended[i];
		}
	}
	return job;
}

/* The first that came, of those that wait for too long. */
static int32_t first_late(struct schedule *s, int64_t now_s)
{
	for (size_t i = 0; s->config.late_s && i < s->n_queued; i++) {
		struct job *j = job_at(s, s->queued[i].job);

		if (now_s - j->pub.submit_s <= s->config.late_s)
			return -1;
		if (job_may_start(s, j))
			return s->queued[i].job;
	}
	return -1;
}

static int keep_most_pressing(struct schedule *s, int64_t now_s)
{
	int32_t job = most_pressing(s, now_s);

	keep_nothing(s);
	if (job < 0)
		job = first_late(s, now_s);
	return job < 0 ? 0 : keep_place(s, job, now_s);
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

static int run_queue(struct schedule *s, int32_t queue, int64_t now_s)
{
	struct preempt *p = s->preempt;
	size_t first = p->n_order;
	int r = resume_queue(s, queue, now_s);

	if (r >= 0)
		r = shuffle_queue(s, queue);
	return r < 0 ? r : start_queue(s, first, now_s);
}

/* Bits of the queues in which anybody waits or is suspended. */
static uint32_t used_queues(const struct schedule *s)
{
	uint32_t used = 0;

	for (size_t i = 0; i < s->n_suspended; i++)
		used |= UINT32_C(1) << job_at(s, s->suspended[i])->pub.queue;
	for (size_t i = 0; i < s->n_queued; i++)
		used |= UINT32_C(1) << s->queued[i].queue;
	return used;
}

int preempt_pass(struct schedule *s, int64_t now_s)
{
	int64_t at = next_priority(s, 0, true);
	uint32_t used = used_queues(s);
	int r;

	if (!s->preempt)
		s->preempt = calloc(1, sizeof(*s->preempt));
	if (!s->preempt)
		return -ENOMEM;
	s->preempt->n_order = 0;
	s->preempt->attempts = 0;
	s->preempt->is_counted = false;
	r = keep_most_pressing(s, now_s);
	for (; at > INT64_MIN && r >= 0; at = next_priority(s, at, false))
		for (int32_t q = 0; q < SCHEDULE_QUEUES_MAX && r >= 0; q++)
			if (s->config.run_priority[q] == at && used >> q & 1)
				r = run_queue(s, q, now_s);
	return r < 0 ? r : 0;
}
