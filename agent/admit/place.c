/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place.c - chooses cores, NUMA nodes and GPUs for a job, and the memory fences of all jobs; see
 * place.h for the rules.
 *
 * The choice is made level by level, each time over groups with a number of free cores:
 * which NUMA nodes, then in the last of them which L3 caches. For both, "fewest groups" is
 * exact: the k largest groups hold the most that any k groups can.
 */
#include <string.h>
#include "agent/admit/place.h"
#include "common/cleanup.h"

#define GROUPS_MAX PLACE_CORES_MAX
#define ANY_SOCKET (-1)

/* Free cores by NUMA node and by L3. */
struct census {
	int16_t node_free[PLACE_NODES_MAX], node_socket[PLACE_NODES_MAX];
	bool node_near[PLACE_NODES_MAX];
	int16_t node_l3_best[PLACE_NODES_MAX]; /* most free cores in one L3 of the node */
	int16_t l3_free[GROUPS_MAX], l3_node[GROUPS_MAX];
	bool core_free[PLACE_CORES_MAX];
	int total;
};

static void add_core(const struct place_core *c, struct cpulist *ret)
{
	for (int i = 0; i < c->n_threads; i++)
		cpulist_add(ret, c->threads[i]);
}

/* Are all threads of the core in `cpus`? */
static bool is_core_in(const struct place_core *c, const struct cpulist *cpus)
{
	for (int i = 0; i < c->n_threads; i++)
		if (!cpulist_has(cpus, c->threads[i]))
			return false;
	return c->n_threads > 0;
}

void place_all_cpus(const struct place_topology *t, struct cpulist *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < t->n_cores; i++)
		add_core(&t->cores[i], ret);
}

int place_count_cores(const struct place_topology *t, const struct cpulist *cpus)
{
	int n = 0;

	for (int i = 0; i < t->n_cores; i++)
		n += is_core_in(&t->cores[i], cpus);
	return n;
}

/* Counts the free cores. An L3 belongs to one node, a node to one socket. */
static void take_census(const struct place_topology *t, const struct cpulist *free,
			const struct cpulist *near, struct census *c)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < t->n_cores; i++) {
		const struct place_core *core = &t->cores[i];

		c->node_socket[core->node] = core->socket;
		c->l3_node[core->l3] = core->node;
		c->core_free[i] = is_core_in(core, free);
		if (!c->core_free[i])
			continue;
		c->node_free[core->node]++;
		c->l3_free[core->l3]++;
		c->total++;
	}
	for (int i = 0; i < t->n_nodes; i++)
		c->node_near[i] = near && cpulist_has(near, t->nodes[i].os_index);
	for (int i = 0; i < t->n_l3; i++)
		if (c->l3_free[i] > c->node_l3_best[c->l3_node[i]])
			c->node_l3_best[c->l3_node[i]] = c->l3_free[i];
}

/* A set of NUMA nodes under consideration, in the order in which they are to be filled: all
 * of them whole but the last. */
struct pick {
	int16_t nodes[PLACE_NODES_MAX];
	int n, far, sum; /* nodes; those outside `near`; free cores of all */
};

/* Largest first, lowest number first among equals; insertion sort, n is small. */
static void sort_nodes(const struct census *c, int16_t *nodes, int n)
{
	for (int i = 1; i < n; i++) {
		int16_t node = nodes[i];
		int j = i;

		for (; j > 0 && c->node_free[nodes[j - 1]] < c->node_free[node]; j--)
			nodes[j] = nodes[j - 1];
		nodes[j] = node;
	}
}

/* Nodes of `socket`, or of all, with free cores, near or far ones, largest first. */
static int list_nodes(const struct place_topology *t, const struct census *c, int socket,
		      bool near, int16_t *ret)
{
	int n = 0;

	for (int16_t i = 0; i < t->n_nodes; i++)
		if (c->node_free[i] && c->node_near[i] == near &&
		    (socket == ANY_SOCKET || c->node_socket[i] == socket))
			ret[n++] = i;
	sort_nodes(c, ret, n);
	return n;
}

/* Is node `a` better than `b` as the place of the last `rest` cores, both holding enough? */
static bool is_better_last(const struct census *c, int rest, int a, int b)
{
	bool a_l3 = c->node_l3_best[a] >= rest, b_l3 = c->node_l3_best[b] >= rest;

	if (a_l3 != b_l3)
		return a_l3;
	return c->node_free[a] < c->node_free[b];
}

/* Exchanges the last node of the pick for the best fit among the others of its list: near for near, far
 * for far, so that the number of far nodes stays. */
static void refit_last(const struct census *c, struct pick *p, int ncpus, const int16_t *others,
		       int n)
{
	int16_t last = p->nodes[p->n - 1];
	int rest = ncpus - (p->sum - c->node_free[last]);

	for (int i = 0; i < n; i++)
		if (c->node_free[others[i]] >= rest && is_better_last(c, rest, others[i], last))
			last = others[i];
	p->sum += c->node_free[last] - c->node_free[p->nodes[p->n - 1]];
	p->nodes[p->n - 1] = last;
}

/* Picks want[0] nodes that hold want[1] cores, with as few far ones as possible. lists[0] are the near
 * nodes and lists[1] the far ones, n[] how many, largest first: the first of each list hold the most,
 * so a number of nodes that fails here fails for every choice of nodes. */
static bool pick_nodes(const struct census *c, const int16_t *lists[2], const int n[2],
		       const int want[2], struct pick *p)
{
	int k = want[0], ncpus = want[1];

	for (int far = 0; far <= k; far++) {
		int near = k - far, in_list = far > 0 ? far : near;

		if (near > n[0] || far > n[1])
			continue;
		*p = (struct pick){ .n = k, .far = far };
		memcpy(p->nodes, lists[0], (size_t)near * sizeof(*p->nodes));
		memcpy(p->nodes + near, lists[1], (size_t)far * sizeof(*p->nodes));
		for (int i = 0; i < k; i++)
			p->sum += c->node_free[p->nodes[i]];
		if (p->sum < ncpus)
			continue;
		refit_last(c, p, ncpus, lists[far > 0] + in_list, n[far > 0] - in_list);
		return true;
	}
	return false;
}

/* The best nodes within `socket`, or anywhere, as few as suffice. false: it has too few free cores. */
static bool pick_within(const struct place_topology *t, const struct census *c, int socket,
			int ncpus, struct pick *ret)
{
	int16_t near[PLACE_NODES_MAX], far[PLACE_NODES_MAX];
	const int16_t *lists[2] = { near, far };
	int n[2] = { list_nodes(t, c, socket, true, near),
		     list_nodes(t, c, socket, false, far) };

	for (int k = 1; k <= n[0] + n[1]; k++)
		if (pick_nodes(c, lists, n, (const int[]){ k, ncpus }, ret))
			return true;
	return false;
}

/* Is `a` better than `b`? Both hold ncpus cores, each within one socket. The order is that of
 * place_choose(). */
static bool is_better_pick(const struct census *c, int ncpus, const struct pick *a,
			   const struct pick *b)
{
	int a_last = a->nodes[a->n - 1], b_last = b->nodes[b->n - 1];
	int a_rest = ncpus - (a->sum - c->node_free[a_last]);
	int b_rest = ncpus - (b->sum - c->node_free[b_last]);
	bool a_l3 = c->node_l3_best[a_last] >= a_rest, b_l3 = c->node_l3_best[b_last] >= b_rest;

	if (a->n != b->n)
		return a->n < b->n;
	if (a->far != b->far)
		return a->far < b->far;
	if (a_l3 != b_l3)
		return a_l3;
	return a->sum < b->sum;
}

/* One socket if any suffices. The caller has checked that all free cores together do. */
static void choose_nodes(const struct place_topology *t, const struct census *c, int ncpus,
			 struct pick *best)
{
	best->n = 0;
	for (int s = 0; s < t->n_sockets; s++) {
		struct pick p;

		if (pick_within(t, c, s, ncpus, &p) &&
		    (!best->n || is_better_pick(c, ncpus, &p, best)))
			*best = p;
	}
	if (!best->n)
		pick_within(t, c, ANY_SOCKET, ncpus, best);
}

/* Moves up to `n` free cores of the L3 into `out`. Returns how many. */
static int take_cores(const struct place_topology *t, struct census *c, int l3, int n,
		      struct place *out)
{
	int left = n;

	for (int i = 0; i < t->n_cores && left; i++) {
		if (t->cores[i].l3 != l3 || !c->core_free[i])
			continue;
		add_core(&t->cores[i], &out->cpus);
		cpulist_add(&out->nodes, t->nodes[t->cores[i].node].os_index);
		c->core_free[i] = false;
		c->l3_free[l3]--;
		left--;
	}
	return n - left;
}

/* The L3 of the node with the fewest free cores of those that have `want`; if none has, the one with
 * the most. -1: no core of the node is free. */
static int choose_l3(const struct place_topology *t, const struct census *c, int node, int want)
{
	int fit = -1, largest = -1;

	for (int i = 0; i < t->n_l3; i++) {
		if (c->l3_node[i] != node || !c->l3_free[i])
			continue;
		if (c->l3_free[i] >= want && (fit < 0 || c->l3_free[i] < c->l3_free[fit]))
			fit = i;
		if (largest < 0 || c->l3_free[i] > c->l3_free[largest])
			largest = i;
	}
	return fit >= 0 ? fit : largest;
}

static int take_from_node(const struct place_topology *t, struct census *c, int node, int want,
			  struct place *out)
{
	int got = 0;

	while (got < want) {
		int l3 = choose_l3(t, c, node, want - got);

		if (l3 < 0)
			break;
		got += take_cores(t, c, l3, want - got, out);
	}
	return got;
}

int place_choose(const struct place_topology *t, const struct cpulist *free,
		 const struct place_want *want, struct place *ret)
{
	struct place out = { 0 };
	struct census c;
	struct pick pick;
	int left;

	take_census(t, free, want->near, &c);
	if (want->ncpus <= 0 || want->ncpus > c.total)
		return PLACE_NO_ROOM;
	left = (int)want->ncpus;
	choose_nodes(t, &c, left, &pick);
	for (int i = 0; i < pick.n; i++)
		left -= take_from_node(t, &c, pick.nodes[i], left, &out);
	*ret = out;
	return 0;
}

int16_t place_gpu_node(const struct place_topology *t, const char *bus_id)
{
	for (int i = 0; i < t->n_gpus; i++)
		if (t->gpus[i].node >= 0 && !strcmp(t->gpus[i].bus_id, bus_id))
			return t->nodes[t->gpus[i].node].os_index;
	return -1;
}

/* Free cores of the NUMA node; -1, where the node is not known: none. */
static int cores_at(const struct place_topology *t, const struct cpulist *free,
		    int16_t os_index)
{
	int n = 0;

	for (int i = 0; i < t->n_cores; i++)
		n += t->nodes[t->cores[i].node].os_index == os_index &&
		     is_core_in(&t->cores[i], free);
	return n;
}

/* GPUs on the node of GPU `i` that are not chosen yet. */
static int left_beside(const struct place_gpus *g, int i)
{
	int n = 0;

	for (int k = 0; k < g->n; k++)
		n += !g->is_chosen[k] && g->nodes[k] == g->nodes[i];
	return n;
}

/* The GPU whose node is to be used next for `want` more; -1: none is left. */
static int next_gpu(const struct place_topology *t, const struct cpulist *free,
		    const struct place_gpus *g, int64_t want)
{
	int best = -1, best_left = 0;
	bool best_cores = false;

	for (int i = 0; i < g->n; i++) {
		int left = left_beside(g, i);
		bool suffices = left >= want, best_suffices = best >= 0 && best_left >= want;
		bool has_cores = cores_at(t, free, g->nodes[i]) >= g->ncpus, is_better;

		if (g->is_chosen[i])
			continue;
		if (suffices != best_suffices)
			is_better = suffices;
		else if (suffices && has_cores != best_cores)
			is_better = has_cores;
		else
			is_better = suffices ? left < best_left : left > best_left;
		if (best >= 0 && !is_better)
			continue;
		best = i;
		best_left = left;
		best_cores = has_cores;
	}
	return best;
}

int place_choose_gpus(const struct place_topology *t, const struct cpulist *free,
		      struct place_gpus *gpus)
{
	int64_t want = gpus->ngpus;

	if (want <= 0 || want > gpus->n)
		return PLACE_NO_ROOM;
	memset(gpus->is_chosen, 0, sizeof(gpus->is_chosen));
	while (want > 0) {
		int16_t node = gpus->nodes[next_gpu(t, free, gpus, want)];

		for (int i = 0; i < gpus->n && want > 0; i++)
			if (gpus->nodes[i] == node && !gpus->is_chosen[i]) {
				gpus->is_chosen[i] = true;
				want--;
			}
	}
	return 0;
}

static int64_t fence_bytes(const struct place_topology *t, const struct cpulist *nodes)
{
	int64_t sum = 0;

	for (int i = 0; i < t->n_nodes; i++)
		if (cpulist_has(nodes, t->nodes[i].os_index))
			sum += t->nodes[i].bytes;
	return sum;
}

static struct cpulist common_nodes(const struct cpulist *a, const struct cpulist *b)
{
	struct cpulist both = *a;

	for (size_t i = 0; i < ARRAY_LEN(both.words); i++)
		both.words[i] &= b->words[i];
	return both;
}

/* Could job i be short of memory inside its fence while within its own limit? Every other job
 * may use all it is allowed to there, but no more than the nodes they share. A job without a limit
 * always can: it is fenced nowhere. */
static bool is_fence_short(const struct place_topology *t, const struct place_fence *jobs,
			   int n, int i)
{
	int64_t room = fence_bytes(t, &jobs[i].fence);

	if (jobs[i].bytes <= 0)
		return true;
	for (int j = 0; j < n; j++) {
		struct cpulist both = common_nodes(&jobs[i].fence, &jobs[j].fence);
		int64_t shared = fence_bytes(t, &both), take = jobs[j].bytes;

		room -= j != i && (take <= 0 || take > shared) ? shared : take;
	}
	return room < 0;
}

/* Widening one fence can make another too small: until nothing changes. Each round widens one at
 * least, and a fence that is all nodes stays: it ends after n rounds at most. */
void place_fences(const struct place_topology *t, struct place_fence *jobs, int n)
{
	struct cpulist all = { 0 };
	bool changed = true;

	for (int i = 0; i < t->n_nodes; i++)
		cpulist_add(&all, t->nodes[i].os_index);
	while (changed) {
		changed = false;
		for (int i = 0; i < n; i++) {
			if (cpulist_is_equal(&jobs[i].fence, &all) ||
			    !is_fence_short(t, jobs, n, i))
				continue;
			jobs[i].fence = all;
			changed = true;
		}
	}
}
