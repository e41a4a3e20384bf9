/* SPDX-License-Identifier: GPL-2.0-or-later */
/* running_set.c - running jobs by end, in short sorted blocks with their sums; see
 * running_set.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "controller/simulate/pool/running_set.h"

#define BLOCK_MAX 64 /* a full block is halved */

struct block {
	size_t n;
	int64_t cores;
	struct running_set_job jobs[BLOCK_MAX];
};

struct running_set {
	struct block **blocks; /* each with a job, but for the only one of an empty set */
	size_t n, room;
};

int running_set_new(struct running_set **ret)
{
	_cleanup_(running_set_freep) struct running_set *s = calloc(1, sizeof(*s));

	if (!s || !(s->blocks = calloc(1, sizeof(*s->blocks))) ||
	    !(s->blocks[0] = calloc(1, sizeof(**s->blocks))))
		return -ENOMEM;
	s->n = s->room = 1;
	*ret = TAKE_PTR(s);
	return 0;
}

struct running_set *running_set_free(struct running_set *s)
{
	for (size_t i = 0; s && i < s->n; i++)
		free(s->blocks[i]);
	if (s)
		free(s->blocks);
	free(s);
	return NULL;
}

static bool is_before(const struct running_set_job *a, const struct running_set_job *b)
{
	return a->end_s != b->end_s ? a->end_s < b->end_s : a->job < b->job;
}

/* The last block whose first job is not behind `j`; the first one, when all are. */
static size_t find_block(const struct running_set *s, const struct running_set_job *j)
{
	size_t low = 0, high = s->n;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (is_before(j, &s->blocks[middle]->jobs[0]))
			high = middle;
		else
			low = middle;
	}
	return low;
}

/* How many jobs of the block are before `j`. */
static size_t find_place(const struct block *b, const struct running_set_job *j)
{
	size_t low = 0, high = b->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (is_before(&b->jobs[middle], j))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts the second half of a full block into a new one behind it. */
static int split_block(struct running_set *s, size_t at)
{
	struct block *from = s->blocks[at], *to;

	if (s->n == s->room) {
		struct block **more = realloc(s->blocks, 2 * s->room * sizeof(*s->blocks));

		if (!more)
			return -ENOMEM;
		s->blocks = more;
		s->room *= 2;
	}
	to = calloc(1, sizeof(*to));
	if (!to)
		return -ENOMEM;
	to->n = from->n / 2;
	from->n -= to->n;
	memcpy(to->jobs, from->jobs + from->n, to->n * sizeof(*to->jobs));
	for (size_t i = 0; i < to->n; i++)
		to->cores += to->jobs[i].cores;
	from->cores -= to->cores;
	memmove(s->blocks + at + 2, s->blocks + at + 1, (s->n - at - 1) * sizeof(*s->blocks));
	s->blocks[at + 1] = to;
	s->n++;
	return 0;
}

int running_set_add(struct running_set *s, const struct running_set_job *j)
{
	size_t at = find_block(s, j), place;
	struct block *b = s->blocks[at];

	if (b->n == BLOCK_MAX) {
		int r = split_block(s, at);

		if (r < 0)
			return r;
		at = find_block(s, j);
		b = s->blocks[at];
	}
	place = find_place(b, j);
	memmove(b->jobs + place + 1, b->jobs + place, (b->n - place) * sizeof(*b->jobs));
	b->jobs[place] = *j;
	b->n++;
	b->cores += j->cores;
	return 0;
}

int running_set_remove(struct running_set *s, const struct running_set_job *j)
{
	size_t at = find_block(s, j);
	struct block *b = s->blocks[at];
	size_t place = find_place(b, j);

	if (place == b->n || b->jobs[place].job != j->job || b->jobs[place].end_s != j->end_s)
		return -ENOENT;
	b->cores -= b->jobs[place].cores;
	b->n--;
	memmove(b->jobs + place, b->jobs + place + 1, (b->n - place) * sizeof(*b->jobs));
	if (b->n == 0 && s->n > 1) {
		free(b);
		s->n--;
		memmove(s->blocks + at, s->blocks + at + 1, (s->n - at) * sizeof(*s->blocks));
	}
	return 0;
}

/* Cores freed at the same time as job `i` of block `at`, by the jobs behind it. */
static int64_t freed_at_same_time(const struct running_set *s, size_t at, size_t i)
{
	int64_t end_s = s->blocks[at]->jobs[i].end_s, freed = 0;

	for (i++; at < s->n; at++, i = 0)
		for (; i < s->blocks[at]->n; i++) {
			if (s->blocks[at]->jobs[i].end_s != end_s)
				return freed;
			freed += s->blocks[at]->jobs[i].cores;
		}
	return freed;
}

int running_set_when(const struct running_set *s, int64_t cores, int64_t *ret_at_s,
		     int64_t *ret_freed)
{
	int64_t freed = 0;
	size_t at = 0, i = 0;

	while (at < s->n && freed + s->blocks[at]->cores < cores)
		freed += s->blocks[at++]->cores;
	if (at == s->n)
		return -ENOENT;
	while (freed + s->blocks[at]->jobs[i].cores < cores)
		freed += s->blocks[at]->jobs[i++].cores;
	freed += s->blocks[at]->jobs[i].cores;
	*ret_at_s = s->blocks[at]->jobs[i].end_s;
	*ret_freed = freed + freed_at_same_time(s, at, i);
	return 0;
}
