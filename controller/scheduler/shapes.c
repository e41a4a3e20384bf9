/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shapes.c - remembers what did not fit in this pass. A job with several kinds of chunks is hopeless
 * if any of them is; of one that failed only the first kind is noted, and only if that one was
 * lacking: it alone was placed as if there were no others. */
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

bool shape_is_hopeless(const struct schedule *s, const struct job *j, int64_t limit_s)
{
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		struct shape new = shape_of(j, c, limit_s);

		for (size_t i = 0; i < s->n_shapes; i++)
			if (asks_as_much(&new, &s->shapes[i]))
				return true;
	}
	return false;
}

void shape_add_failed(struct schedule *s, const struct job *j, int64_t limit_s)
{
	struct shape new = shape_of(j, 0, limit_s);
	size_t n = 0;

	if (s->lacking > 0)
		return;
	for (size_t i = 0; i < s->n_shapes; i++)
		if (!asks_as_much(&s->shapes[i], &new))
			s->shapes[n++] = s->shapes[i];
	s->n_shapes = n;
	if (n < SHAPES_MAX)
		s->shapes[s->n_shapes++] = new;
	else
		s->shapes[s->next_shape++ % SHAPES_MAX] = new;
}
