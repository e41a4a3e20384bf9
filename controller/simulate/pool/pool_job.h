/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pool_job - a job for the simple policies on one pool of cores. A job is named
 * by its index, which is also its place in the queue: the first to arrive has the lowest. */
#pragma once
#include <stdint.h>

struct pool_job {
	int64_t cores;	    /* 1 to the pool's */
	int64_t estimate_s; /* requested time; never less than the run time */
};
