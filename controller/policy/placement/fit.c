/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit.c - see fit.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/model/amount.h"
#include "controller/policy/placement/fit_impl.h"

struct side {
	const char *one, *many;
	enum resource_kind kind;
	size_t offset;
};

static const struct side sides[] = {
	{ "core", "cores", RESOURCE_COUNT, offsetof(struct resources, ncpus) },
	{ "memory", "memory", RESOURCE_BYTES, offsetof(struct resources, mem_bytes) },
	{ "jobfs", "jobfs", RESOURCE_BYTES, offsetof(struct resources, jobfs_bytes) },
	{ "GPU", "GPUs", RESOURCE_COUNT, offsetof(struct resources, ngpus) },
};
enum { SIDE_CORES, SIDE_GPUS = 3, SIDE_MAX };
_Static_assert(sizeof(sides) / sizeof(*sides) == SIDE_MAX, "a row a side");

static int64_t amount_of(const struct resources *r, const struct side *s)
{
	return *(const int64_t *)((const char *)r + s->offset);
}

int64_t fit_memory(const struct resources *want)
{
	return want->vmem_bytes ? want->vmem_bytes : want->mem_bytes;
}

struct fit_taking fit_taking(const struct resources *want, bool is_whole)
{
	struct fit_taking t = { *want, is_whole };

	t.res.mem_bytes = fit_memory(want);
	return t;
}

/* What the node has of a side, and what of it is free: of GPUs those of the model. */
static int64_t all_of(const struct fit_node *n, const struct fit_taking *t, int side)
{
	if (side != SIDE_GPUS || (!n->gpus.n && !*t->res.gpu_model))
		return amount_of(&n->capacity, &sides[side]);
	return gpus_count(&n->gpus, t->res.gpu_model);
}

static int64_t free_of(const struct fit_node *n, const struct fit_taking *t, int side)
{
	int64_t left;

	if (side == SIDE_GPUS && (n->gpus.n || *t->res.gpu_model))
		left = gpus_free(&n->gpus, &n->gpus_in_use, t->res.gpu_model) -
		       gpus_count(&n->gpus_drained, t->res.gpu_model);
	else
		left = amount_of(&n->capacity, &sides[side]) -
		       amount_of(&n->in_use, &sides[side]);
	return left > 0 ? left : 0;
}

bool fit_is_empty(const struct fit_node *n)
{
	for (int i = 0; i < SIDE_MAX; i++)
		if (amount_of(&n->in_use, &sides[i]) > 0)
			return false;
	return n->gpus_in_use.n == 0;
}

static bool lacks_side(const struct fit_node *n, const struct fit_taking *take, int side)
{
	return amount_of(&take->res, &sides[side]) > free_of(n, take, side);
}

static int count_missing(const struct fit_node *n, const struct fit_taking *take)
{
	int missing = take->is_whole && !fit_is_empty(n);

	for (int i = 0; i < SIDE_MAX; i++)
		missing += lacks_side(n, take, i);
	return missing;
}

void fit_allocate(struct fit_node *n, const struct fit_taking *take)
{
	if (take->is_whole) {
		n->in_use = n->capacity;
		n->gpus_in_use = n->gpus;
		return;
	}
	n->in_use.ncpus += take->res.ncpus;
	n->in_use.mem_bytes += take->res.mem_bytes;
	n->in_use.jobfs_bytes += take->res.jobfs_bytes;
	n->in_use.ngpus += take->res.ngpus;
	gpus_add(&n->gpus_in_use, take->res.gpu_model, take->res.ngpus);
}

bool fit_takes(const struct fit_node *n, const struct fit_taking *take)
{
	return count_missing(n, take) == 0;
}

int64_t fit_count(const struct fit_node *n, const struct fit_taking *take, bool is_ever)
{
	int64_t least = INT32_MAX;

	if (take->is_whole && !is_ever && !fit_is_empty(n))
		return 0;
	for (int i = 0; i < SIDE_MAX; i++) {
		int64_t one = amount_of(&take->res, &sides[i]);
		int64_t has = is_ever ? all_of(n, take, i) : free_of(n, take, i);

		if (one > 0 && has / one < least)
			least = has / one;
	}
	return least;
}

bool fit_is_kind(const struct fit_node *n, const struct resources *want)
{
	return (!*want->node_type || !strcmp(n->capacity.node_type, want->node_type)) &&
	       features_have(n->capacity.features, want->features);
}

void fit_say(char why[static FIT_WHY_MAX], const char *fmt, ...)
{
	size_t n = strlen(why);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why + n, FIT_WHY_MAX - n, fmt, ap);
	va_end(ap);
}

void fit_say_kind(char why[static FIT_WHY_MAX], const struct resources *want)
{
	if (*want->node_type)
		fit_say(why, " of type %s", want->node_type);
	if (*want->features)
		fit_say(why, " with %s", want->features);
}

bool fit_has_pids(const struct fit_node *nodes, size_t n_nodes, const struct resources *want,
		  char why[static FIT_WHY_MAX])
{
	int64_t most = 0;

	why[0] = '\0';
	for (size_t i = 0; i < n_nodes; i++) {
		if (!fit_is_kind(&nodes[i], want))
			continue;
		if (!nodes[i].capacity.pids)
			return true;
		if (nodes[i].capacity.pids > most)
			most = nodes[i].capacity.pids;
	}
	if (!most || want->pids <= most)
		return true;
	fit_say(why, "pids=%lld, but no node", (long long)want->pids);
	fit_say_kind(why, want);
	fit_say(why, " holds more than %lld processes and threads of its jobs",
		(long long)most);
	return false;
}

static bool fits_anywhere(const struct fit_node *nodes, size_t n, const struct fit_taking *take)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i].open && fit_is_kind(&nodes[i], &take->res) &&
		    fit_takes(&nodes[i], take))
			return true;
	return false;
}

static const char *amount_text(const struct side *s, int64_t amount,
			       char buf[static AMOUNT_TEXT_MAX])
{
	if (s->kind == RESOURCE_BYTES)
		return amount_format_bytes(amount, buf);
	snprintf(buf, AMOUNT_TEXT_MAX, "%lld", (long long)amount);
	return buf;
}

static const char *side_name(const struct fit_taking *take, int side)
{
	if (side == SIDE_GPUS && *take->res.gpu_model)
		return take->res.gpu_model;
	return amount_of(&take->res, &sides[side]) == 1 ? sides[side].one : sides[side].many;
}

void fit_say_amounts(char why[static FIT_WHY_MAX], const struct fit_taking *take)
{
	const char *between = "";

	for (int i = 0; i < SIDE_MAX; i++) {
		int64_t one = amount_of(&take->res, &sides[i]);
		char text[AMOUNT_TEXT_MAX];

		if (one == 0)
			continue;
		fit_say(why, "%s%s %s", between, amount_text(&sides[i], one, text),
			side_name(take, i));
		between = ", ";
	}
}

/* Before the item after `done` of `total`: "A, B and C". */
static const char *list_separator(int done, int total)
{
	if (done == 0)
		return "";
	return done + 1 == total ? " and " : ", ";
}

/* "8 cores and 2 a100-40": what the job requests of the sides that the node lacks. */
static void add_missing(char why[static FIT_WHY_MAX], const struct fit_node *n,
			const struct fit_taking *take)
{
	int total = count_missing(n, take), done = 0;

	if (take->is_whole && !fit_is_empty(n)) {
		fit_say(why, "a whole node");
		done++;
	}
	for (int i = 0; i < SIDE_MAX; i++) {
		char text[AMOUNT_TEXT_MAX];

		if (!lacks_side(n, take, i))
			continue;
		fit_say(why, "%s%s %s", list_separator(done++, total),
			amount_text(&sides[i], amount_of(&take->res, &sides[i]), text),
			side_name(take, i));
	}
}

/* "3 of 8 free" where the node lacks one side, else with names: "3 of 8 cores and 0 of 2 GPUs free". For
 * a whole node it says how many cores are in use. */
static void add_free(char why[static FIT_WHY_MAX], const struct fit_node *n,
		     const struct fit_taking *take)
{
	bool is_whole = take->is_whole && !fit_is_empty(n);
	int total = count_missing(n, take) - is_whole, done = 0;
	char a[AMOUNT_TEXT_MAX], b[AMOUNT_TEXT_MAX];

	if (is_whole)
		fit_say(why, "%s of %s cores in use%s",
			amount_text(&sides[SIDE_CORES], n->in_use.ncpus, a),
			amount_text(&sides[SIDE_CORES], n->capacity.ncpus, b),
			total ? ", and " : "");
	for (int i = 0; i < SIDE_MAX; i++) {
		if (!lacks_side(n, take, i))
			continue;
		fit_say(why, "%s%s of %s", list_separator(done++, total),
			amount_text(&sides[i], free_of(n, take, i), a),
			amount_text(&sides[i], all_of(n, take, i), b));
		if (total > 1 || is_whole)
			fit_say(why, " %s",
				i == SIDE_GPUS && *take->res.gpu_model ? take->res.gpu_model
								       : sides[i].many);
	}
	if (total)
		fit_say(why, " free");
}

/* Of the node as it would be when nothing was in use. */
static int count_never(const struct fit_node *n, const struct fit_taking *take)
{
	int missing = 0;

	for (int i = 0; i < SIDE_MAX; i++)
		missing += amount_of(&take->res, &sides[i]) > all_of(n, take, i);
	return missing;
}

/* Which there are: "types a, t4; features ib,nvme". */
static void add_kinds(char why[static FIT_WHY_MAX], const struct fit_node *nodes, size_t n)
{
	char features[FEATURES_MAX] = "", types[FIT_WHY_MAX / 2] = "";

	for (size_t i = 0; i < n; i++) {
		const struct resources *c = &nodes[i].capacity;
		size_t k = 0, used = strlen(types);

		while (k < i && strcmp(nodes[k].capacity.node_type, c->node_type) != 0)
			k++;
		if (k == i && *c->node_type)
			snprintf(types + used, sizeof(types) - used, "%s%s", used ? ", " : "",
				 c->node_type);
		if (*c->features)
			features_parse(c->features, features, NULL);
	}
	fit_say(why, "types: %s; features: %s", *types ? types : "none told",
		*features ? features : "none told");
}

static int distance_to(const struct fit_node *n, const struct fit_taking *take)
{
	return count_never(n, take) * 2 * SIDE_MAX + count_missing(n, take);
}

/* The open node that lacks the fewest kinds of things: first of what it has at all, so that a
 * message does not name nodes without GPUs of the job's model. */
static const struct fit_node *nearest_node(const struct fit_node *nodes, size_t n,
					   const struct fit_taking *take, size_t *ret_open)
{
	const struct fit_node *best = NULL;
	size_t n_open = 0;

	for (size_t i = 0; i < n; i++) {
		if (!nodes[i].open || !fit_is_kind(&nodes[i], &take->res))
			continue;
		n_open++;
		if (!best || distance_to(&nodes[i], take) < distance_to(best, take))
			best = &nodes[i];
	}
	*ret_open = n_open;
	return best;
}

static void explain_nearest(const struct fit_node *nodes, size_t n,
			    const struct fit_taking *take, char why[static FIT_WHY_MAX])
{
	size_t n_open;
	const struct fit_node *near = nearest_node(nodes, n, take, &n_open);

	if (n == 0)
		fit_say(why, "no node has registered with this cluster yet");
	else if (n_open == 0) {
		fit_say(why, "no node");
		fit_say_kind(why, &take->res);
		fit_say(why, " is up and not drained (%zu registered)", n);
	} else {
		fit_say(why, "it needs ");
		add_missing(why, near, take);
		fit_say(why, "; %s has ", near->name);
		add_free(why, near, take);
		if (n_open > 1)
			fit_say(why, " (the closest node)");
	}
}

void fit_explain_one(const struct fit_node *nodes, size_t n_nodes,
		     const struct fit_request *ask, char why[static FIT_WHY_MAX])
{
	const struct fit_taking take = fit_taking(ask->want, ask->is_exclusive);

	why[0] = '\0';
	if (!fits_anywhere(nodes, n_nodes, &take))
		explain_nearest(nodes, n_nodes, &take, why);
}

/* What the node has at all; of what it has not, what was requested. */
static void add_capacity(char why[static FIT_WHY_MAX], const struct fit_node *n,
			 const struct resources *want)
{
	const char *between = "";
	char models[GPUS_TEXT_MAX];

	for (int i = 0; i < SIDE_MAX; i++) {
		int64_t all = amount_of(&n->capacity, &sides[i]);
		char text[AMOUNT_TEXT_MAX];

		if (i == SIDE_GPUS && n->gpus.n) {
			fit_say(why, "%s%s", between, gpus_words(&n->gpus, models));
			continue;
		}
		if (all == 0 && amount_of(want, &sides[i]) <= 0)
			continue;
		fit_say(why, "%s%s %s", between,
			all == 0 ? "no" : amount_text(&sides[i], all, text),
			all == 1 ? sides[i].one : sides[i].many);
		between = ", ";
	}
}

bool fit_is_possible(const struct fit_node *nodes, size_t n_nodes, const struct resources *want,
		     char why[static FIT_WHY_MAX])
{
	struct fit_taking take = fit_taking(want, false);
	const struct fit_node *best = NULL;
	int fewest = 0;

	why[0] = '\0';
	for (size_t i = 0; i < n_nodes; i++) {
		int missing = count_never(&nodes[i], &take);

		if (!fit_is_kind(&nodes[i], want))
			continue;
		if (missing == 0)
			return true;
		if (!best || missing < fewest) {
			best = &nodes[i];
			fewest = missing;
		}
	}
	if (!best && n_nodes > 0) {
		fit_say(why, "there is no node");
		fit_say_kind(why, want);
		fit_say(why, "; this cluster's nodes have ");
		add_kinds(why, nodes, n_nodes);
		return false;
	}
	if (!best)
		return true;
	fit_say(why, "no node of this cluster");
	fit_say_kind(why, want);
	fit_say(why, " could ever hold it; the nearest, %s, has ", best->name);
	add_capacity(why, best, want);
	return false;
}
