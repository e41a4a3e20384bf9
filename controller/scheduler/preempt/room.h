/* SPDX-License-Identifier: GPL-2.0-or-later */
/* room - could a job fit once more victims are freed? By cores alone, counted beside the schedule's
 * nodes, which stay as they are: freeing the parts of victims on the nodes themselves, and taking
 * that back, costs many times as much. */
#pragma once
#include "controller/scheduler/schedule_impl.h"

struct room {
	const struct job *job; /* that is to fit */
	int64_t cores;	       /* free on nodes in the index, with those of the victims */
	int64_t *fits;	       /* of each chunk of the job: how many all nodes together hold */
	size_t max_fits;
	struct room_node {
		int64_t free_cores;
		uint32_t stamp; /* other than the room's: free_cores is not filled in */
	} * nodes;
	size_t n_nodes;
	uint32_t stamp;
};

void room_done(struct room *r);
/* Counts what is free now. -ENOMEM. */
int room_open(struct room *r, const struct schedule *s, const struct job *job);
/* At most so many cores become free with a running job: where it has whole nodes, all of theirs. */
int64_t room_cores_of(const struct schedule *s, const struct job *freed);
/* A running job is freed. */
void room_add(struct room *r, const struct schedule *s, const struct job *freed);
/* false: the job does not fit, whatever else is free. true: it may. */
bool room_may_fit(const struct room *r);
