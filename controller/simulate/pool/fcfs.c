/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcfs.c - first come, first served on a pool of cores; see fcfs.h. */
#include "controller/simulate/pool/fcfs.h"

struct fcfs fcfs_init(const struct pool_job *jobs, int64_t cores)
{
	return (struct fcfs){ .jobs = jobs, .free = cores };
}

void fcfs_arrive(struct fcfs *f)
{
	f->arrived++;
}

void fcfs_end(struct fcfs *f, uint32_t job)
{
	f->free += f->jobs[job].cores;
}

bool fcfs_next(struct fcfs *f, uint32_t *ret)
{
	if (f->head == f->arrived || f->jobs[f->head].cores > f->free)
		return false;
	f->free -= f->jobs[f->head].cores;
	*ret = f->head++;
	return true;
}
