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
static int try_job(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);
	struct place_ask p = { .job = j, .until_s = now_s + j->pub.limit_s };
	int r;

	if (shape_is_hopeless(s, j, j->pub.limit_s) || !move_may_start(s, j))
		return 0;
	if (s->reservation.job >= 0 && p.until_s > s->reservation.at_s)
		p.reservation = &s->reservation;
	if (!place_job(s, &p)) {
		shape_add_failed(s, j, j->pub.limit_s);
		return 0;
	}
	r = move_start(s, job, now_s);
	return r < 0 ? r : 1;
}

int backfill_pass(struct schedule *s, int64_t now_s)
{
	int64_t most = INT64_MAX;
	bool is_reserved = false;
	int r = 0, tried = 0;

	reservation_cancel(s);
	for (size_t i = 0; i < s->n_queued && r >= 0; i++) {
		const struct schedule_entry *e = &s->queued[i];

		if (e->most_cores > most)
			continue;
		r = try_job(s, e->job, now_s);
		if (r != 0 || is_reserved || !move_may_start(s, job_at(s, e->job)) ||
		    tried++ >= RESERVATIONS_TRIED)
			continue;
		r = reservation_make(s, e->job, now_s);
		is_reserved = s->reservation.job >= 0;
		if (is_reserved && s->config.rule == SCHEDULE_FIFO)
			break;
		s->n_shapes = 0;
		/* While none is reserved, each that does not fit is tried. */
		if (is_reserved || tried >= RESERVATIONS_TRIED)
			most = find_most_free(s);
	}
	return r < 0 ? r : 0;
}
