/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preemptees.c - chooses the running jobs that a job preempts, and starts it. See preempt.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/preempt/preempt_impl.h"

/* Counts running jobs by owner, once a pass: preempt_pass() clears is_counted. */
static int count_running(struct schedule *s)
{
	struct tally *t = &s->preempt->running;

	if (s->preempt->is_counted)
		return 0;
	tally_clear(t);
	/* Reading the sum of an owner without running jobs adds a key too. */
	if (tally_reserve(t, 2 * (s->n_running + s->n_queued + s->n_suspended)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_running; i++) {
		const struct job *j = job_at(s, s->running[i]);

		tally_add(t, TALLY_USER(j->pub.user), 1);
		tally_add(t, TALLY_GROUP(j->pub.group), 1);
	}
	s->preempt->is_counted = true;
	return 0;
}

/* Running jobs of its user or of its group, whichever are more. */
static int64_t count_of_owner(const struct schedule *s, const struct job *j)
{
	int64_t u = tally_add(&s->preempt->running, TALLY_USER(j->pub.user), 0);
	int64_t g = tally_add(&s->preempt->running, TALLY_GROUP(j->pub.group), 0);

	return u > g ? u : g;
}

struct preempt_job preempt_job_of(const struct job *j, int64_t now_s)
{
	struct preempt_job ret = { .cores = j->cores,
				   .limit_s = j->pub.limit_s,
				   .ran_s = j->pub.ran_s,
				   .suspended_s = j->pub.suspended_s };
	int64_t due_s = j->pub.overdue_since_s;

	if (j->state == SCHEDULE_RUNNING)
		ret.ran_s += now_s - j->since_s;
	if (j->state == SCHEDULE_SUSPENDED)
		ret.suspended_s += now_s - j->since_s;
	if (due_s) {
		/* When it began to run for the first time, or now. */
		int64_t began_s = j->state == SCHEDULE_QUEUED
					  ? now_s
					  : now_s - ret.ran_s - ret.suspended_s;

		ret.overdue_s = began_s > due_s ? began_s - due_s : 0;
	}
	return ret;
}

/* A quick check before the score, which rules most jobs out: by the run priorities and sizes, and
 * where the time suspended and the projected time alone take the XFactor beyond PREEMPT_XFACTOR. */
static bool is_ruled_out(const struct schedule *s, const struct job *preemptor,
			 const struct job *j)
{
	const int64_t *run = s->config.run_priority;
	int64_t projected_s = preemptor->pub.limit_s - preemptor->pub.ran_s;

	if (j->pub.is_protected || run[j->pub.queue] > run[preemptor->pub.queue])
		return true;
	if (run[j->pub.queue] < run[preemptor->pub.queue])
		return false;
	if (j->cores >= preemptor->cores)
		return true;
	return !j->is_new && (double)(j->pub.suspended_s + projected_s) >
				     (PREEMPT_XFACTOR - 1) * (double)(j->pub.limit_s + 1);
}

/* The score of withdrawing a start of this pass: nothing is projected. It is above all scores of
 * suspensions (which are 2 at most), so that withdrawals come first. */
static double score_withdrawal(const struct preempt_job *preemptor,
			       const struct preempt_job *preemptee, bool *may_parallel)
{
	struct preempt_job at_limit = *preemptor;
	struct preempt_score score;

	at_limit.ran_s = at_limit.limit_s;
	score = preempt_score(&at_limit, preemptee);
	*may_parallel = score.may_parallel;
	return score.sum + 4;
}

struct preempting {
	struct schedule *s;
	const struct job *preemptor;
	struct preempt_job by; /* of the preemptor */
	int64_t now_s;
};

/* Adds a running job to the victims if it may be preempted. 0 or -ENOMEM. */
static int add_victim(const struct preempting *x, int32_t job)
{
	const int64_t *run = x->s->config.run_priority;
	struct preempt *p = x->s->preempt;
	const struct job *j = job_at(x->s, job);
	struct preempt_victim v = { job, j->is_new, 0 };
	struct preempt_job of;
	bool may_parallel;

	if (is_ruled_out(x->s, x->preemptor, j))
		return 0;
	of = preempt_job_of(j, x->now_s);
	of.n_running = count_of_owner(x->s, j);
	if (v.is_new) {
		v.score = score_withdrawal(&x->by, &of, &may_parallel);
	} else {
		struct preempt_score score = preempt_score(&x->by, &of);

		v.score = score.sum;
		may_parallel = score.may_parallel;
	}
	if (!may_parallel && run[j->pub.queue] >= run[x->preemptor->pub.queue])
		return 0;
	if (schedule_reserve(&p->victims, &p->max_victims, p->n_victims + 1,
			     sizeof(*p->victims)) < 0)
		return -ENOMEM;
	p->victims[p->n_victims++] = v;
	return 0;
}

static int compare_victims(const void *a, const void *b)
{
	const struct preempt_victim *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->job - y->job;
}

/* All jobs that this one may preempt, the highest score first, in preempt->victims: none, where
 * their cores and the free ones together are too few. */
static int find_victims(struct schedule *s, const struct job *preemptor, int64_t now_s)
{
	struct preempting x = { s, preemptor, preempt_job_of(preemptor, now_s), now_s };
	struct preempt *p = s->preempt;
	int64_t cores = s->indexed_cores;
	int r = count_running(s);

	if (r < 0)
		return r;
	x.by.n_running = count_of_owner(s, preemptor);
	p->n_victims = 0;
	for (size_t i = 0; i < s->n_running && r >= 0; i++)
		r = add_victim(&x, s->running[i]);
	for (size_t i = 0; i < p->n_victims; i++)
		cores += room_cores_of(s, job_at(s, p->victims[i].job));
	if (cores < preemptor->cores)
		p->n_victims = 0;
	if (p->n_victims) /* no victim yet: the array may be NULL, which qsort() refuses */
		qsort(p->victims, p->n_victims, sizeof(*p->victims), compare_victims);
	return r;
}

/* What preempting the victim frees. */
static enum node_amounts freed_by(const struct preempt_victim *v)
{
	return v->is_new ? NODE_ALL : NODE_CORES;
}

static bool part_fits(const struct schedule *s, const struct preempt_victim *v,
		      const struct node *n, const struct schedule_chunk *c)
{
	const struct job *j = job_at(s, v->job);
	struct schedule_chunk missing = *c;

	if (v->is_new && (n->n_whole || (j->pub.is_exclusive && n->n_parts)))
		return false;
	if (!v->is_new) /* it still has all but the cores */
		missing = (struct schedule_chunk){ .cores = c->cores };
	return node_fits(s, n, &missing, j);
}

/* Would a victim still fit on its nodes, beside the job that starts? Allocates its parts one after
 * the other as far as they fit, since several may be on one node, and takes them back. */
static bool still_fits(struct schedule *s, const struct preempt_victim *v)
{
	const struct job *j = job_at(s, v->job);
	enum node_amounts what = freed_by(v) & (j->pub.is_exclusive ? NODE_CORES : NODE_ALL);
	int32_t n = 0;

	for (int sign = 1; sign >= -1; sign -= 2) {
		int32_t part = 0;

		for (int32_t c = 0; c < j->pub.n_chunks; c++) {
			const struct schedule_chunk *chunk = &j->pub.chunks[c];

			for (int32_t i = 0; i < chunk->n; i++, part++) {
				struct node *node = &s->nodes[j->nodes[part]];

				if (sign > 0 && n == part)
					n += part_fits(s, v, node, chunk);
				if (part < n)
					node_allocate(s, node, chunk, what, sign);
			}
		}
	}
	return n == j->n_parts;
}

/* Frees what the victims have, the highest score first, until the job fits; then it is placed. Nodes
 * are touched only where the count of their cores says that it may. Returns how many were freed;
 * 0: it never fits, and nothing has changed; -ENOMEM. */
static int32_t free_victims(struct schedule *s, const struct place_ask *p)
{
	struct preempt *pre = s->preempt;
	struct reservation_tries tries = { 0 };
	size_t freed = 0;

	if (room_open(&pre->room, s, p->job) < 0)
		return -ENOMEM;
	for (size_t n = 0; n < pre->n_victims; n++) {
		room_add(&pre->room, s, job_at(s, pre->victims[n].job));
		s->work++;
		if (!room_may_fit(&pre->room))
			continue;
		if (!reservation_take_try(&tries, s->config.tries_max, (int64_t)n + 1) &&
		    n + 1 < pre->n_victims)
			continue;
		for (; freed <= n; freed++)
			node_allocate_job(s, job_at(s, pre->victims[freed].job),
					  freed_by(&pre->victims[freed]), -1);
		if (place_job(s, p))
			return (int32_t)freed;
	}
	while (freed > 0) {
		const struct preempt_victim *v = &pre->victims[--freed];

		node_allocate_job(s, job_at(s, v->job), freed_by(v), 1);
	}
	return 0;
}

/* Allocates again what free_victims() freed; for good, where the victim runs on beside the job. */
static void restore_victim(struct schedule *s, const struct preempt_victim *v)
{
	node_allocate_job(s, job_at(s, v->job), freed_by(v), 1);
}

static int preempt_victim(struct schedule *s, const struct preempt_victim *v, int32_t by,
			  int64_t now_s)
{
	restore_victim(s, v); /* the move frees it itself */
	return v->is_new ? move_withdraw(s, v->job, now_s) : move_suspend(s, v->job, by, now_s);
}

int preempt_start(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);
	struct place_ask p = { .job = j, .until_s = now_s + j->pub.limit_s };
	const struct reservation *k = &s->reservation;
	int32_t n;
	int r = find_victims(s, j, now_s);

	if (r < 0 || s->preempt->n_victims == 0 || j->pub.is_exclusive)
		return r;
	if (k->job >= 0 && k->job != job && p.until_s > k->at_s)
		p.reservation = &s->reservation;
	n = free_victims(s, &p);
	if (n <= 0)
		return n;
	/* The actions list suspensions before the start. */
	for (int32_t i = n - 1; i >= 0; i--) {
		const struct preempt_victim *v = &s->preempt->victims[i];

		if (still_fits(s, v)) {
			restore_victim(s, v);
			continue;
		}
		r = preempt_victim(s, v, job, now_s);
		if (r < 0)
			return r;
	}
	r = move_start(s, job, now_s);
	j->is_new = false; /* it has preempted others: it cannot be withdrawn any more */
	return r < 0 ? r : 1;
}
