/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shapes.c - remembers what did not fit in this pass. A job with several kinds of chunks is hopeless
 * if any of them is; of one that failed the kind that lacked is noted, if it alone had no room. */
#include "controller/scheduler/schedule_impl.h"

static bool asks_as_much(const struct shape *a, const struct shape *b)
{
	return a->chunk.cores >= b->chunk.cores && a->chunk.mem_bytes >= b->chunk.mem_bytes &&
	       a->chunk.jobfs_bytes >= b->chunk.jobfs_bytes && a->chunk.gpus >= b->chunk.gpus &&
	       a->chunk.n >= b->chunk.n && a->limit_s >= b->limit_s &&
	       a->chunk.model == b->chunk.model && (a->features & b->features) == b->features &&
	       a->is_exclusive == b->is_exclusive && a->is_scattered == b->is_scattered;
}

static struct shape shape_of(const struct job *j, int32_t chunk, int64_t limit_s)
{
	return (struct shape){ .chunk = j->pub.chunks[chunk],
			       .features = j->pub.features,
			       .limit_s = limit_s,
			       .is_exclusive = j->pub.is_exclusive,
			       .is_scattered = j->pub.is_scattered };
}

void shapes_forget(struct schedule *s)
{
	s->shapes.n = s->shapes.n_jobs = 0;
}

static bool asks_as_much_in_all(const struct job *a, const struct job *b)
{
	if (a->pub.n_chunks != b->pub.n_chunks)
		return false;
	for (int32_t c = 0; c < a->pub.n_chunks; c++) {
		struct shape x = shape_of(a, c, a->pub.limit_s);
		struct shape y = shape_of(b, c, b->pub.limit_s);

		if (!asks_as_much(&x, &y))
			return false;
	}
	return true;
}

bool shape_is_hopeless(const struct schedule *s, const struct job *j, int64_t limit_s)
{
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		struct shape new = shape_of(j, c, limit_s);

		for (size_t i = 0; i < s->shapes.n; i++)
			if (asks_as_much(&new, &s->shapes.of[i]))
				return true;
	}
	for (size_t i = 0; j->pub.n_chunks > 1 && i < s->shapes.n_jobs; i++)
		if (asks_as_much_in_all(j, s->shapes.jobs[i]))
			return true;
	return false;
}

static void add_shape(struct shapes *all, const struct shape *new)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (!asks_as_much(&all->of[i], new))
			all->of[n++] = all->of[i];
	all->n = n;
	if (n < SHAPES_MAX)
		all->of[all->n++] = *new;
	else
		all->of[all->next++ % SHAPES_MAX] = *new;
}

void shape_add_failed(struct schedule *s, const struct job *j, int64_t limit_s)
{
	struct shapes *all = &s->shapes;
	struct shape new;

	if (s->lacking >= 0) {
		new = shape_of(j, s->lacking, limit_s);
		add_shape(all, &new);
		return;
	}
	if (!s->config.tries_max)
		return;
	if (all->n_jobs < SHAPES_MAX)
		all->jobs[all->n_jobs++] = j;
	else
		all->jobs[all->next_job++ % SHAPES_MAX] = j;
}
