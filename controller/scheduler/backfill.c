/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backfill.c - one pass by priority: starts jobs in order, makes a reservation for the first that does
 * not fit, and starts a later one only if that does not delay the reservation. With SCHEDULE_FIFO it stops at the
 * first that does not fit. */
#include "controller/scheduler/schedule_impl.h"

/* A pass tries to make a reservation for so many jobs: one that never fits (its nodes are down) gets
 * none, and does not delay others. */
#define RESERVATIONS_TRIED 8

/* The most free cores of any node. */
static int64_t find_most_free(const struct schedule *s)
{
	int32_t b = NODE_BUCKETS - 1;
	int64_t most = 0;

	while (b > 0 && !s->in_bucket[b])
		b--;
	if (b < NODE_BUCKETS - 1)
		return b;
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].bucket == b && s->nodes[i].free_cores > most)
			most = s->nodes[i].free_cores;
	return most;
}

/* 1: it started; 0: it does not fit, its limits refuse it, or it would delay the reservation. */
static int try_job(struct schedule *s, int32_t job)
{
	struct job *j = job_at(s, job);
	struct place_ask p = { .job = j, .until_s = s->pass.now_s + j->pub.limit_s };
	int r;

	if (shape_is_hopeless(s, j, j->pub.limit_s) || !move_may_start(s, j))
		return 0;
	if (s->reservation.job >= 0 && p.until_s > s->reservation.at_s)
		p.reservation = &s->reservation;
	if (!place_job(s, &p)) {
		shape_add_failed(s, j, j->pub.limit_s);
		return 0;
	}
	r = move_start(s, job, s->pass.now_s);
	return r < 0 ? r : 1;
}

/* For a job that does not fit. 1: the search is not at its end, and no time is left. */
static int reserve_for(struct schedule *s, int32_t job)
{
	struct schedule_progress *p = &s->pass;
	int r = reservation_make(s, job, p->now_s);

	p->is_reserving = r > 0;
	if (r != 0)
		return r;
	p->is_reserved = s->reservation.job >= 0;
	shapes_forget(s);
	/* While none is reserved, each that does not fit is tried. */
	if (p->is_reserved || p->tried >= RESERVATIONS_TRIED)
		p->most = find_most_free(s);
	return 0;
}

/* 0: the pass is done with this entry; 1: it is not, and no time is left. */
static int pass_entry(struct schedule *s, const struct schedule_entry *e)
{
	struct schedule_progress *p = &s->pass;
	int r;

	if (p->is_reserving)
		return reserve_for(s, e->job);
	s->work++;
	if (e->most_cores > p->most)
		return 0;
	r = try_job(s, e->job);
	if (r != 0)
		return r < 0 ? r : 0;
	if (p->is_reserved || !move_may_start(s, job_at(s, e->job)) ||
	    p->tried >= RESERVATIONS_TRIED)
		return 0;
	p->tried++;
	return reserve_for(s, e->job);
}

int backfill_pass(struct schedule *s)
{
	struct schedule_progress *p = &s->pass;
	int r = 0;

	while (p->at < s->n_queued && r == 0) {
		if (p->is_reserved && s->config.rule == SCHEDULE_FIFO)
			break;
		if (!schedule_has_time(s))
			return 1;
		r = pass_entry(s, &s->queued[p->at]);
		p->at += r == 0;
	}
	return r;
}
