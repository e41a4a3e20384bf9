/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobtable - slurmctld's table of jobs, as it last answered: one question for all tasks that read it.
 *
 * An answer has all jobs of slurmctld, whatever has changed, and it builds it with its locks held: 20 ms with 10,000 jobs,
 * 400 ms with 100,000. So a task says how old the table may be for it, and slurmctld has a rest after each question in
 * proportion to what the question took of its time (pace.h, LoadLimit). Where nothing has changed slurmctld answers with no data.
 */
#pragma once
#include <slurm/slurm.h>
#include "slurm/follow/follow.h"

struct jobtable;

int jobtable_open(struct jobtable **ret, struct err *err);
struct jobtable *jobtable_close(struct jobtable *t);

/* Asks slurmctld, unless the table is younger than `max_age_s` or slurmctld has its rest: then the table stays as it is. There is one
 * after each 0. -EHOSTUNREACH. */
int jobtable_refresh(struct follow *f, int64_t max_age_s, struct err *err);

const job_info_msg_t *jobtable_jobs(const struct jobtable *t);
/* When slurmctld said that its jobs are so: by its own clock, and CLOCK_MONOTONIC of this host. */
int64_t jobtable_at_s(const struct jobtable *t);
int64_t jobtable_asked_ns(const struct jobtable *t);
/* The same clock before the question: all that slurmctld had then is in the table. */
int64_t jobtable_began_ns(const struct jobtable *t);
/* Seconds until jobtable_refresh() asks again. 0: it may at once. */
int64_t jobtable_rest_s(const struct jobtable *t);
