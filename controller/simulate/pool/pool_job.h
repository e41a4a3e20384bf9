/* pool_job - what the plain policies on one pool of cores need to know of a job. A job is named
 * by its index, which is its place in the queue too: the first to arrive has the lowest. */
#pragma once
#include <stdint.h>

struct pool_job {
	int64_t cores;	    /* 1 to the pool's */
	int64_t estimate_s; /* how long it says it runs; never less than it does */
};
