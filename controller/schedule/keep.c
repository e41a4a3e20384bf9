/* keep.c - the place that is kept for a job that cannot start now. See schedule.h.
 *
 * All that runs is taken to end at its limit, in that order, on a copy of the nodes, until the
 * job fits; suspended jobs keep what they hold.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/schedule/schedule_impl.h"

struct future {
	struct schedule view; /* with the nodes of then */
	const struct job *job;
	int64_t at_s;
	int64_t *fits; /* of each chunk: how many more parts there is room for, in all */
};

/* ---- the nodes of then ---- */

static int copy_nodes(struct schedule *s)
{
	struct node *nodes = realloc(s->then, (s->n_nodes + 1) * sizeof(*nodes));
	struct gpu_state *gpus;

	if (!nodes)
		return -ENOMEM;
	s->then = nodes;
	gpus = realloc(s->then_gpus, (s->n_gpus + 1) * sizeof(*gpus));
	if (!gpus)
		return -ENOMEM;
	s->then_gpus = gpus;
	memcpy(nodes, s->nodes, s->n_nodes * sizeof(*nodes));
	if (s->n_gpus)
		memcpy(gpus, s->gpus, s->n_gpus * sizeof(*gpus));
	return 0;
}

static int64_t room_on(const struct future *f, const struct node *n, int32_t chunk)
{
	const struct schedule_chunk *c = &f->job->pub.chunks[chunk];

	if (!n->is_open)
		return 0;
	if (n->closed_from_s && f->at_s + f->job->pub.limit_s > n->closed_from_s)
		return 0;
	return place_count(&f->view, n, f->job, c);
}

static void count_room(struct future *f, const struct node *n, int sign)
{
	for (int32_t c = 0; c < f->job->pub.n_chunks; c++)
		f->fits[c] += sign * room_on(f, n, c);
}

static bool may_fit(const struct future *f)
{
	for (int32_t c = 0; c < f->job->pub.n_chunks; c++)
		if (f->fits[c] < f->job->pub.chunks[c].n)
			return false;
	return true;
}

/* One that runs now has ended. */
static void end(struct future *f, const struct job *j)
{
	int32_t part = 0;

	f->view.stamp++;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			struct node *n = &f->view.nodes[j->nodes[part]];

			count_room(f, n, -1);
			if (j->pub.is_exclusive && n->stamp != f->view.stamp)
				n->n_whole--;
			n->stamp = f->view.stamp;
			node_count(f->view.gpus, n, &j->pub.chunks[c], HOLD_ALL, -1);
			count_room(f, n, 1);
		}
	}
}

/* ---- its place ---- */

static int32_t best_node(const struct future *f, int32_t chunk)
{
	int32_t best = -1;

	for (size_t i = 0; i < f->view.n_nodes; i++) {
		const struct node *n = &f->view.nodes[i];

		if (n->stamp == f->view.stamp && f->job->pub.is_scattered)
			continue;
		if (best >= 0 && n->free_cores >= f->view.nodes[best].free_cores)
			continue;
		if (room_on(f, n, chunk) > 0)
			best = (int32_t)i;
	}
	return best;
}

static int add_extra(struct schedule *s, int32_t node)
{
	struct kept *k = &s->kept;

	if (k->of_node[node] >= 0)
		return 0;
	if (schedule_room(&k->extras, &k->max_extras, k->n_extras + 1, sizeof(*k->extras)) < 0)
		return -ENOMEM;
	k->of_node[node] = (int32_t)k->n_extras;
	k->extras[k->n_extras++] = (struct extra){ .node = node };
	return 0;
}

/* Puts the parts of one chunk, as many as fit on each node that is chosen. */
static int put_chunk(struct schedule *s, struct future *f, int32_t chunk)
{
	const struct schedule_chunk *c = &f->job->pub.chunks[chunk];

	for (int32_t left = c->n; left > 0;) {
		int32_t i = best_node(f, chunk);
		struct node *n;
		int64_t room;

		if (i < 0)
			return 0;
		n = &f->view.nodes[i];
		room = room_on(f, n, chunk);
		if (add_extra(s, i) < 0)
			return -ENOMEM;
		for (; left > 0 && room > 0; left--, room--)
			node_count(f->view.gpus, n, c, HOLD_ALL, 1);
		n->stamp = f->view.stamp;
	}
	return 1;
}

static void measure_extras(struct schedule *s, const struct future *f)
{
	for (size_t i = 0; i < s->kept.n_extras; i++) {
		struct extra *e = &s->kept.extras[i];
		const struct node *n = &f->view.nodes[e->node];

		e->cores = n->free_cores;
		e->mem_bytes = n->free_mem;
		e->jobfs_bytes = n->free_jobfs;
		e->is_whole = f->job->pub.is_exclusive;
		if (n->gpus >= 0)
			e->gpus = f->view.gpus[n->gpus];
	}
}

/* Tries to put all of it on the nodes of then. 1: it fits. What was put is not taken back when
 * it does not: the copy is then of no use. */
static int put_all(struct schedule *s, struct future *f)
{
	int r = 1;

	f->view.stamp++;
	for (int32_t c = 0; c < f->job->pub.n_chunks && r > 0; c++)
		r = put_chunk(s, f, c);
	if (r > 0)
		measure_extras(s, f);
	return r;
}

/* On a copy of the copy, where several kinds of chunks or closings make the count a guess. */
static int try_all(struct schedule *s, struct future *f)
{
	bool is_sure = f->job->pub.n_chunks == 1 && !s->has_closings;
	struct node *nodes = NULL;
	struct gpu_state *gpus = NULL;
	int r = -ENOMEM;

	if (is_sure)
		return put_all(s, f);
	nodes = malloc(s->n_nodes * sizeof(*nodes) + 1);
	gpus = malloc(s->n_gpus * sizeof(*gpus) + 1);
	if (nodes && gpus) {
		memcpy(nodes, s->then, s->n_nodes * sizeof(*nodes));
		memcpy(gpus, s->then_gpus, s->n_gpus * sizeof(*gpus));
		r = put_all(s, f);
	}
	if (r == 0) {
		keep_nothing(s);
		memcpy(s->then, nodes, s->n_nodes * sizeof(*nodes));
		memcpy(s->then_gpus, gpus, s->n_gpus * sizeof(*gpus));
	}
	free(nodes);
	free(gpus);
	return r;
}

/* A suspended job has its nodes: there, all its cores together. */
static int put_own(struct schedule *s, struct future *f)
{
	const struct job *j = f->job;
	int32_t part = 0;
	bool is_free = true;

	for (int sign = 1; sign >= (is_free ? 1 : -1); sign -= 2) {
		part = 0;
		for (int32_t c = 0; c < j->pub.n_chunks; c++)
			for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++)
				f->view.nodes[j->nodes[part]].free_cores -=
					sign * j->pub.chunks[c].cores;
		for (part = 0; sign > 0 && part < j->n_parts; part++)
			is_free &= f->view.nodes[j->nodes[part]].free_cores >= 0;
	}
	if (!is_free)
		return 0;
	for (part = 0; part < j->n_parts; part++)
		if (add_extra(s, j->nodes[part]) < 0)
			return -ENOMEM;
	measure_extras(s, f);
	return 1;
}

static int ends(struct schedule *s, struct future *f, int64_t now_s)
{
	size_t i = 0;
	int r = 0;

	while (r == 0 && i < s->n_running) {
		int64_t at_s = job_at(s, s->running[i])->end_s;

		for (; i < s->n_running && job_at(s, s->running[i])->end_s == at_s; i++)
			end(f, job_at(s, s->running[i]));
		f->at_s = at_s > now_s ? at_s : now_s + 1;
		if (f->job->state == SCHEDULE_SUSPENDED)
			r = put_own(s, f);
		else
			r = may_fit(f) ? try_all(s, f) : 0;
	}
	return r;
}

static int make_room(struct schedule *s)
{
	struct kept *k = &s->kept;

	if (k->n_nodes == s->n_nodes)
		return 0;
	keep_nothing(s);
	free(k->of_node);
	k->of_node = malloc((s->n_nodes + 1) * sizeof(*k->of_node));
	k->n_nodes = k->of_node ? s->n_nodes : 0;
	for (size_t i = 0; i < k->n_nodes; i++)
		k->of_node[i] = -1;
	return k->of_node ? 0 : -ENOMEM;
}

int keep_place(struct schedule *s, int32_t job, int64_t now_s)
{
	struct future f = { .job = job_at(s, job), .at_s = now_s };
	int r = make_room(s);

	if (r < 0)
		return r;
	keep_nothing(s);
	if (copy_nodes(s) < 0)
		return -ENOMEM;
	f.fits = calloc((size_t)f.job->pub.n_chunks, sizeof(*f.fits));
	if (!f.fits)
		return -ENOMEM;
	f.view = *s;
	f.view.nodes = s->then;
	f.view.gpus = s->then_gpus;
	for (size_t i = 0; i < s->n_nodes; i++)
		count_room(&f, &f.view.nodes[i], 1);
	r = ends(s, &f, now_s);
	if (r > 0) {
		s->kept.job = job;
		s->kept.at_s = f.at_s;
	}
	free(f.fits);
	return r < 0 ? r : 0;
}
