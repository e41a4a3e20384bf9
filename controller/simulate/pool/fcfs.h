/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcfs - first come, first served on one pool of cores: a job that cannot start keeps all later
 * ones waiting.
 *
 * Pure. One instant is: fcfs_end() for all that end, fcfs_arrive() for all that arrive, then
 * fcfs_next() until nothing more starts.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "controller/simulate/pool/pool_job.h"

struct fcfs {
	const struct pool_job *jobs; /* kept */
	int64_t free;		     /* cores */
	uint32_t head, arrived;	     /* waiting: jobs[head] to jobs[arrived - 1] */
};

struct fcfs fcfs_init(const struct pool_job *jobs, int64_t cores);
void fcfs_arrive(struct fcfs *f); /* the next job */
void fcfs_end(struct fcfs *f, uint32_t job);
/* The next job to start now, which then counts as started. False: none. */
bool fcfs_next(struct fcfs *f, uint32_t *ret);
