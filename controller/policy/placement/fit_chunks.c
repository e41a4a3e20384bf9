/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit_chunks.c - see fit_chunks.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/cleanup.h"
#include "controller/policy/placement/fit_chunks.h"
#include "controller/policy/placement/fit_impl.h"

static struct fit_taking taking_of(const struct fit_request *ask, int32_t kind)
{
	struct resources one;

	select_chunk(&ask->select->of[kind], ask->want, &one);
	return fit_taking(&one, ask->is_exclusive);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- ever ---- */

struct packing {
	struct fit_node *nodes;
	size_t n;
	const struct fit_request *ask;
	uint32_t *order; /* of the nodes, by free cores */
	bool *is_used;
	int64_t last, n_used; /* last: where the last chunk went; -1: none yet */
};

static int by_free_cores(const void *a, const void *b, void *ctx)
{
	const struct fit_node *nodes = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t free_x = nodes[x].capacity.ncpus - nodes[x].in_use.ncpus,
		free_y = nodes[y].capacity.ncpus - nodes[y].in_use.ncpus;

	if (free_x != free_y)
		return free_x < free_y ? -1 : 1;
	return x < y ? -1 : 1; /* no node is compared with itself */
}

/* As many as fit there, `left` at most. Returns how many. */
static int64_t put_chunks(struct packing *p, const struct fit_taking *one, size_t node,
			  int64_t left)
{
	struct fit_node *n = &p->nodes[node];
	bool is_scattered = p->ask->select->is_scattered;
	struct fit_taking all = *one;
	int64_t k;

	if (p->is_used[node] &&
	    (is_scattered || (p->ask->is_exclusive && p->last != (int64_t)node)))
		return 0;
	if (!fit_is_kind(n, &one->res))
		return 0;
	all.is_whole = false; /* others of this job may be beside it */
	k = least(fit_count(n, &all, false), is_scattered ? 1 : left);
	if (k == 0)
		return 0;
	all.res.ncpus *= k;
	all.res.mem_bytes *= k;
	all.res.jobfs_bytes *= k;
	all.res.ngpus *= k;
	fit_allocate(n, &all);
	p->n_used += !p->is_used[node];
	p->is_used[node] = true;
	p->last = (int64_t)node;
	return k;
}

/* Returns how many could not be put. */
static int64_t pack_kind(struct packing *p, int32_t kind)
{
	const struct fit_taking one = taking_of(p->ask, kind);
	int64_t left = p->ask->select->of[kind].n;

	if (p->ask->is_exclusive && p->last >= 0)
		left -= put_chunks(p, &one, (size_t)p->last, left);
	qsort_r(p->order, p->n, sizeof(*p->order), by_free_cores, p->nodes);
	for (size_t i = 0; i < p->n && left > 0; i++)
		left -= put_chunks(p, &one, p->order[i], left);
	return left;
}

/* Its chunks of a kind, of which so many could be. */
static void say_most(const struct packing *p, int32_t kind, int64_t could,
		     char why[static FIT_WHY_MAX])
{
	const struct fit_taking one = taking_of(p->ask, kind);
	const struct select_chunk *c = &p->ask->select->of[kind];

	if (could == 0 && !fit_is_possible(p->nodes, p->n, &one.res, why))
		return; /* not even one */
	fit_say(why, "its %lld chunk%s of ", (long long)c->n, c->n == 1 ? "" : "s");
	fit_say_amounts(why, &one);
	if (p->ask->select->is_scattered)
		fit_say(why, ", each on a node of its own");
	fit_say(why, ": this cluster");
	fit_say_kind(why, p->ask->want);
	fit_say(why, " could ever hold %lld of them%s", (long long)could,
		p->ask->select->n > 1 ? " beside the others" : "");
}

static int pack_chunks(struct packing *p, char why[static FIT_WHY_MAX])
{
	p->last = -1;
	for (size_t i = 0; i < p->n; i++) {
		p->order[i] = (uint32_t)i;
		p->nodes[i].in_use = (struct resources){ 0 };
		p->nodes[i].gpus_in_use = p->nodes[i].gpus_drained = (struct gpus){ 0 };
	}
	for (int32_t k = 0; k < p->ask->select->n; k++) {
		int64_t left = pack_kind(p, k);

		if (left > 0) {
			say_most(p, k, p->ask->select->of[k].n - left, why);
			return 1;
		}
	}
	return 0;
}

int fit_pack(struct fit_node *nodes, size_t n_nodes, const struct fit_request *ask,
	     int64_t *ret_nodes, char why[static FIT_WHY_MAX])
{
	_cleanup_free_ uint32_t *order = calloc(n_nodes + 1, sizeof(*order));
	_cleanup_free_ bool *is_used = calloc(n_nodes + 1, sizeof(*is_used));
	struct packing p = {
		.nodes = nodes, .n = n_nodes, .ask = ask, .order = order, .is_used = is_used
	};

	why[0] = '\0';
	if (!order || !is_used)
		return -ENOMEM;
	if (n_nodes > 0 && pack_chunks(&p, why) > 0)
		return 1;
	*ret_nodes = p.n_used;
	return 0;
}

/* ---- cut into equal chunks ---- */

/* How many nodes, empty, could hold a chunk. */
static int64_t count_holders(const struct fit_node *nodes, size_t n,
			     const struct fit_taking *chunk)
{
	int64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += fit_is_kind(&nodes[i], &chunk->res) &&
			 fit_count(&nodes[i], chunk, true) > 0;
	return count;
}

struct splitting {
	const struct fit_node *nodes;
	size_t n;
	const struct resources *want;
	int64_t fewest; /* nodes, by the largest of each */
};

static bool can_split(const struct splitting *s, const struct resources *want, int64_t by,
		      struct select *ret)
{
	struct resources one;
	struct fit_taking take;

	if (!select_split(want, by, ret))
		return false;
	select_chunk(&ret->of[0], want, &one);
	take = fit_taking(&one, false);
	return count_holders(s->nodes, s->n, &take) >= by;
}

static int64_t count_nodes_for(int64_t all, int64_t most)
{
	return most > 0 && all > 0 ? (all - 1) / most + 1 : 1;
}

/* Could one node hold it but for its disk? That is a node's own: it is no reason to cut. */
static bool fits_without_disk(const struct splitting *s, const struct resources *want)
{
	struct fit_taking no_disk = fit_taking(want, false);

	no_disk.res.jobfs_bytes = 0;
	return count_holders(s->nodes, s->n, &no_disk) > 0;
}

/* At least so many nodes; 0: no number of them. */
static int64_t find_fewest(const struct splitting *s)
{
	int64_t cores = 0, memory = 0, gpus = 0, n;

	if (fits_without_disk(s, s->want))
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct fit_node *node = &s->nodes[i];
		struct fit_taking one_gpu = { .res = { .ngpus = 1 } };

		if (!fit_is_kind(node, s->want))
			continue;
		memcpy(one_gpu.res.gpu_model, s->want->gpu_model, REQUEST_NAME_MAX);
		n = fit_count(node, &one_gpu, true);
		gpus = n > gpus ? n : gpus;
		n = node->capacity.ncpus;
		cores = n > cores ? n : cores;
		n = node->capacity.mem_bytes;
		memory = n > memory ? n : memory;
	}
	if (!cores || !memory || (s->want->ngpus && !gpus))
		return 0;
	n = count_nodes_for(s->want->ncpus, cores);
	cores = n > 2 ? n : 2;
	n = count_nodes_for(fit_memory(s->want), memory);
	cores = n > cores ? n : cores;
	n = count_nodes_for(s->want->ngpus, gpus);
	return n > cores ? n : cores;
}

/* The nearest multiple of `by` from below or above; at least `by`. */
static int64_t round_to(int64_t all, int64_t by, bool is_up)
{
	int64_t down = all / by * by;

	if (down == all)
		return all;
	return is_up || down == 0 ? down + by : down;
}

#define TRIES 8 /* numbers of nodes from the fewest on */

/* The nearest number of cores with which it would be cut. */
static bool find_near(const struct splitting *s, bool is_up, struct resources *ret,
		      int64_t *ret_by)
{
	bool found = false;

	for (int64_t by = s->fewest; by < s->fewest + TRIES && by <= (int64_t)s->n; by++) {
		struct resources near = *s->want;
		struct select cut;

		near.ncpus = round_to(near.ncpus, by, is_up);
		if (near.ngpus)
			near.ngpus = round_to(near.ngpus, by, is_up);
		if (fits_without_disk(s, &near) || !can_split(s, &near, by, &cut))
			continue;
		if (found &&
		    llabs(near.ncpus - s->want->ncpus) >= llabs(ret->ncpus - s->want->ncpus))
			continue;
		*ret = near;
		*ret_by = by;
		found = true;
	}
	return found;
}

static void say_near(const struct splitting *s, char why[static FIT_WHY_MAX])
{
	const char *between = "; in equal parts there could be ";
	struct resources near = { 0 };
	int64_t by = 0;

	for (int is_up = 0; is_up < 2; is_up++) {
		if (!find_near(s, is_up, &near, &by))
			continue;
		fit_say(why, "%sncpus=%lld", between, (long long)near.ncpus);
		if (near.ngpus)
			fit_say(why, ",ngpus=%s%s%lld", near.gpu_model,
				*near.gpu_model ? ":" : "", (long long)near.ngpus);
		fit_say(why, " (%lld nodes, %lld cores each)", (long long)by,
			(long long)(near.ncpus / by));
		between = " or ";
	}
}

int fit_split(const struct fit_node *nodes, size_t n_nodes, const struct resources *want,
	      struct select *ret, char why[static FIT_WHY_MAX])
{
	struct splitting s = { nodes, n_nodes, want, 0 };

	ret->n = 0;
	if (fit_is_possible(nodes, n_nodes, want, why))
		return 0;
	s.fewest = find_fewest(&s);
	if (!s.fewest)
		return 1;
	for (int64_t by = s.fewest; by <= (int64_t)n_nodes && by <= want->ncpus; by++)
		if (can_split(&s, want, by, ret))
			return 0;
	ret->n = 0;
	say_near(&s, why);
	return 1;
}

/* ---- now ---- */

struct room {
	int64_t now, ever_on_one; /* chunks */
	size_t n_open;
};

static struct room find_room(const struct fit_node *nodes, size_t n,
			     const struct fit_request *ask, const struct fit_taking *one)
{
	int64_t most = ask->select->is_scattered ? 1 : INT32_MAX;
	struct room room = { 0 };

	for (size_t i = 0; i < n; i++) {
		int64_t ever;

		if (!nodes[i].open || !fit_is_kind(&nodes[i], ask->want))
			continue;
		ever = least(most, fit_count(&nodes[i], one, true));
		if (ever > room.ever_on_one)
			room.ever_on_one = ever;
		room.now += least(most, fit_count(&nodes[i], one, false));
		room.n_open++;
	}
	return room;
}

static void explain_kind(const struct fit_request *ask, int32_t kind, const struct room *room,
			 char why[static FIT_WHY_MAX])
{
	const struct fit_taking one = taking_of(ask, kind);
	int64_t n = ask->select->of[kind].n;
	const char *s = n == 1 ? "" : "s", *each = n == 1 ? "" : " each";

	if (room->ever_on_one <= 1 && ask->select->n == 1) {
		fit_say(why, "%lld %snode%s with ", (long long)n,
			ask->is_exclusive ? "whole " : "", s);
		fit_say_amounts(why, &one);
		fit_say(why, "%s; %lld %s them free now", each, (long long)room->now,
			room->now == 1 ? "has" : "have");
		return;
	}
	fit_say(why, "%s%lld chunk%s of ", kind ? " and " : "", (long long)n, s);
	fit_say_amounts(why, &one);
	fit_say(why, "%s%s (room for %lld now)", each,
		ask->is_exclusive ? " on whole nodes" : "", (long long)room->now);
}

void fit_explain(const struct fit_node *nodes, size_t n_nodes, const struct fit_request *ask,
		 char why[static FIT_WHY_MAX])
{
	bool has_room = true;

	why[0] = '\0';
	if (!ask->select) {
		fit_explain_one(nodes, n_nodes, ask, why);
		return;
	}
	for (int32_t k = 0; k < ask->select->n; k++) {
		const struct fit_taking one = taking_of(ask, k);
		const struct room room = find_room(nodes, n_nodes, ask, &one);

		if (room.n_open == 0) {
			fit_say(why, "no node");
			fit_say_kind(why, ask->want);
			fit_say(why, " is up and not drained (%zu registered)", n_nodes);
			return;
		}
		if (k == 0)
			fit_say(why, "it needs ");
		explain_kind(ask, k, &room, why);
		has_room &= room.now >= ask->select->of[k].n;
	}
	if (has_room && ask->select->n > 1)
		fit_say(why, ", all at once");
	else if (has_room)
		why[0] = '\0';
}

bool fit_parts(struct fit_node *const *nodes, const struct resources *parts, size_t n,
	       bool is_exclusive)
{
	for (size_t i = 0; i < n; i++) {
		const struct fit_taking part = fit_taking(&parts[i], is_exclusive);

		if (!nodes[i]->open || !fit_is_kind(nodes[i], &parts[i]) ||
		    !fit_takes(nodes[i], &part))
			return false;
	}
	for (size_t i = 0; i < n; i++) {
		const struct fit_taking part = fit_taking(&parts[i], is_exclusive);

		fit_allocate(nodes[i], &part);
	}
	return true;
}
