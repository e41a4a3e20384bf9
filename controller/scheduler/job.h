/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job - a job of a schedule, as the files of the scheduler see it: the request as it was added
 * (schedule.h), its state, and the nodes of its parts. A part is one chunk on one node: a job has
 * as many parts as the sum of its chunks' n. */
#pragma once
#include "controller/scheduler/schedule.h"

struct job {
	struct schedule_job pub; /* its chunks are malloc()ed, or point to `one` */
	struct schedule_chunk one;
	enum schedule_state state;
	bool is_used; /* false: the slot is free */
	bool is_blocked;
	uint32_t
		limited_in; /* the number of the pass in which may_start() refused it; 0: none */
	bool is_new;	    /* PREEMPT: started in the pass that runs now */
	int32_t n_parts;
	int32_t *nodes; /* of each part: malloc()ed, or &one_node; NULL: not allocated */
	int32_t one_node;
	int32_t next_free;  /* of a free slot: the next free one; -1: none */
	int64_t cores;	    /* of all parts */
	int64_t most_cores; /* of its largest chunk */
	int64_t since_s;    /* when its state began */
	int64_t end_s;	    /* while it runs: when its limit ends it */
	int64_t promised_s; /* when it was to start by its last reservation; 0: it had none */
};
