/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live - follows slurmctld: the attempts that run, are suspended, or have ended within MinJobAge.
 *
 * One look at slurmctld's table of jobs (jobtable.h) in LiveInterval, less often where LoadLimit asks for it. A job is sent when
 * it is new or has changed, and while it runs each ProgressInterval; the list of all attempts that slurmctld has goes with the
 * last document of a round, so that the controller sees which are gone. What was sent is remembered in memory alone: after a
 * restart all are sent again, which changes nothing.
 */
#pragma once
#include "slurm/follow/follow.h"

struct live;

int live_open(struct live **ret, struct err *err);
struct live *live_close(struct live *l);

/* A task of loop.h. */
int64_t live_interval_s(const struct follow *f);
int live_run(struct follow *f, struct err *err);
