/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forecast - when queued jobs start, if all jobs run to their walltimes and none are submitted: computed once a cycle, for all
 * jobs and all who ask, on a copy of the schedule. The event loop computes for FORECAST_LOOP_NS at most; what takes longer a worker
 * goes on with, and until it is done the answer is that of a forecast before, or "not known yet". */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cycle;
struct cycle_cluster;
struct forecast_task;
struct workers;

#define FORECAST_LOOP_NS INT64_C(20000000)
/* A worker computes for so long: jobs that start later than it came by then have no forecast. The next one begins after a pause of
 * the same length, if anyone asks. */
#define FORECAST_MAX_NS INT64_C(10000000000)
/* So long the forecast of an earlier cycle counts while a new one is computed. */
#define FORECAST_KEEP_NS INT64_C(60000000000)

struct forecast {
	int64_t cycle_ns; /* of the cycle that it is of; 0: there is none */
	int64_t made_ns;  /* CLOCK_MONOTONIC */
	int64_t next_ns;  /* none before then */
	struct forecast_start {
		int64_t job, at_s;
	} * of; /* by job */
	size_t n, room;
	struct forecast_task
		*task; /* of the next one, which a worker computes; NULL: none is */
};
/* The workers must be drained: no task is left. */
void forecast_done(struct forecast *f);
/* What is known is forgotten: the configuration has changed. */
void forecast_forget(struct forecast *f);
/* A worker that computes one ends at once; without a result. */
void forecast_stop(struct forecast *f);

enum dispatch_start {
	DISPATCH_START_NONE, /* limits hold it back, or it is too far away to be computed */
	DISPATCH_START_KNOWN,
	DISPATCH_START_PENDING, /* not known yet: it is being computed */
};
/* When a queued job starts at the latest, in seconds of the clock, as of the last cycle: onto *ret_s where it is known. */
enum dispatch_start dispatch_start(struct cycle *c, const char *cluster, int64_t job,
				   int64_t *ret_s);
/* The priority that the last cycle gave a queued job. False: it was not in that cycle. */
bool dispatch_priority(const struct cycle *c, const char *cluster, int64_t job, int64_t *ret);
