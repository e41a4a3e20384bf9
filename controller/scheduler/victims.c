/* victims.c - who gives way to a job that does not fit. See preempt.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/preempt_impl.h"

static int count_running(struct schedule *s)
{
	struct tallies *t = &s->preempt->running;

	if (s->preempt->is_counted)
		return 0;
	tallies_clear(t);
	/* Questions about owners with nothing running add keys too. */
	if (tallies_room(t, 2 * (s->n_running + s->n_queued + s->n_suspended)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_running; i++) {
		const struct job *j = job_at(s, s->running[i]);

		tallies_add(t, TALLY_USER(j->pub.user), 1);
		tallies_add(t, TALLY_GROUP(j->pub.group), 1);
	}
	s->preempt->is_counted = true;
	return 0;
}

static int64_t n_running(const struct schedule *s, const struct job *j)
{
	int64_t u = tallies_add(&s->preempt->running, TALLY_USER(j->pub.user), 0);
	int64_t g = tallies_add(&s->preempt->running, TALLY_GROUP(j->pub.group), 0);

	return u > g ? u : g;
}

struct preempt_side preempt_side(const struct job *j, int64_t now_s)
{
	struct preempt_side side = { .cores = j->cores,
				     .limit_s = j->pub.limit_s,
				     .ran_s = j->pub.ran_s,
				     .suspended_s = j->pub.suspended_s };

	if (j->state == SCHEDULE_RUNNING)
		side.ran_s += now_s - j->since_s;
	if (j->state == SCHEDULE_SUSPENDED)
		side.suspended_s += now_s - j->since_s;
	if (j->pub.due_s) {
		/* It started when it began to run for the first time. */
		int64_t began = j->state == SCHEDULE_QUEUED
					? now_s
					: now_s - side.ran_s - side.suspended_s;

		side.late_s = began > j->pub.due_s ? began - j->pub.due_s : 0;
	}
	return side;
}

/* Cheaper than the score, and says no to most: the XFactor of one that suspends would be beyond
 * PREEMPT_XFACTOR by what it has been suspended and what is projected alone. */
static bool is_out(const struct schedule *s, const struct job *a, const struct job *b)
{
	const int64_t *run = s->config.run_priority;

	if (b->pub.is_kept || run[b->pub.queue] > run[a->pub.queue])
		return true;
	if (run[b->pub.queue] < run[a->pub.queue])
		return false;
	if (b->cores >= a->cores)
		return true;
	return !b->is_new && (double)(b->pub.suspended_s + a->pub.limit_s - a->pub.ran_s) >
				     (PREEMPT_XFACTOR - 1) * (double)(b->pub.limit_s + 1);
}

/* Its start is withdrawn: nothing is projected, but it is late. */
static double withdrawal(const struct preempt_side *a, const struct preempt_side *b, bool *may)
{
	struct preempt_side at_once = *a;
	struct preempt_score score;

	at_once.ran_s = at_once.limit_s;
	score = preempt_score(&at_once, b);
	*may = score.may_parallel;
	return score.sum + 4; /* before all that are suspended */
}

static int consider(struct schedule *s, const struct job *a, const struct preempt_side *as,
		    int32_t other, int64_t now_s)
{
	struct preempt *p = s->preempt;
	const struct job *b = job_at(s, other);
	bool is_lower =
		s->config.run_priority[b->pub.queue] < s->config.run_priority[a->pub.queue];
	struct victim v = { other, b->is_new, 0 };
	struct preempt_side bs;
	bool may;

	if (is_out(s, a, b))
		return 0;
	bs = preempt_side(b, now_s);
	bs.n_running = n_running(s, b);
	if (v.is_new) {
		v.score = withdrawal(as, &bs, &may);
	} else {
		struct preempt_score score = preempt_score(as, &bs);

		v.score = score.sum;
		may = score.may_parallel;
	}
	if (!may && !is_lower)
		return 0;
	if (schedule_room(&p->victims, &p->max_victims, p->n_victims + 1, sizeof(*p->victims)) <
	    0)
		return -ENOMEM;
	p->victims[p->n_victims++] = v;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static int find_victims(struct schedule *s, const struct job *a, int64_t now_s)
{
	struct preempt_side as = preempt_side(a, now_s);
	struct preempt *p = s->preempt;
	int r = count_running(s);

	if (r < 0)
		return r;
	as.n_running = n_running(s, a);
	p->n_victims = 0;
	for (size_t i = 0; i < s->n_running && r >= 0; i++)
		r = consider(s, a, &as, s->running[i], now_s);
	if (p->n_victims) /* no victim yet: the array may be NULL, which qsort() refuses */
		qsort(p->victims, p->n_victims, sizeof(*p->victims), compare);
	return r;
}

static enum hold what_of(const struct victim *v)
{
	return v->is_new ? HOLD_ALL : HOLD_CORES;
}

static bool part_fits(const struct schedule *s, const struct victim *v, const struct node *n,
		      const struct schedule_chunk *c)
{
	const struct job *j = job_at(s, v->job);
	struct schedule_chunk want = *c;

	if (v->is_new && (n->n_whole || (j->pub.is_exclusive && n->n_parts)))
		return false;
	if (!v->is_new) /* it has all but the cores */
		want = (struct schedule_chunk){ .cores = c->cores };
	return place_fits(s, n, &want, j);
}

/* Takes its parts one by one, as far as they fit, and gives them back. Do all fit? */
static bool fits_still(struct schedule *s, const struct victim *v)
{
	const struct job *j = job_at(s, v->job);
	enum hold what = what_of(v) & (j->pub.is_exclusive ? HOLD_CORES : HOLD_ALL);
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
					node_hold(s, node, chunk, what, sign);
			}
		}
	}
	return n == j->n_parts;
}

/* It can go on after all, beside the job that starts. */
static bool take_back(struct schedule *s, const struct victim *v)
{
	if (!fits_still(s, v))
		return false;
	job_hold(s, job_at(s, v->job), what_of(v), 1);
	return true;
}

/* Lets them go, the best first, until the job fits. Returns how many; < 0: it never does. */
static int32_t let_go(struct schedule *s, const struct placing *p)
{
	struct preempt *pre = s->preempt;
	int64_t cores = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].bucket >= 0)
			cores += s->nodes[i].free_cores;
	while (n < pre->n_victims) {
		const struct victim *v = &pre->victims[n++];
		const struct job *j = job_at(s, v->job);

		job_hold(s, j, what_of(v), -1);
		cores += j->cores;
		if (cores >= p->job->cores && place_job(s, p))
			return (int32_t)n;
	}
	while (n > 0) {
		const struct victim *v = &pre->victims[--n];

		job_hold(s, job_at(s, v->job), what_of(v), 1);
	}
	return -1;
}

/* Who gave way: held again first, since the move itself lets go. */
static int give_way(struct schedule *s, const struct victim *v, int32_t job, int64_t now_s)
{
	job_hold(s, job_at(s, v->job), what_of(v), 1);
	return v->is_new ? move_withdraw(s, v->job, now_s)
			 : move_suspend(s, v->job, job, now_s);
}

int preempt_start(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);
	struct placing p = { .job = j, .until_s = now_s + j->pub.limit_s };
	struct preempt *pre = s->preempt;
	int32_t n;
	int r = find_victims(s, j, now_s);

	if (r < 0 || pre->n_victims == 0 || j->pub.is_exclusive)
		return r;
	if (s->kept.job >= 0 && s->kept.job != job && p.until_s > s->kept.at_s)
		p.kept = &s->kept;
	n = let_go(s, &p);
	if (n < 0)
		return 0;
	for (int32_t i = n - 1; i >= 0; i--) {
		if (take_back(s, &pre->victims[i]))
			continue;
		/* Suspensions come before the start in the list of actions. */
		r = give_way(s, &pre->victims[i], job, now_s);
		if (r < 0)
			return r;
	}
	r = move_start(s, job, now_s);
	j->is_new = false; /* it cannot be withdrawn any more */
	return r < 0 ? r : 1;
}
