/* keep.c - the place that is kept for a job that cannot start now. See schedule.h.
 *
 * All that runs is taken to end at its limit, in that order, until the job fits; suspended jobs
 * keep what they hold. This is played on the nodes themselves, and taken back.
 */
#include <errno.h>
#include <stdlib.h>
#include "controller/scheduler/schedule_impl.h"

struct future {
	struct schedule *s;
	const struct job *job;
	int64_t at_s;
	size_t n_ended; /* of s->running */
	int64_t *fits;	/* of each chunk: how many parts there is room for, in all */
	int32_t lacks;	/* a chunk that had too little room at the moment before; -1: none */
	int64_t lack;	/* how much */
};

/* ---- the nodes of then ---- */

static int64_t room_on(const struct future *f, const struct node *n, int32_t chunk)
{
	const struct schedule_chunk *c = &f->job->pub.chunks[chunk];

	if (c->cores > n->free_cores || !n->is_open)
		return 0;
	if (n->closed_from_s && f->at_s + f->job->pub.limit_s > n->closed_from_s)
		return 0;
	return place_count(f->s, n, f->job, c);
}

static void count_room(struct future *f, const struct node *n, int sign)
{
	for (int32_t c = 0; c < f->job->pub.n_chunks; c++)
		f->fits[c] += sign * room_on(f, n, c);
}

static void count_all(struct future *f, int32_t chunk)
{
	const struct schedule *s = f->s;

	for (int32_t b = bucket_of(f->job->pub.chunks[chunk].cores); b < BUCKETS; b++)
		for (int32_t i = -1; (i = bucket_next(s, b, i, NULL)) >= 0;)
			f->fits[chunk] += room_on(f, &s->nodes[i], chunk);
}

static bool may_fit(struct future *f)
{
	f->lacks = -1;
	for (int32_t c = 0; c < f->job->pub.n_chunks && f->lacks < 0; c++) {
		f->lack = f->job->pub.chunks[c].n - f->fits[c];
		f->lacks = f->lack > 0 ? c : -1;
	}
	return f->lacks < 0;
}

/* One that runs now has ended. */
static void end(struct future *f, const struct job *j)
{
	struct schedule *s = f->s;
	int32_t part = 0;

	s->stamp++;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			struct node *n = &s->nodes[j->nodes[part]];

			count_room(f, n, -1);
			if (j->pub.is_exclusive && n->stamp != s->stamp)
				n->n_whole--;
			n->stamp = s->stamp;
			node_hold(s, n, &j->pub.chunks[c], HOLD_ALL, -1);
			count_room(f, n, 1);
		}
	}
}

/* ---- its place ---- */

static int note_node(struct schedule *s, int32_t node)
{
	struct kept *k = &s->kept;

	if (k->of_node[node] >= 0)
		return 0;
	if (schedule_room(&k->extras, &k->max_extras, k->n_extras + 1, sizeof(*k->extras)) < 0)
		return -ENOMEM;
	k->of_node[node] = (int32_t)k->n_extras;
	k->extras[k->n_extras].node = node;
	k->extras[k->n_extras++].n_last = 0;
	return 0;
}

/* Parts of the last chunk are only noted: nobody looks after them. But in the last bucket,
 * where nodes are looked at again. */
static int note_parts(struct future *f, int32_t chunk, int32_t node, int32_t parts)
{
	struct kept *k = &f->s->kept;
	struct node *n = &f->s->nodes[node];

	if (note_node(f->s, node) < 0)
		return -ENOMEM;
	if (chunk == f->job->pub.n_chunks - 1 && n->bucket < BUCKETS - 1) {
		k->extras[k->of_node[node]].n_last = parts;
		return 0;
	}
	if (schedule_room(&k->puts, &k->max_puts, k->n_puts + 1, sizeof(*k->puts)) < 0)
		return -ENOMEM;
	k->puts[k->n_puts++] = (struct put){ node, chunk, parts };
	for (int32_t i = 0; i < parts; i++)
		node_count(f->s->gpus, n, &f->job->pub.chunks[chunk], HOLD_ALL, 1);
	node_index(f->s, n);
	return 0;
}

/* As many parts of a chunk as fit there. */
static int put_on(struct future *f, int32_t chunk, int32_t node, int32_t *left)
{
	struct node *n = &f->s->nodes[node];
	int64_t room = room_on(f, n, chunk);

	if (room <= 0 || (f->job->pub.is_scattered && n->stamp == f->s->stamp))
		return 0;
	if (room > *left)
		room = *left;
	*left -= (int32_t)room;
	n->stamp = f->s->stamp;
	return note_parts(f, chunk, node, (int32_t)room);
}

/* The node of the last bucket with the fewest free cores where a part fits; -1: none. */
static int32_t best_of_last(const struct future *f, int32_t chunk)
{
	const struct schedule *s = f->s;
	int32_t best = -1;

	for (int32_t i = -1; (i = bucket_next(s, BUCKETS - 1, i, NULL)) >= 0;) {
		const struct node *n = &s->nodes[i];

		if (n->stamp == s->stamp && f->job->pub.is_scattered)
			continue;
		if (best >= 0 && n->free_cores >= s->nodes[best].free_cores)
			continue;
		if (room_on(f, n, chunk) > 0)
			best = i;
	}
	return best;
}

/* Puts the parts of one chunk, on the nodes with the fewest free cores first, then in their
 * order, as many on each as fit. 1: all; 0: not all. */
static int put_chunk(struct future *f, int32_t chunk)
{
	const struct schedule_chunk *c = &f->job->pub.chunks[chunk];
	int32_t left = c->n, i;
	int r = 0;

	for (int32_t b = bucket_of(c->cores); b < f->s->end_bucket; b++)
		for (i = -1; left && r == 0 && (i = bucket_next(f->s, b, i, NULL)) >= 0;)
			r = put_on(f, chunk, i, &left);
	while (left && r == 0 && (i = best_of_last(f, chunk)) >= 0)
		r = put_on(f, chunk, i, &left);
	return r < 0 ? r : left == 0;
}

static void measure_extras(const struct future *f)
{
	const struct schedule_chunk *last = &f->job->pub.chunks[f->job->pub.n_chunks - 1];
	struct schedule *s = f->s;

	for (size_t i = 0; i < s->kept.n_extras; i++) {
		struct extra *e = &s->kept.extras[i];
		const struct node *n = &s->nodes[e->node];

		e->cores = n->free_cores - e->n_last * last->cores;
		e->mem_bytes = n->free_mem - e->n_last * last->mem_bytes;
		e->jobfs_bytes = n->free_jobfs - e->n_last * last->jobfs_bytes;
		e->is_whole = f->job->pub.is_exclusive;
		if (n->gpus >= 0) {
			e->gpus = s->gpus[n->gpus];
			e->gpus.held[last->model] += e->n_last * last->gpus;
		}
		keep_note_full(s, e->node, e->is_whole || e->cores <= 0);
	}
}

/* Takes back what was put. */
static void unput(struct future *f)
{
	struct kept *k = &f->s->kept;

	while (k->n_puts > 0) {
		const struct put *p = &k->puts[--k->n_puts];
		struct node *n = &f->s->nodes[p->node];

		for (int32_t i = 0; i < p->n; i++)
			node_count(f->s->gpus, n, &f->job->pub.chunks[p->chunk], HOLD_ALL, -1);
		node_index(f->s, n);
	}
}

/* Tries to put all of it on the nodes of then; the counts of several kinds of chunks are a
 * guess. 1: it fits, and what is left beside it is known. */
static int try_all(struct future *f)
{
	int r = 1;

	f->s->stamp++;
	for (int32_t c = 0; c < f->job->pub.n_chunks && r > 0; c++)
		r = put_chunk(f, c);
	if (r > 0)
		measure_extras(f);
	else
		keep_clear(f->s);
	unput(f);
	return r;
}

/* A suspended job has its nodes: there, all its cores together. */
static int put_own(struct future *f)
{
	struct schedule *s = f->s;
	const struct job *j = f->job;
	bool is_free = true;
	int r = 0;

	job_hold(s, j, HOLD_CORES, 1);
	for (int32_t part = 0; part < j->n_parts; part++)
		is_free &= s->nodes[j->nodes[part]].free_cores >= 0;
	for (int32_t part = 0; is_free && r == 0 && part < j->n_parts; part++)
		r = note_node(s, j->nodes[part]);
	if (is_free && r == 0)
		measure_extras(f);
	job_hold(s, j, HOLD_CORES, -1);
	return r < 0 ? r : is_free;
}

static int ends(struct future *f, int64_t now_s)
{
	struct schedule *s = f->s;
	int32_t lacked = -1;
	int64_t lack = 0;
	int r = 0;

	may_fit(f);
	while (r == 0 && f->n_ended < s->n_running) {
		int64_t at_s = job_at(s, s->running[f->n_ended])->end_s;

		while (f->n_ended < s->n_running &&
		       job_at(s, s->running[f->n_ended])->end_s == at_s)
			end(f, job_at(s, s->running[f->n_ended++]));
		f->at_s = at_s > now_s ? at_s : now_s + 1;
		if (f->job->state == SCHEDULE_SUSPENDED) {
			r = put_own(f);
			continue;
		}
		lacked = f->lacks;
		lack = f->lack;
		r = may_fit(f) ? try_all(f) : 0;
	}
	/* As of the moment before that at which it fits. */
	f->lacks = lacked;
	f->lack = lack;
	return r;
}

/* So that the place needs not be sought anew while nothing changes that matters. */
static void know(struct schedule *s, const struct future *f, int32_t job, int64_t now_s)
{
	struct kept *k = &s->kept;
	const struct job *j = f->job;

	k->known = -1;
	if (j->state != SCHEDULE_QUEUED || s->has_closings || f->lacks < 0)
		return;
	if (job_at(s, s->running[f->n_ended - 1])->end_s <= now_s)
		return;
	k->lack = f->lack;
	k->lack_cores = j->pub.chunks[f->lacks].cores;
	k->least_cores = j->most_cores;
	for (int32_t c = 0; c < j->pub.n_chunks; c++)
		if (j->pub.chunks[c].cores < k->least_cores)
			k->least_cores = j->pub.chunks[c].cores;
	k->known_s = f->at_s;
	if (k->least_cores > 0)
		k->known = job;
}

static int make_room(struct schedule *s)
{
	struct kept *k = &s->kept;

	if (k->n_nodes == s->n_nodes)
		return 0;
	keep_clear(s);
	k->n_nodes = 0;
	free(k->of_node);
	free(k->full);
	k->of_node = malloc((s->n_nodes + 1) * sizeof(*k->of_node));
	k->full = calloc(s->words + 1, sizeof(*k->full));
	if (!k->of_node || !k->full)
		return -ENOMEM;
	k->n_nodes = s->n_nodes;
	for (size_t i = 0; i < k->n_nodes; i++)
		k->of_node[i] = -1;
	return 0;
}

int keep_place(struct schedule *s, int32_t job, int64_t now_s)
{
	struct future f = { .s = s, .job = job_at(s, job), .at_s = now_s };
	int r = make_room(s);

	if (r < 0)
		return r;
	if (s->kept.known == job && now_s < s->kept.known_s) {
		s->kept.job = job;
		s->kept.at_s = s->kept.known_s;
		return 0;
	}
	keep_clear(s);
	f.fits = calloc((size_t)f.job->pub.n_chunks, sizeof(*f.fits));
	if (!f.fits)
		return -ENOMEM;
	for (int32_t c = 0; c < f.job->pub.n_chunks; c++)
		count_all(&f, c);
	r = ends(&f, now_s);
	if (r > 0) {
		s->kept.job = job;
		s->kept.at_s = f.at_s;
		know(s, &f, job, now_s);
	}
	while (f.n_ended > 0)
		job_hold(s, job_at(s, s->running[--f.n_ended]), HOLD_ALL, 1);
	free(f.fits);
	return r < 0 ? r : 0;
}
