/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace - how long slurmctld is left alone after a question, so that all of them take a small share of its time.
 *
 * Pure. The share is kept on average: a question that took 400 ms is followed by 80 s of rest where 5 ms of each second
 * are allowed. Each measured cost may be too large, since slurmctld does other work meanwhile, and never too small: the
 * least of the last PACE_KEPT for a job counts.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define PACE_KEPT 4

struct pace {
	int64_t per_job_ns[PACE_KEPT]; /* of the last questions; 0: there was none */
	size_t next;
};

struct pace_limit {
	int64_t ms_per_s; /* of slurmctld's time */
	int64_t most_s;	  /* no rest is longer */
};

/* A question that was answered with `n_jobs` jobs took at most this much of slurmctld's time. */
void pace_note(struct pace *p, int64_t cost_ns, size_t n_jobs);
/* What one with `n_jobs` jobs will take. */
int64_t pace_cost_ns(const struct pace *p, size_t n_jobs);
int64_t pace_rest_ns(const struct pace *p, size_t n_jobs, const struct pace_limit *l);
