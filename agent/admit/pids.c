/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pids.c - how many processes a job may have; see pids.h. */
#include "agent/admit/pids.h"

#define BYTES_A_PROCESS (512 << 10)

int64_t pids_of_node(const struct pids_node *n)
{
	int64_t all = n->mem_bytes / BYTES_A_PROCESS;

	if (n->configured > 0)
		return n->configured;
	if (n->kernel_max > 0 && all > n->kernel_max)
		all = n->kernel_max;
	if (all < PIDS_NODE_MIN)
		all = PIDS_NODE_MIN;
	if (all < n->job_max)
		all = n->job_max;
	return all < PIDS_NODE_MAX ? all : PIDS_NODE_MAX;
}

/* Half of what the node may have is shared by cores, so that jobs on all cores and some that ask for
 * more fit together; between PIDS_JOB_MIN and PidsMax=. */
int64_t pids_of_job(const struct pids_share *s)
{
	int64_t cores = s->node_ncpus > 0 ? s->node_ncpus : 1;
	int64_t mine = s->ncpus < 1 ? 1 : s->ncpus < cores ? s->ncpus : cores;
	int64_t share = s->capacity / 2 * mine / cores;

	if (share < PIDS_JOB_MIN)
		share = PIDS_JOB_MIN;
	return share < s->job_max ? share : s->job_max;
}
