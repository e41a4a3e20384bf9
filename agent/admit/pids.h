/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pids - how many processes and threads the jobs of a node may have together, and each of them.
 *
 * Pure. The sum over all jobs is bounded to what the node's tables are made for: each process
 *may have an address space of its own, and vmem is counted by address space
 *(agent/enforce/vmem/vmem.h). What the jobs may have together is configured (MaxProcesses=), or
 *follows from the node:
 *
 *	one process for each 512 KiB of memory, no more than the kernel's pid_max,
 *	at least 65,536, at least PidsMax=, at most 4,194,304 (the kernel's own bound)
 *
 * so that the table takes about 0.03 % of the memory.
 */
#pragma once
#include <stdint.h>

#define PIDS_NODE_MIN 65536
#define PIDS_NODE_MAX 4194304

struct pids_node {
	int64_t configured; /* MaxProcesses=; 0: from the rest */
	int64_t mem_bytes;  /* all of the node's */
	int64_t kernel_max; /* kernel.pid_max; 0: not known */
	int64_t job_max;    /* PidsMax= */
};
int64_t pids_of_node(const struct pids_node *n);

/* Of a job that states none: `job_max` (PidsMax=), but no more than half of what its share of
 * the node's cores gives it, so that full cores, and suspended jobs once over, never lack
 * processes. At least PIDS_JOB_MIN. */
#define PIDS_JOB_MIN 64
struct pids_share {
	int64_t job_max, capacity; /* PidsMax=; pids_of_node() */
	int64_t ncpus, node_ncpus; /* the job's cores, and all for jobs */
};
int64_t pids_of_job(const struct pids_share *s);
