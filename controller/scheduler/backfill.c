/* backfill.c - jobs in order, and those that fit beside the place of the first that does not.
 * See schedule.h. */
#include "controller/scheduler/schedule_impl.h"

/* How often a pass looks for a place to keep: jobs for which there is none keep nobody waiting.
 */
#define PLACES_TRIED 8

/* No node has more free cores; it may be fewer by now. */
static int64_t most_free(const struct schedule *s)
{
	int32_t b = BUCKETS - 1;
	int64_t most = 0;

	while (b > 0 && !s->in_bucket[b])
		b--;
	if (b < BUCKETS - 1)
		return b;
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].bucket == b && s->nodes[i].free_cores > most)
			most = s->nodes[i].free_cores;
	return most;
}

/* 1: it starts; 0: it does not fit, or would take what is kept. */
static int try(struct schedule *s, int32_t job, int64_t now_s)
{
	struct job *j = job_at(s, job);
	struct placing p = { .job = j, .until_s = now_s + j->pub.limit_s };
	int r;

	if (shape_is_hopeless(s, j, j->pub.limit_s) || !job_may_start(s, j))
		return 0;
	if (s->kept.job >= 0 && p.until_s > s->kept.at_s)
		p.kept = &s->kept;
	if (!place_job(s, &p)) {
		shape_failed(s, j, j->pub.limit_s);
		return 0;
	}
	r = move_start(s, job, now_s);
	return r < 0 ? r : 1;
}

int backfill_pass(struct schedule *s, int64_t now_s)
{
	int64_t most = INT64_MAX;
	bool is_kept = false;
	int r = 0, tried = 0;

	keep_nothing(s);
	for (size_t i = 0; i < s->n_queued && r >= 0; i++) {
		const struct entry *e = &s->queued[i];

		if (e->most_cores > most)
			continue;
		r = try(s, e->job, now_s);
		if (r != 0 || is_kept || !job_may_start(s, job_at(s, e->job)) ||
		    tried++ >= PLACES_TRIED)
			continue;
		r = keep_place(s, e->job, now_s);
		is_kept = s->kept.job >= 0;
		if (is_kept && s->config.rule == SCHEDULE_FIFO)
			break;
		s->n_shapes = 0;
		most = most_free(s);
	}
	return r < 0 ? r : 0;
}
