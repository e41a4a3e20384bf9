/* SPDX-License-Identifier: GPL-2.0-or-later */
/* priority - the task that brings Reeve's fairshare into Slurm's priorities: SiteFactor of jobs that wait.
 *
 * Each interval the pending jobs of slurmctld's table (jobtable.h), once it is younger than the last round, are sent to the controller, which answers with a site factor for each
 * (common/wire/slurm_pending.h has the formula). With Priority = yes those that differ by more than a step, 1/1000 of the weight,
 * are written to slurmctld, the largest difference first: at most PriorityUpdates in an interval, and no faster than 500 a second.
 * A job that loses its factor to a restart of slurmctld gets it again. Nothing is kept.
 *
 * The controller keeps the list in memory. A second task asks it every few seconds whether it has one: after a start of the controller it
 * gets the table that is here at once, without a question to slurmctld.
 */
#pragma once
#include "slurm/follow/follow.h"

int64_t priority_interval_s(const struct follow *f);
int priority_run(struct follow *f, struct err *err);
int64_t priority_resend_interval_s(const struct follow *f);
int priority_resend(struct follow *f, struct err *err);

/* Pure: the jobs to write, by the largest difference. */
struct priority_change {
	int64_t job, from, to;
};
/* Sorts the changes and returns how many of them are to be written. */
size_t priority_choose(struct priority_change *changes, size_t n, int64_t weight, size_t most);
