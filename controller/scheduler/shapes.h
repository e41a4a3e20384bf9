/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shapes - requests that did not fit earlier in this pass, so that like ones are not tried again.
 *
 * While a pass only allocates, a request that did not fit cannot fit later in it, nor can one that
 * asks for as much or more. The pass forgets all shapes when a suspension or a withdrawn
 * start frees anything. */
#pragma once
#include "controller/scheduler/schedule.h"

struct job;

struct shape {
	struct schedule_chunk chunk;
	uint64_t features;
	int64_t limit_s;
	bool is_exclusive, is_scattered;
};
#define SHAPES_MAX 8

struct shapes {
	struct shape of[SHAPES_MAX];
	size_t n, next;
	/* Jobs of several kinds of chunks, each of which had room, but not all together. Only where
	 * tries are bounded: on nodes that are fuller by then such a job may fit after all. */
	const struct job *jobs[SHAPES_MAX];
	size_t n_jobs, next_job;
};

void shapes_forget(struct schedule *s);
/* Does it ask for as much as a request that did not fit? */
bool shape_is_hopeless(const struct schedule *s, const struct job *j, int64_t limit_s);
/* Notes that place_job() has just failed for this job. */
void shape_add_failed(struct schedule *s, const struct job *j, int64_t limit_s);
