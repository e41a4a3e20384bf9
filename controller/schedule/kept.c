/* kept.c - what is left beside the place that is kept. See schedule_impl.h. */
#include "controller/schedule/schedule_impl.h"

void keep_nothing(struct schedule *s)
{
	struct kept *k = &s->kept;

	for (size_t i = 0; i < k->n_extras; i++)
		k->of_node[k->extras[i].node] = -1;
	k->n_extras = 0;
	k->job = -1;
	k->at_s = SCHEDULE_FOREVER;
}

bool keep_allows(const struct schedule *s, const struct kept *k, int32_t node,
		 const struct schedule_chunk *c, const struct job *j)
{
	const struct extra *e;

	if (k->of_node[node] < 0)
		return true;
	e = &k->extras[k->of_node[node]];
	if (e->is_whole || j->pub.is_exclusive)
		return false;
	return c->cores <= e->cores && c->mem_bytes <= e->mem_bytes &&
	       c->jobfs_bytes <= e->jobfs_bytes &&
	       (!c->gpus || c->gpus <= gpus_left(s, &e->gpus, c->model));
}

void keep_take(struct kept *k, int32_t node, const struct schedule_chunk *c, int sign)
{
	struct extra *e;

	if (k->of_node[node] < 0)
		return;
	e = &k->extras[k->of_node[node]];
	e->cores -= sign * c->cores;
	e->mem_bytes -= sign * c->mem_bytes;
	e->jobfs_bytes -= sign * c->jobfs_bytes;
	e->gpus.held[c->model] += sign * c->gpus;
}
