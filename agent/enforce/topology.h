/* SPDX-License-Identifier: GPL-2.0-or-later */
/* topology.h - the machine as the flat tables of agent/admit/place.h (hwloc).
 *
 * Only cores whose online threads are all within `allowed` are counted: another core could not be
 * allocated to one job alone.
 */
#pragma once
#include "agent/admit/place.h"
#include "common/cleanup.h"

struct err;

struct topology_config {
	const char *synthetic;		/* hwloc synthetic text for tests; NULL: this machine */
	const struct cpulist *allowed;	/* cpus that jobs may use; NULL: all online ones that
					 * this process's cpuset allows */
	const struct cpulist *reserved; /* cpus kept for the system, NULL: none */
	int64_t reserve_bytes;	/* memory kept for the system, taken from all nodes alike */
	int64_t reserved_cores; /* besides: the first so many cores of the machine */
};

/* A NUMA node that spans sockets, or an L3 that spans nodes, is entered once for each part, so
 * that in the tables every L3 is in one node and every node in one socket. */
struct topology_counts {
	int cores, threads, sockets, nodes; /* the machine's, online */
	int left_out; /* cores not wholly within `allowed`, not reserved */
	int reserved;
};

/* About 32 KB. 0, or -EINVAL (bad synthetic text, nothing left for jobs, more
 * than the tables hold), -ENOMEM, -EIO. `ret_counts` may be NULL. */
int topology_load(const struct topology_config *c, struct place_topology *ret,
		  struct topology_counts *ret_counts, struct err *err);

/* "2 sockets, 4 NUMA nodes, 64 cores, 128 threads"; buf of 96 bytes always suffices. */
const char *topology_format(const struct topology_counts *c, char *buf, size_t size);
