/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place - finds nodes for the parts of a job. */
#pragma once
#include "controller/scheduler/nodes.h"
#include "controller/scheduler/reservation.h"

struct place_ask {
	const struct job *job;
	int64_t until_s; /* when its limit would end it */
	/* The reservation that the parts must respect; NULL: there is none, or the job has ended
	 * by its time. */
	struct reservation *reservation;
};
/* Finds a node for each part and allocates all of them; s->parts has the nodes, in the order of
 * the chunks. False: the job does not fit, and nothing has changed; s->lacking says which kind of
 * chunk has no room. */
bool place_job(struct schedule *s, const struct place_ask *p);
/* Would each chunk fit on the nodes if they were empty and open? Necessary for the whole job to
 * fit, and sufficient where all chunks are equal. */
bool place_is_possible(const struct schedule *s, const struct job *j);
