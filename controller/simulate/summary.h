/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary - the results of a replay, in the figures by which schedulers are compared.
 *
 * Pure. Definitions:
 *   wait                from submission to the first start
 *   p95                 by nearest rank: the smallest value that at least 95 % of jobs do not
 *                       exceed (likewise the others)
 *   bounded slowdown    max(1, (end - submission) / max(run time, 10 s)): Feitelson,
 *                       "Metrics for parallel job scheduling and their convergence", 2001
 *   makespan            from the first submission to the last end
 *   utilisation         core time run / (cores of the machine x makespan)
 *   XFactor             (estimate + suspended) / estimate
 *   overtaken           how many jobs that were submitted later started before the job: the
 *                       measure of starvation; 0 for all under fcfs
 */
#pragma once
#include "controller/simulate/replay.h"

#define SIM_BOUND_S 10
#define SIM_XFACTOR_MOST 1.25

struct sim_quantiles {
	int64_t p50, p95, p99, max;
};

struct sim_summary {
	size_t jobs;
	double wait_mean_s, bounded_slowdown_mean, utilisation;
	struct sim_quantiles wait_s, xfactor_milli, overtaken;
	int64_t makespan_s, suspended_s, suspensions;
	size_t xfactor_over;		      /* jobs above SIM_XFACTOR_MOST */
	double deviation_max, deviation_mean; /* of groups, in amount; 0 without r->fair */
};

/* Of a replay that has run. -ENOMEM. */
int sim_summarise(const struct sim_replay *r, struct sim_summary *ret);

/* How many jobs waited at most bounds[i] seconds, for each of n rising bounds. */
void sim_count_waits(const struct sim_replay *r, const int64_t *bounds, size_t n,
		     size_t *ret_counts);
