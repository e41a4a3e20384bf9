/* edit.c - many jobs added and removed at once: the lists are put in order at the end. See
 * schedule.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

void schedule_edit_begin(struct schedule *s)
{
	schedule_sort(s);
	keep_forget(s);
	s->is_edited = true;
	s->n_sorted = s->n_queued;
	s->n_gone = 0;
}

/* Closes the gaps of what was removed, in [from, to). Returns the new end. */
static size_t close_gaps(struct schedule *s, size_t from, size_t to, size_t into)
{
	for (; from < to; from++)
		if (s->queued[from].most_cores == ENTRY_GONE)
			schedule_give_slot(s, s->queued[from].job);
		else
			s->queued[into++] = s->queued[from];
	return into;
}

static int compare_entries(const void *a, const void *b, void *ctx)
{
	return schedule_compare_queued(ctx, ((const struct entry *)a)->job,
				       ((const struct entry *)b)->job);
}

/* Where an entry belongs among the first n. */
static size_t find_place(const struct schedule *s, size_t n, int32_t job)
{
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (schedule_compare_queued(s, s->queued[mid].job, job) < 0)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* Merges what is sorted up to `n` with what is behind it, from the end on. */
static int merge(struct schedule *s, size_t n)
{
	size_t n_new = s->n_queued - n, to = s->n_queued;
	struct entry *new;

	if (n_new == 0)
		return 0;
	new = malloc(n_new * sizeof(*new));
	if (!new)
		return -ENOMEM;
	memcpy(new, &s->queued[n], n_new * sizeof(*new));
	qsort_r(new, n_new, sizeof(*new), compare_entries, s);
	while (n_new > 0) {
		size_t at = find_place(s, n, new[n_new - 1].job);

		to -= n - at;
		memmove(&s->queued[to], &s->queued[at], (n - at) * sizeof(*s->queued));
		s->queued[--to] = new[--n_new];
		n = at;
	}
	free(new);
	return 0;
}

struct end {
	int64_t end_s;
	int32_t job;
};

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->end_s != y->end_s)
		return x->end_s < y->end_s ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static int sort_running(struct schedule *s)
{
	struct end *ends = malloc((s->n_running + 1) * sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_running; i++)
		ends[i] = (struct end){ job_at(s, s->running[i])->end_s, s->running[i] };
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
	if (merge(s, n) < 0)
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
