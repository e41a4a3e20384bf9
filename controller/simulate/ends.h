/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ends - the ends of running jobs: a priority queue by time, then by job. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_end {
	int64_t at_s;
	uint32_t job;
};

struct sim_ends {
	struct sim_end *heap;
	size_t n, room;
};

void sim_ends_done(struct sim_ends *e);
int sim_ends_push(struct sim_ends *e, int64_t at_s, uint32_t job); /* -ENOMEM */
struct sim_end sim_ends_pop(struct sim_ends *e); /* of one that is not empty */
