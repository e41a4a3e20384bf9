/* SPDX-License-Identifier: GPL-2.0-or-later */
/* topology.c - reads cores, caches, NUMA nodes and GPUs of the machine through hwloc; see
 * topology.h. */
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include "agent/enforce/topology.h"
#include "common/err.h"

static void *topology_destroy(hwloc_topology_t t)
{
	hwloc_topology_destroy(t);
	return NULL;
}
DEFINE_CLEANUP(hwloc_topology_t, topology_destroy)
#define _cleanup_topology_ _cleanup_(topology_destroyp)

/* One topology_load(). */
struct load {
	hwloc_topology_t hw;
	const struct topology_config *config;
	struct cpulist allowed, reserved;
	struct place_topology *out;
	struct topology_counts counts;
	int16_t l3_key[PLACE_CORES_MAX][2]; /* by L3 of `out`: hwloc's L3 index, node entry */
};

static int open_machine(const struct topology_config *c, hwloc_topology_t *ret, struct err *err)
{
	_cleanup_topology_ hwloc_topology_t hw = NULL;

	if (hwloc_topology_init(&hw) < 0)
		return err_set(err, -ENOMEM, "out of memory for hwloc");
	if (c->synthetic && hwloc_topology_set_synthetic(hw, c->synthetic) < 0)
		return err_set(err, -EINVAL, "'%s' is not a synthetic hwloc topology",
			       c->synthetic);
	hwloc_topology_set_flags(hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	hwloc_topology_set_io_types_filter(hw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (hwloc_topology_load(hw) < 0)
		return err_set(err, -EIO, "hwloc cannot read this machine's topology: %m");
	*ret = TAKE_PTR(hw);
	return 0;
}

static int bitmap_to_cpulist(hwloc_const_bitmap_t set, struct cpulist *ret, struct err *err)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) {
		if (i >= CPULIST_MAX)
			return err_set(err, -EINVAL, "cpu %d: Reeve is built for %d cpus", i,
				       CPULIST_MAX);
		cpulist_add(ret, i);
	}
	return 0;
}

/* The logical index of the ancestor of `type`, or `none`. */
static int ancestor_index(struct load *l, hwloc_obj_t obj, hwloc_obj_type_t type, int none)
{
	hwloc_obj_t up = hwloc_get_ancestor_obj_by_type(l->hw, type, obj);

	return up ? (int)up->logical_index : none;
}

/* The entry for the part of this core's NUMA node in this socket; a new one if there is none yet.
 * -E2BIG: the table is full. */
static int node_entry(struct load *l, hwloc_obj_t core, int socket, int *ret)
{
	struct place_topology *t = l->out;
	int os = hwloc_bitmap_first(core->nodeset);

	if (os < 0)
		os = 0;
	for (int i = 0; i < t->n_cores; i++) {
		if (t->cores[i].socket != socket || t->nodes[t->cores[i].node].os_index != os)
			continue;
		*ret = t->cores[i].node;
		return 0;
	}
	if (t->n_nodes == PLACE_NODES_MAX)
		return -E2BIG;
	t->nodes[t->n_nodes] = (struct place_node){ .os_index = (int16_t)os };
	*ret = t->n_nodes++;
	return 0;
}

static int l3_entry(struct load *l, hwloc_obj_t core, int node)
{
	int hw = ancestor_index(l, core, HWLOC_OBJ_L3CACHE, -1);
	int n = l->out->n_l3;

	for (int i = 0; i < n; i++)
		if (l->l3_key[i][0] == hw && l->l3_key[i][1] == node)
			return i;
	l->l3_key[n][0] = (int16_t)hw;
	l->l3_key[n][1] = (int16_t)node;
	return l->out->n_l3++;
}

/* May this core be allocated to jobs? If not, counts the reason. The first reserved_cores cores
 * are reserved besides those with reserved threads. */
static bool is_for_jobs(struct load *l, const struct cpulist *threads)
{
	if (cpulist_overlaps(threads, &l->reserved)) {
		l->counts.reserved++;
		return false;
	}
	if (!cpulist_contains(&l->allowed, threads)) {
		l->counts.left_out++;
		return false;
	}
	if (l->counts.reserved < l->config->reserved_cores) {
		l->counts.reserved++;
		return false;
	}
	return true;
}

static int add_core(struct load *l, hwloc_obj_t core, struct err *err)
{
	int socket = ancestor_index(l, core, HWLOC_OBJ_PACKAGE, 0), node, r;
	struct place_core *c = &l->out->cores[l->out->n_cores];
	struct cpulist threads;

	r = bitmap_to_cpulist(core->cpuset, &threads, err);
	if (r < 0)
		return r;
	l->counts.cores++;
	l->counts.threads += cpulist_count(&threads);
	if (!is_for_jobs(l, &threads))
		return 0;
	if (l->out->n_cores == PLACE_CORES_MAX || cpulist_count(&threads) > PLACE_THREADS_MAX ||
	    node_entry(l, core, socket, &node) < 0)
		return err_set(err, -EINVAL,
			       "this machine is larger than Reeve is built for (%d cores of %d "
			       "threads, %d NUMA nodes)",
			       PLACE_CORES_MAX, PLACE_THREADS_MAX, PLACE_NODES_MAX);
	*c = (struct place_core){ .node = (int16_t)node, .socket = (int16_t)socket };
	for (int i = cpulist_next(&threads, -1); i >= 0; i = cpulist_next(&threads, i))
		c->threads[c->n_threads++] = (int16_t)i;
	c->l3 = (int16_t)l3_entry(l, core, node);
	l->out->n_cores++;
	if (socket >= l->out->n_sockets)
		l->out->n_sockets = socket + 1;
	return 0;
}

static int add_cores(struct load *l, struct err *err)
{
	int depth = hwloc_get_type_or_below_depth(l->hw, HWLOC_OBJ_CORE), r;
	hwloc_obj_t core = NULL;

	while ((core = hwloc_get_next_obj_by_depth(l->hw, depth, core))) {
		r = add_core(l, core, err);
		if (r < 0)
			return r;
	}
	if (!l->out->n_cores)
		return err_set(err, -EINVAL,
			       "no core is left for jobs: %d in the machine, %d reserved, %d "
			       "outside the cpus allowed",
			       l->counts.cores, l->counts.reserved, l->counts.left_out);
	return 0;
}

/* How many entries this NUMA node has: one for each socket that it spans. */
static int count_entries(const struct place_topology *t, int os_index)
{
	int n = 0;

	for (int i = 0; i < t->n_nodes; i++)
		n += t->nodes[i].os_index == os_index;
	return n;
}

/* Memory of the nodes, less their share of the reserve. Nodes without cores get entries too, with
 * memory only; a node with several entries is split evenly. */
static int add_memory(struct load *l, struct err *err)
{
	struct place_topology *t = l->out;
	int with_cores = t->n_nodes;
	int64_t total = 0;
	hwloc_obj_t node = NULL;

	while ((node = hwloc_get_next_obj_by_type(l->hw, HWLOC_OBJ_NUMANODE, node)))
		total += (int64_t)node->attr->numanode.local_memory;
	node = NULL;
	while ((node = hwloc_get_next_obj_by_type(l->hw, HWLOC_OBJ_NUMANODE, node))) {
		int64_t bytes = (int64_t)node->attr->numanode.local_memory;
		int entries = count_entries(t, (int)node->os_index);

		if (total > 0)
			bytes -= (int64_t)((__int128)l->config->reserve_bytes * bytes / total);
		l->counts.nodes++;
		if (!entries && t->n_nodes == PLACE_NODES_MAX)
			return err_set(err, -EINVAL, "more than %d NUMA nodes",
				       PLACE_NODES_MAX);
		if (!entries)
			t->nodes[t->n_nodes++] =
				(struct place_node){ .os_index = (int16_t)node->os_index,
						     .bytes = bytes };
		for (int i = 0; i < with_cores; i++)
			if (t->nodes[i].os_index == (int)node->os_index)
				t->nodes[i].bytes = bytes / entries;
	}
	return 0;
}

/* By PCI vendor and class: NVIDIA (10de) with any display class; AMD (1002) and Intel (8086) with
 * the classes of accelerators, not of the on-board console. */
static bool is_gpu(hwloc_obj_t dev)
{
	const struct hwloc_pcidev_attr_s *pci = &dev->attr->pcidev;
	bool display = pci->class_id >> 8 == 0x03;

	return (display && pci->vendor_id == 0x10de) ||
	       ((pci->class_id == 0x0302 || pci->class_id == 0x0380 ||
		 pci->class_id == 0x1200) &&
		(pci->vendor_id == 0x1002 || pci->vendor_id == 0x8086));
}

/* The first node entry near the device; -1: near none in particular. */
static int node_of_device(struct load *l, hwloc_obj_t dev)
{
	hwloc_obj_t up = hwloc_get_non_io_ancestor_obj(l->hw, dev);

	for (int i = 0; up && i < l->out->n_nodes; i++)
		if (hwloc_bitmap_weight(up->nodeset) == 1 &&
		    hwloc_bitmap_isset(up->nodeset, (unsigned)l->out->nodes[i].os_index))
			return i;
	return -1;
}

static void add_gpus(struct load *l)
{
	struct place_topology *t = l->out;
	hwloc_obj_t dev = NULL;

	while ((dev = hwloc_get_next_pcidev(l->hw, dev)) && t->n_gpus < PLACE_GPUS_MAX) {
		const struct hwloc_pcidev_attr_s *pci = &dev->attr->pcidev;
		struct place_gpu *g = &t->gpus[t->n_gpus];

		if (!is_gpu(dev))
			continue;
		snprintf(g->bus_id, sizeof(g->bus_id), "%04x:%02x:%02x.%01x",
			 (unsigned)pci->domain & 0xffff, pci->bus, pci->dev, pci->func & 0xf);
		g->node = (int16_t)node_of_device(l, dev);
		t->n_gpus++;
	}
}

/* Which cpus jobs may use: the configured ones, else those that this process may use. */
static int find_allowed(struct load *l, struct err *err)
{
	if (l->config->reserved)
		l->reserved = *l->config->reserved;
	if (l->config->allowed) {
		l->allowed = *l->config->allowed;
		return 0;
	}
	return bitmap_to_cpulist(hwloc_topology_get_allowed_cpuset(l->hw), &l->allowed, err);
}

int topology_load(const struct topology_config *c, struct place_topology *ret,
		  struct topology_counts *ret_counts, struct err *err)
{
	_cleanup_topology_ hwloc_topology_t hw = NULL;
	_cleanup_free_ struct place_topology *t = calloc(1, sizeof(*t));
	struct load l = { .config = c, .out = t };
	int r;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	r = open_machine(c, &hw, err);
	if (r < 0)
		return r;
	l.hw = hw;
	r = find_allowed(&l, err);
	if (r >= 0)
		r = add_cores(&l, err);
	if (r >= 0)
		r = add_memory(&l, err);
	if (r < 0)
		return r;
	add_gpus(&l);
	l.counts.sockets = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PACKAGE);
	if (l.counts.sockets < 1)
		l.counts.sockets = 1;
	*ret = *t;
	if (ret_counts)
		*ret_counts = l.counts;
	return 0;
}

static const char *plural_ending(int n)
{
	return n == 1 ? "" : "s";
}

const char *topology_format(const struct topology_counts *c, char *buf, size_t size)
{
	snprintf(buf, size, "%d socket%s, %d NUMA node%s, %d core%s, %d thread%s", c->sockets,
		 plural_ending(c->sockets), c->nodes, plural_ending(c->nodes), c->cores,
		 plural_ending(c->cores), c->threads, plural_ending(c->threads));
	return buf;
}
