/* SPDX-License-Identifier: GPL-2.0-or-later */
/* edit.c - adds and removes many jobs at once: the lists are put in order at the end, once, instead
 * of for each job. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

void schedule_edit_begin(struct schedule *s)
{
	schedule_sort(s);
	reservation_invalidate(s);
	s->is_edited = true;
	s->n_sorted = s->n_queued;
	s->n_gone = 0;
}

/* Moves the entries in [from, to) to `into`, without those that were removed. Returns their end. */
static size_t close_gaps(struct schedule *s, size_t from, size_t to, size_t into)
{
	for (; from < to; from++)
		if (s->queued[from].most_cores == ENTRY_GONE)
			schedule_free_slot(s, s->queued[from].job);
		else
			s->queued[into++] = s->queued[from];
	return into;
}

/* Sorts the new entries from n on, and merges them into the sorted ones before, from the end on. */
static int merge_new(struct schedule *s, size_t n)
{
	size_t n_new = s->n_queued - n, to = s->n_queued;
	struct schedule_entry *new;

	if (n_new == 0)
		return 0;
	new = malloc(n_new * sizeof(*new));
	if (!new)
		return -ENOMEM;
	memcpy(new, &s->queued[n], n_new * sizeof(*new));
	schedule_sort_entries(s, new, n_new);
	while (n_new > 0) {
		size_t at = schedule_bisect_queued(s, n, new[n_new - 1].job);

		to -= n - at;
		memmove(&s->queued[to], &s->queued[at], (n - at) * sizeof(*s->queued));
		s->queued[--to] = new[--n_new];
		n = at;
	}
	free(new);
	return 0;
}

struct job_end {
	int64_t end_s;
	int32_t job;
};

static int compare_ends(const void *a, const void *b)
{
	const struct job_end *x = a, *y = b;

	if (x->end_s != y->end_s)
		return x->end_s < y->end_s ? -1 : 1;
	return x->job - y->job;
}

/* Sorts pairs of end and number: the comparison does not visit the jobs. */
static int sort_running(struct schedule *s)
{
	struct job_end *ends = malloc((s->n_running + 1) * sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_running; i++)
		ends[i] = (struct job_end){ job_at(s, s->running[i])->end_s, s->running[i] };
	if (s->n_running)
		qsort(ends, s->n_running, sizeof(*ends), compare_ends);
	for (size_t i = 0; i < s->n_running; i++)
		s->running[i] = ends[i].job;
	free(ends);
	s->is_running_unsorted = false;
	return 0;
}

int schedule_edit_end(struct schedule *s)
{
	size_t n = s->n_sorted;

	s->is_edited = false;
	if (s->n_gone) {
		n = close_gaps(s, 0, s->n_sorted, 0);
		s->n_queued = close_gaps(s, s->n_sorted, s->n_queued, n);
	}
	if (merge_new(s, n) < 0)
		return -ENOMEM;
	return s->is_running_unsorted ? sort_running(s) : 0;
}

void schedule_set_times(struct schedule *s, int32_t job, const struct schedule_times *t)
{
	struct job *j = job_at(s, job);
	int64_t end_s = t->now_s + j->pub.limit_s - t->ran_s;

	j->pub.ran_s = t->ran_s;
	j->pub.suspended_s = t->suspended_s;
	j->since_s = t->now_s;
	if (j->end_s == end_s)
		return;
	j->end_s = end_s;
	s->is_running_unsorted |= j->state == SCHEDULE_RUNNING;
}
