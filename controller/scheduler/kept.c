/* kept.c - what is left beside the place that is kept. See schedule_impl.h. */
#include "controller/scheduler/schedule_impl.h"

void keep_note_full(struct schedule *s, int32_t node, bool is_full)
{
	struct kept *k = &s->kept;
	int32_t bucket = s->nodes[node].bucket;

	if (keep_is_full(s, (size_t)node) == is_full)
		return;
	k->full[node / WORD_BITS] ^= UINT64_C(1) << node % WORD_BITS;
	if (bucket >= 0)
		k->n_full[bucket] += is_full ? 1 : -1;
}

void keep_nothing(struct schedule *s)
{
	s->kept.job = -1;
	s->kept.at_s = SCHEDULE_FOREVER;
}

void keep_clear(struct schedule *s)
{
	struct kept *k = &s->kept;

	keep_nothing(s);
	keep_forget(s);
	for (size_t i = 0; i < k->n_extras; i++) {
		keep_note_full(s, k->extras[i].node, false);
		k->of_node[k->extras[i].node] = -1;
	}
	k->n_extras = 0;
}

/* What is over by then changes nothing: there is less room before, and as much then. What is
 * not matters on a node of the place, and on one where more than too little is left: another
 * might be the better choice now. */
void keep_started(struct schedule *s, int32_t job)
{
	const struct kept *k = &s->kept;
	const struct job *j = job_at(s, job);
	int32_t part = 0;

	if (k->known == job)
		keep_forget(s);
	if (k->known < 0 || j->end_s <= k->known_s)
		return;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			int32_t node = j->nodes[part];

			if (k->of_node[node] >= 0 ||
			    s->nodes[node].cores - j->pub.chunks[c].cores >= k->least_cores)
				keep_forget(s);
		}
	}
}

/* There may be room earlier, on its nodes, but for no more than they have. */
void keep_ends(struct schedule *s, int32_t job)
{
	struct kept *k = &s->kept;
	const struct job *j = job_at(s, job);

	if (k->known == job || j->state == SCHEDULE_SUSPENDED || j->end_s > k->known_s)
		keep_forget(s);
	if (k->known < 0 || j->state != SCHEDULE_RUNNING)
		return;
	for (int32_t part = 0; part < j->n_parts; part++)
		k->lack -= s->nodes[j->nodes[part]].cores / k->lack_cores;
	if (k->lack <= 0)
		keep_forget(s);
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

void keep_take(struct schedule *s, int32_t node, const struct schedule_chunk *c, int sign)
{
	struct kept *k = &s->kept;
	struct extra *e;

	if (k->of_node[node] < 0)
		return;
	e = &k->extras[k->of_node[node]];
	e->cores -= sign * c->cores;
	e->mem_bytes -= sign * c->mem_bytes;
	e->jobfs_bytes -= sign * c->jobfs_bytes;
	e->gpus.held[c->model] += sign * c->gpus;
	keep_note_full(s, node, e->is_whole || e->cores <= 0);
}
