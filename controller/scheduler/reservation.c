/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reservation.c - reserves nodes and a start time for a queued job, and checks later jobs against
 * that.
 *
 * To find them, the running jobs end one after the other, each at its limit, until the job fits;
 * suspended jobs keep what they have. This is played on the schedule's own nodes and taken back
 * afterwards: a copy of all nodes for each pass would cost more.
 */
#include <errno.h>
#include <stdlib.h>
#include "controller/scheduler/schedule_impl.h"

#define NO_CHUNK (-1)
#define NO_TIME 2

/* The nodes as they will be at a later moment. */
struct future {
	struct schedule *s;
	const struct job *job;
	struct reservation_search *at;
	/* A job of several kinds of chunks has a further kind: as many parts as it has in all, each of
	 * the least that any part asks for. Where these have no room, the job has none. */
	struct schedule_chunk least;
	int32_t n_kinds;
	int32_t lacking;   /* the first kind with too little room, or NO_CHUNK */
	int64_t n_lacking; /* of its parts */
};

static const struct schedule_chunk *kind_of(const struct future *f, int32_t kind)
{
	return kind < f->job->pub.n_chunks ? &f->job->pub.chunks[kind] : &f->least;
}

static void set_full(struct schedule *s, int32_t node, bool is_full)
{
	struct reservation *k = &s->reservation;
	int32_t bucket = s->nodes[node].bucket;

	if (reservation_is_full(s, (size_t)node) == is_full)
		return;
	k->full[node / WORD_BITS] ^= UINT64_C(1) << node % WORD_BITS;
	if (bucket >= 0)
		k->n_full[bucket] += is_full ? 1 : -1;
}

void reservation_cancel(struct schedule *s)
{
	s->reservation.job = -1;
	s->reservation.at_s = SCHEDULE_FOREVER;
}

void reservation_clear(struct schedule *s)
{
	struct reservation *k = &s->reservation;

	reservation_cancel(s);
	reservation_invalidate(s);
	for (size_t i = 0; i < k->n_spare; i++) {
		set_full(s, k->spare[i].node, false);
		k->spare_of[k->spare[i].node] = -1;
	}
	k->n_spare = 0;
}

/* ---- when there is room ---- */

static int64_t room_on(const struct future *f, const struct node *n, int32_t kind)
{
	const struct schedule_chunk *c = kind_of(f, kind);

	f->s->work++;
	if (c->cores > n->free_cores || !n->is_open)
		return 0;
	if (n->closed_from_s && f->at->at_s + f->job->pub.limit_s > n->closed_from_s)
		return 0;
	return node_count_fitting(f->s, n, f->job, c);
}

static void add_room(struct future *f, const struct node *n, int sign)
{
	for (int32_t c = 0; c < f->n_kinds; c++)
		f->at->fits[c] += sign * room_on(f, n, c);
}

static void count_room(struct future *f, int32_t kind)
{
	const struct schedule *s = f->s;

	f->at->fits[kind] = 0;
	for (int32_t b = node_bucket(kind_of(f, kind)->cores); b < NODE_BUCKETS; b++)
		for (int32_t i = -1; (i = node_next(s, b, i, NULL)) >= 0;)
			f->at->fits[kind] += room_on(f, &s->nodes[i], kind);
}

/* Has each kind of chunk room when the others are left out? Necessary for all to fit. */
static bool may_fit(struct future *f)
{
	for (int32_t c = 0; c < f->n_kinds; c++) {
		f->lacking = c;
		f->n_lacking = kind_of(f, c)->n - f->at->fits[c];
		if (f->n_lacking > 0)
			return false;
	}
	f->lacking = NO_CHUNK;
	return true;
}

/* A job that runs now has ended; the count of room follows, node by node. */
static void end_job(struct future *f, const struct job *j)
{
	struct schedule *s = f->s;
	int32_t part = 0;

	s->stamp++;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			struct node *n = &s->nodes[j->nodes[part]];

			add_room(f, n, -1);
			if (j->pub.is_exclusive && n->stamp != s->stamp)
				n->n_whole--;
			n->stamp = s->stamp;
			node_allocate(s, n, &j->pub.chunks[c], NODE_ALL, -1);
			add_room(f, n, 1);
		}
	}
}

/* ---- on which nodes ---- */

static int add_spare(struct schedule *s, int32_t node)
{
	struct reservation *k = &s->reservation;

	if (k->spare_of[node] >= 0)
		return 0;
	if (schedule_reserve(&k->spare, &k->max_spare, k->n_spare + 1, sizeof(*k->spare)) < 0)
		return -ENOMEM;
	k->spare_of[node] = (int32_t)k->n_spare;
	k->spare[k->n_spare].node = node;
	k->spare[k->n_spare++].n_last = 0;
	return 0;
}

/* Parts of the last chunk need not be put on their node: no chunk after it looks at what is free
 * there. Except in the last bucket, whose nodes find_tightest() compares again for each part. */
static int add_parts(struct future *f, int32_t chunk, int32_t node, int32_t parts)
{
	struct reservation *k = &f->s->reservation;
	struct node *n = &f->s->nodes[node];

	if (add_spare(f->s, node) < 0)
		return -ENOMEM;
	if (chunk == f->job->pub.n_chunks - 1 && n->bucket < NODE_BUCKETS - 1) {
		k->spare[k->spare_of[node]].n_last = parts;
		return 0;
	}
	if (schedule_reserve(&k->trials, &k->max_trials, k->n_trials + 1, sizeof(*k->trials)) <
	    0)
		return -ENOMEM;
	k->trials[k->n_trials++] = (struct reservation_trial){ node, chunk, parts };
	for (int32_t i = 0; i < parts; i++)
		node_add_use(f->s->gpus, n, &f->job->pub.chunks[chunk], NODE_ALL, 1);
	node_index(f->s, n);
	return 0;
}

/* As many parts of a chunk as fit on a node, *left at most. */
static int put_on_node(struct future *f, int32_t chunk, int32_t node, int32_t *left)
{
	struct node *n = &f->s->nodes[node];
	int64_t room = room_on(f, n, chunk);

	if (room <= 0 || (f->job->pub.is_scattered && n->stamp == f->s->stamp))
		return 0;
	if (room > *left)
		room = *left;
	*left -= (int32_t)room;
	n->stamp = f->s->stamp;
	return add_parts(f, chunk, node, (int32_t)room);
}

/* The node of the last bucket with the fewest free cores where a part fits; -1: none. */
static int32_t find_tightest(const struct future *f, int32_t chunk)
{
	const struct schedule *s = f->s;
	int32_t best = -1;

	for (int32_t i = -1; (i = node_next(s, NODE_BUCKETS - 1, i, NULL)) >= 0;) {
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

/* Puts the parts of one chunk on the nodes with the fewest free cores first, then in the order of
 * their numbers, as many on each as fit. 1: all; 0: not all. */
static int put_chunk(struct future *f, int32_t chunk)
{
	const struct schedule_chunk *c = &f->job->pub.chunks[chunk];
	int32_t left = c->n, i;
	int r = 0;

	for (int32_t b = node_bucket(c->cores); b < f->s->end_bucket; b++)
		for (i = -1; left && r == 0 && (i = node_next(f->s, b, i, NULL)) >= 0;)
			r = put_on_node(f, chunk, i, &left);
	while (left && r == 0 && (i = find_tightest(f, chunk)) >= 0)
		r = put_on_node(f, chunk, i, &left);
	return r < 0 ? r : left == 0;
}

static void measure_spare(const struct future *f)
{
	const struct schedule_chunk *last = &f->job->pub.chunks[f->job->pub.n_chunks - 1];
	struct schedule *s = f->s;

	for (size_t i = 0; i < s->reservation.n_spare; i++) {
		struct reservation_spare *e = &s->reservation.spare[i];
		const struct node *n = &s->nodes[e->node];

		e->cores = n->free_cores - e->n_last * last->cores;
		e->mem_bytes = n->free_mem - e->n_last * last->mem_bytes;
		e->jobfs_bytes = n->free_jobfs - e->n_last * last->jobfs_bytes;
		e->is_whole = f->job->pub.is_exclusive;
		if (n->gpus >= 0) {
			e->gpus = s->gpus[n->gpus];
			e->gpus.in_use[last->model] += e->n_last * last->gpus;
		}
		set_full(s, e->node, e->is_whole || e->cores <= 0);
	}
}

static void take_back_trials(struct future *f)
{
	struct reservation *k = &f->s->reservation;

	while (k->n_trials > 0) {
		const struct reservation_trial *p = &k->trials[--k->n_trials];
		struct node *n = &f->s->nodes[p->node];

		for (int32_t i = 0; i < p->n; i++)
			node_add_use(f->s->gpus, n, &f->job->pub.chunks[p->chunk], NODE_ALL,
				     -1);
		node_index(f->s, n);
	}
}

/* Tries to put the whole job on the nodes of that moment: may_fit() looks at one chunk at a time,
 * and is only necessary. 1: it fits, and the spare is measured. */
static int try_all_chunks(struct future *f)
{
	int r = 1;

	f->s->stamp++;
	for (int32_t c = 0; c < f->job->pub.n_chunks && r > 0; c++)
		r = put_chunk(f, c);
	if (r > 0)
		measure_spare(f);
	else
		reservation_clear(f->s);
	take_back_trials(f);
	return r;
}

/* Is the job to be put on the nodes at this moment, where each kind of chunk has room? */
static bool is_tried(struct future *f)
{
	struct reservation_search *at = f->at;
	int64_t promised_s = f->job->promised_s;

	if (reservation_take_try(&at->tries, f->s->config.tries_max, at->n_moments) ||
	    at->n_ended == f->s->n_running)
		return true;
	if (at->is_promise_tried || !promised_s || at->at_s < promised_s)
		return false;
	at->is_promise_tried = true;
	return true;
}

/* The next moment at which running jobs end, at their limits. */
static void end_next(struct future *f, int64_t now_s)
{
	struct reservation_search *at = f->at;
	struct schedule *s = f->s;
	int64_t end_s = job_at(s, s->running[at->n_ended])->end_s;

	while (at->n_ended < s->n_running && job_at(s, s->running[at->n_ended])->end_s == end_s)
		end_job(f, job_at(s, s->running[at->n_ended++]));
	at->at_s = end_s > now_s ? end_s : now_s + 1;
	at->n_moments++;
}

/* Lets the running jobs end in the order of their limits until the job fits. 1: it does, at
 * f->at->at_s; f->lacking is then what had no room just before. 0: it never fits. NO_TIME. */
static int find_moment(struct future *f, int64_t now_s)
{
	int32_t lacking = NO_CHUNK;
	int64_t n_lacking = 0;
	int r = 0;

	may_fit(f);
	while (r == 0 && f->at->n_ended < f->s->n_running) {
		if (!schedule_has_time(f->s))
			return NO_TIME;
		lacking = f->lacking;
		n_lacking = f->n_lacking;
		end_next(f, now_s);
		r = may_fit(f) && is_tried(f) ? try_all_chunks(f) : 0;
	}
	f->lacking = lacking;
	f->n_lacking = n_lacking;
	return r;
}

/* ---- on the nodes of a suspended job ---- */

/* A suspended job can only go on where it is. What its nodes will have free is counted in the
 * spares themselves; the nodes stay as they are. Returns on how many of them cores are missing. */
static int64_t open_own_spares(struct schedule *s, const struct job *j)
{
	struct reservation *k = &s->reservation;
	int64_t n_short = 0;
	int32_t part = 0;

	for (size_t i = 0; i < k->n_spare; i++) {
		struct reservation_spare *e = &k->spare[i];
		const struct node *n = &s->nodes[e->node];

		e->cores = n->free_cores;
		e->mem_bytes = n->free_mem;
		e->jobfs_bytes = n->free_jobfs;
		e->is_whole = j->pub.is_exclusive;
		if (n->gpus >= 0)
			e->gpus = s->gpus[n->gpus];
	}
	for (int32_t c = 0; c < j->pub.n_chunks; c++)
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++)
			k->spare[k->spare_of[j->nodes[part]]].cores -= j->pub.chunks[c].cores;
	for (size_t i = 0; i < k->n_spare; i++)
		n_short += k->spare[i].cores < 0;
	return n_short;
}

/* A running job has ended: its parts on these nodes are free. Returns by how many fewer nodes cores
 * are missing. */
static int64_t end_on_spares(struct schedule *s, const struct job *j)
{
	struct reservation *k = &s->reservation;
	int64_t n_enough = 0;
	int32_t part = 0;

	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		const struct schedule_chunk *chunk = &j->pub.chunks[c];

		for (int32_t i = 0; i < chunk->n; i++, part++) {
			int32_t at = k->spare_of[j->nodes[part]];
			struct reservation_spare *e = at >= 0 ? &k->spare[at] : NULL;

			if (!e)
				continue;
			n_enough += e->cores < 0 && e->cores + chunk->cores >= 0;
			e->cores += chunk->cores;
			e->mem_bytes += chunk->mem_bytes;
			e->jobfs_bytes += chunk->jobfs_bytes;
			if (s->nodes[e->node].gpus >= 0)
				e->gpus.in_use[chunk->model] -= chunk->gpus;
		}
	}
	return n_enough;
}

/* find_moment() for a suspended job: when are all its cores free together? */
static int find_own_moment(struct future *f, int64_t now_s)
{
	struct schedule *s = f->s;
	struct reservation *k = &s->reservation;
	int64_t n_short;
	int r = 0;

	for (int32_t part = 0; r == 0 && part < f->job->n_parts; part++)
		r = add_spare(s, f->job->nodes[part]);
	if (r < 0)
		return r;
	n_short = open_own_spares(s, f->job);
	for (size_t i = 0; i < s->n_running;) {
		int64_t at_s = job_at(s, s->running[i])->end_s;

		while (i < s->n_running && job_at(s, s->running[i])->end_s == at_s)
			n_short -= end_on_spares(s, job_at(s, s->running[i++]));
		f->at->at_s = at_s > now_s ? at_s : now_s + 1;
		if (n_short > 0)
			continue;
		for (size_t e = 0; e < k->n_spare; e++)
			set_full(s, k->spare[e].node,
				 k->spare[e].is_whole || k->spare[e].cores <= 0);
		return 1;
	}
	reservation_clear(s);
	return 0;
}

/* ---- the cache ---- */

/* Not cached: reservations of suspended jobs, whose nodes are given; those under maintenance,
 * where time alone changes what fits; and those that jobs beyond their limit delay. */
static void cache_found(struct schedule *s, const struct future *f, int32_t job, int64_t now_s)
{
	struct reservation *k = &s->reservation;
	const struct job *j = f->job;

	k->cached_job = -1;
	if (j->state != SCHEDULE_QUEUED || s->has_closings || f->lacking == NO_CHUNK)
		return;
	if (job_at(s, s->running[f->at->n_ended - 1])->end_s <= now_s)
		return;
	k->missing_parts = f->n_lacking;
	k->missing_cores = kind_of(f, f->lacking)->cores;
	k->least_cores = j->most_cores;
	for (int32_t c = 0; c < j->pub.n_chunks; c++)
		if (j->pub.chunks[c].cores < k->least_cores)
			k->least_cores = j->pub.chunks[c].cores;
	k->cached_at_s = f->at->at_s;
	if (k->least_cores > 0)
		k->cached_job = job;
}

/* A job that has ended by the reserved time changes nothing: before it there is less room, and
 * then as much. One that still runs matters on a node of the reservation; and on any other node
 * where its part may have left room for a chunk, since that node could now be the tightest. */
void reservation_job_started(struct schedule *s, int32_t job)
{
	const struct reservation *k = &s->reservation;
	const struct job *j = job_at(s, job);
	int32_t part = 0;

	if (k->cached_job == job)
		reservation_invalidate(s);
	if (k->cached_job < 0 || j->end_s <= k->cached_at_s)
		return;
	for (int32_t c = 0; c < j->pub.n_chunks; c++) {
		for (int32_t i = 0; i < j->pub.chunks[c].n; i++, part++) {
			int32_t node = j->nodes[part];

			if (k->spare_of[node] >= 0 ||
			    s->nodes[node].cores - j->pub.chunks[c].cores >= k->least_cores)
				reservation_invalidate(s);
		}
	}
}

/* There may be room earlier than reserved, on the nodes of the job that ended: for no more parts
 * than all their cores hold. The cache stays valid until these could make up for what was missing. */
void reservation_job_ended(struct schedule *s, int32_t job)
{
	struct reservation *k = &s->reservation;
	const struct job *j = job_at(s, job);

	if (k->cached_job == job || j->state == SCHEDULE_SUSPENDED || j->end_s > k->cached_at_s)
		reservation_invalidate(s);
	if (k->cached_job < 0 || j->state != SCHEDULE_RUNNING)
		return;
	for (int32_t part = 0; part < j->n_parts; part++)
		k->missing_parts -= s->nodes[j->nodes[part]].cores / k->missing_cores;
	if (k->missing_parts <= 0)
		reservation_invalidate(s);
}

/* ---- making one ---- */

static int fit_to_nodes(struct schedule *s)
{
	struct reservation *k = &s->reservation;

	if (k->n_nodes == s->n_nodes)
		return 0;
	reservation_clear(s);
	k->n_nodes = 0;
	free(k->spare_of);
	free(k->full);
	k->spare_of = malloc((s->n_nodes + 1) * sizeof(*k->spare_of));
	k->full = calloc(s->words + 1, sizeof(*k->full));
	if (!k->spare_of || !k->full)
		return -ENOMEM;
	k->n_nodes = s->n_nodes;
	for (size_t i = 0; i < k->n_nodes; i++)
		k->spare_of[i] = -1;
	return 0;
}

/* A new search for a job, at the present moment. */
static int begin_search(struct future *f, int64_t now_s)
{
	struct reservation_search *at = f->at;

	if (schedule_reserve(&at->fits, &at->max_fits, (size_t)f->n_kinds, sizeof(*at->fits)) <
	    0)
		return -ENOMEM;
	reservation_clear(f->s);
	at->at_s = now_s;
	at->n_ended = 0;
	at->n_moments = 0;
	at->tries = (struct reservation_tries){ 0 };
	at->is_promise_tried = false;
	for (int32_t c = 0; f->job->state == SCHEDULE_QUEUED && c < f->n_kinds; c++)
		count_room(f, c);
	return 0;
}

/* Goes on with a search: those that had ended by its moment end again. */
static void resume_search(const struct future *f)
{
	for (size_t i = 0; i < f->at->n_ended; i++)
		node_allocate_job(f->s, job_at(f->s, f->s->running[i]), NODE_ALL, -1);
}

static int search_moment(struct future *f, int64_t now_s)
{
	struct reservation_search *at = f->at;
	int r = 0;

	if (at->is_under_way)
		resume_search(f);
	else
		r = begin_search(f, now_s);
	if (r < 0)
		return r;
	r = f->job->state == SCHEDULE_SUSPENDED ? find_own_moment(f, now_s)
						: find_moment(f, now_s);
	for (size_t i = at->n_ended; i > 0; i--)
		node_allocate_job(f->s, job_at(f->s, f->s->running[i - 1]), NODE_ALL, 1);
	at->is_under_way = r == NO_TIME;
	return r;
}

int reservation_make(struct schedule *s, int32_t job, int64_t now_s)
{
	struct reservation *k = &s->reservation;
	struct job *j = job_at(s, job);
	struct future f = { .s = s,
			    .job = j,
			    .at = &k->search,
			    .least = node_least_chunk(j),
			    .n_kinds = j->pub.n_chunks + (j->pub.n_chunks > 1) };
	int r = fit_to_nodes(s);

	if (r < 0)
		return r;
	if (k->cached_job == job && now_s < k->cached_at_s) {
		k->job = job;
		k->at_s = k->cached_at_s;
		return 0;
	}
	r = search_moment(&f, now_s);
	if (r == NO_TIME)
		return 1;
	if (r <= 0)
		return r;
	k->job = job;
	k->at_s = j->promised_s = k->search.at_s;
	cache_found(s, &f, job, now_s);
	return 0;
}

/* ---- what it leaves to others ---- */

bool reservation_allows(const struct schedule *s, const struct reservation *k, int32_t node,
			const struct schedule_chunk *c, const struct job *j)
{
	const struct reservation_spare *e;

	if (k->spare_of[node] < 0)
		return true;
	e = &k->spare[k->spare_of[node]];
	if (e->is_whole || j->pub.is_exclusive)
		return false;
	return c->cores <= e->cores && c->mem_bytes <= e->mem_bytes &&
	       c->jobfs_bytes <= e->jobfs_bytes &&
	       (!c->gpus || c->gpus <= node_gpus_free(s, &e->gpus, c->model));
}

void reservation_use_spare(struct schedule *s, int32_t node, const struct schedule_chunk *c,
			   int sign)
{
	struct reservation *k = &s->reservation;
	struct reservation_spare *e;

	if (k->spare_of[node] < 0)
		return;
	e = &k->spare[k->spare_of[node]];
	e->cores -= sign * c->cores;
	e->mem_bytes -= sign * c->mem_bytes;
	e->jobfs_bytes -= sign * c->jobfs_bytes;
	e->gpus.in_use[c->model] += sign * c->gpus;
	set_full(s, node, e->is_whole || e->cores <= 0);
}
