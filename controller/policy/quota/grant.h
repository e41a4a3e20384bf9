/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grant - service units awarded to a project for a period, and what is left of them.
 *
 * Pure, exact integers. Source: NCI National Facility, "Charging" and "Queue structure".
 * At every moment   granted = used + reserved + available.
 *
 * Units: milli-SU-seconds (1 SU = one cpu for an hour = 3600000), like all charges. A
 * job's rate is cpus requested x the factor of its queue (express 3, normal 1, bonus 0).
 *
 * A job that is queued or running reserves its requested walltime x rate. As it runs, what it
 * has run moves from reserved to used: their sum stays the charge of the whole
 * walltime; when it ends, what it has not run becomes available. Suspended time is neither
 * used nor reserved. A queue of factor 0 (bonus) reserves and uses nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "controller/policy/charge/charge.h"

struct grant_job {
	struct fraction rate; /* SU per hour of running; 0/1 in bonus */
	int64_t walltime_ns;  /* requested */
	int64_t ran_ns;	      /* in the running state so far; may exceed the walltime */
	bool ended;
};

struct grant_part {
	int64_t used, reserved;
};

/* -EINVAL: a negative time; -ERANGE. */
int grant_job_part(const struct grant_job *job, struct grant_part *ret);

struct grant {
	int64_t granted, used, reserved;
	int64_t available; /* negative: overdrawn */
};

struct grant_jobs {
	const struct grant_job *jobs;
	size_t n;
};

/* `settled`: what earlier jobs of the period used, those that `jobs` does not list. -EINVAL: a
 * negative grant or settled sum; -ERANGE. */
int grant_sum(int64_t granted, int64_t settled, const struct grant_jobs *jobs,
	      struct grant *ret);

/* When the grant covers one more job. */
enum grant_cover {
	GRANT_COVER_WHOLE, /* its whole reservation is available: never overdrawn */
	GRANT_COVER_ANY,   /* something is available: overdrawn by at most one job's rest */
	_GRANT_COVER_MAX,
};

struct grant_rule {
	enum grant_cover cover;
	int64_t overdraft;  /* how much may be used beyond the grant; 0: nothing */
	bool refuse_beyond; /* refuse a job that is not covered; else it runs in bonus */
};

enum grant_verdict {
	GRANT_COVERED,
	GRANT_BONUS,
	GRANT_REFUSED,
	_GRANT_VERDICT_MAX,
};
const char *grant_verdict_name(enum grant_verdict v); /* "covered" "bonus" "refused" */

/* The verdict on one more job, which would reserve `need`. A need of 0 is always covered.
 * -EINVAL: a negative need or overdraft; -ERANGE. */
int grant_admit(const struct grant *g, const struct grant_rule *rule, int64_t need,
		enum grant_verdict *ret);
