/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place.h - which cores a job gets, and from which NUMA nodes its memory may come.
 *
 * Pure. The rule: ncpus counts *cores*. A job gets every hardware thread of each of its cores,
 * so that no other job ever shares a core with it. Sets of cpus are therefore sets of hardware
 * threads (cpu numbers of the kernel); a core is free when all its threads are.
 */
#pragma once
#include <stdint.h>
#include "agent/admit/cpulist.h"

#define PLACE_CORES_MAX 1024
#define PLACE_NODES_MAX 128
#define PLACE_THREADS_MAX 8
#define PLACE_GPUS_MAX 32

struct place_core {
	int16_t threads[PLACE_THREADS_MAX]; /* cpu numbers */
	int16_t n_threads;
	int16_t node;	/* index into nodes[] */
	int16_t socket; /* 0 .. n_sockets-1 */
	int16_t l3;	/* 0 .. n_l3-1; machine-wide numbering */
};

struct place_node {
	int16_t os_index; /* as in cpuset.mems */
	int64_t bytes;
};

struct place_gpu {
	char bus_id[16]; /* "0000:3b:00.0" */
	int16_t node;	 /* index into nodes[], -1 unknown */
};

/* The node as flat tables, cores in the machine's order. Cores that are reserved for the
 * system, offline, or not wholly ours are not in it. */
struct place_topology {
	int n_cores, n_nodes, n_sockets, n_l3, n_gpus;
	struct place_core cores[PLACE_CORES_MAX];
	struct place_node nodes[PLACE_NODES_MAX];
	struct place_gpu gpus[PLACE_GPUS_MAX];
};

/* Sets *ret to every hardware thread of every core of `t`. */
void place_all_cpus(const struct place_topology *t, struct cpulist *ret);
/* How many cores of `t` have all their threads in `cpus`. */
int place_count_cores(const struct place_topology *t, const struct cpulist *cpus);

struct place_want {
	int64_t ncpus;		    /* cores, > 0 */
	const struct cpulist *near; /* NUMA nodes (os_index) to prefer, NULL: any */
};

struct place {
	struct cpulist cpus;  /* hardware threads: AllowedCPUs= */
	struct cpulist nodes; /* NUMA nodes of those cores, by os_index */
};

/* Choose want->ncpus cores among those free. Of all possible choices it is one with
 *   1. one socket where one suffices, then 2. the fewest NUMA nodes, then 3. the fewest nodes
 *   outside `near`, then 4. for the last node and, in it, the last L3: one L3 where one
 *   suffices and the fullest that suffices (best fit), so that large holes stay whole.
 * 0, or 1 (PLACE_NO_ROOM): fewer free cores than wanted, or ncpus <= 0; *ret untouched. */
#define PLACE_NO_ROOM 1
int place_choose(const struct place_topology *t, const struct cpulist *free,
		 const struct place_want *want, struct place *ret);

/* NUMA node (os_index) of the GPU at this PCI bus id, in the form of struct place_gpu; -1: not known. */
int16_t place_gpu_node(const struct place_topology *t, const char *bus_id);

/* Choose ngpus of the n GPUs that are free. Those of a NUMA node go together; of all choices
 * it is one of the fewest nodes, and where one node suffices, of those with ncpus free cores
 * before others, the one with the fewest free GPUs, so that large holes stay whole. Nodes
 * that are not known (-1) count as one. 0, or PLACE_NO_ROOM. */
#define PLACE_FREE_GPUS_MAX 64
struct place_gpus {
	int64_t ncpus, ngpus;
	int n;
	int16_t nodes[PLACE_FREE_GPUS_MAX];  /* in: of each free GPU, os_index or -1 */
	bool is_chosen[PLACE_FREE_GPUS_MAX]; /* out */
};
int place_choose_gpus(const struct place_topology *t, const struct cpulist *free,
		      struct place_gpus *gpus);

/* Memory fences. A job that may only use the memory of its own nodes is fast, but must never
 * be killed while its own limit is not reached: no other job may be able to fill these
 * nodes. For each job i in: `fence` = the nodes it is fenced to now or would best be (its
 * cores' nodes); out: the fence to set (AllowedMemoryNodes=), widened to all nodes where the
 * jobs that may use the fenced nodes could together need more than these hold. Sets only
 * grow. */
struct place_fence {
	int64_t bytes; /* the job's memory.max; <= 0: without bound */
	struct cpulist fence;
};
void place_fences(const struct place_topology *t, struct place_fence *jobs, int n);
