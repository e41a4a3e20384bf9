/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forecast - the places and the starts of many queued jobs at once, for lists of the queue. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct cycle;

/* The starts of one run of the future, kept until the next cycle. */
struct forecast {
	int64_t now_ns; /* of the cycle */
	struct forecast_start {
		int64_t job, at_s;
	} * of; /* by job */
	size_t n, room;
};
static inline void forecast_done(struct forecast *f)
{
	free(f->of);
	*f = (struct forecast){ 0 };
}

/* When a queued job starts at the latest, as dispatch_forecast_s() in why.h says it, in seconds on the clock of the cycle; -1: not
 * known. The first call after a cycle runs the future of all jobs for FORECAST_NS: jobs that start later than it came have no
 * forecast here, and may have one there. */
#define FORECAST_NS 30000000
int64_t dispatch_start_s(const struct cycle *c, const char *cluster, int64_t job);
/* The priority that the last cycle gave a queued job. False: it was not in that cycle. */
bool dispatch_priority(const struct cycle *c, const char *cluster, int64_t job, int64_t *ret);
