/* shuffle.c - the order of a queue in which who has nothing above goes first. See preempt.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/preempt_impl.h"

void tallies_clear(struct tallies *t)
{
	t->stamp++; /* clearing a table would take longer than filling it */
	t->n = 0;
}

static struct tally *find(const struct tallies *t, uint64_t key)
{
	size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (t->size - 1);

	while (t->slots[i].stamp == t->stamp && t->slots[i].key != key)
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

int tallies_room(struct tallies *t, size_t n)
{
	struct tallies new = { .size = t->size ? t->size : 64, .n = t->n, .stamp = t->stamp };

	while (new.size < 2 * (t->n + n))
		new.size *= 2;
	if (new.size == t->size)
		return 0;
	new.slots = calloc(new.size, sizeof(*new.slots));
	if (!new.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].stamp == t->stamp)
			*find(&new, t->slots[i].key) = t->slots[i];
	free(t->slots);
	*t = new;
	return 0;
}

int64_t tallies_add(struct tallies *t, uint64_t key, int64_t n)
{
	struct tally *at = find(t, key);

	if (at->stamp != t->stamp) {
		*at = (struct tally){ .key = key, .stamp = t->stamp };
		t->n++;
	}
	return at->n += n;
}

/* Adds a job to those above. Returns what there was above it. */
static int64_t count(struct tallies *t, int32_t u, int32_t g, int64_t cores)
{
	int64_t user, group, both;

	user = tallies_add(t, TALLY_USER(u), cores) - cores;
	group = tallies_add(t, TALLY_GROUP(g), cores) - cores;
	both = tallies_add(t, TALLY_BOTH(u, g), cores) - cores;
	return user + group - both;
}

static void count_list(struct schedule *s, const int32_t *jobs, size_t n, int32_t queue)
{
	for (size_t i = 0; i < n; i++) {
		const struct job *j = job_at(s, jobs[i]);

		if (j->pub.queue == queue)
			count(&s->preempt->cores, j->pub.user, j->pub.group, j->cores);
	}
}

static int compare(const void *a, const void *b)
{
	const struct shuffled *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

int shuffle_queue(struct schedule *s, int32_t queue)
{
	struct preempt *p = s->preempt;
	size_t first = p->n_order;

	tallies_clear(&p->cores);
	if (schedule_room(&p->order, &p->max_order, first + s->n_queued, sizeof(*p->order)) < 0)
		return -ENOMEM;
	if (tallies_room(&p->cores, 3 * (s->n_queued + s->n_running + s->n_suspended)) < 0)
		return -ENOMEM;
	count_list(s, s->running, s->n_running, queue);
	count_list(s, s->suspended, s->n_suspended, queue);
	for (size_t i = 0; i < s->n_queued; i++) {
		const struct entry *e = &s->queued[i];

		if (e->queue != queue)
			continue;
		p->order[p->n_order++] = (struct shuffled){
			.score = count(&p->cores, e->user, e->group, e->cores),
			.job = e->job,
			.most_cores = e->most_cores,
			.place = i,
		};
	}
	qsort(&p->order[first], p->n_order - first, sizeof(*p->order), compare);
	return 0;
}
