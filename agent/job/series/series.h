/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series.h - the points of each running job (common/model/series/series.h), from the samples that the agent takes anyway.
 *
 * They are saved with the job's state (j->s.series) and go on after a restart of the agent; the time in which it was
 * away has no points of memory. A report carries the whole series, at most each series_sample_send_ns(), and the
 * final report always: a report that is lost costs nothing.
 */
#pragma once
#include "agent/job/job.h"

/* The series is decoded for that, and encoded again: kept as points it would be the largest part of a job's memory.
 *
 * Adds the job's use as of now. `sampled`: what this sample measured; counters are those of the job (state_usage_get()), which
 * also has what the GPU sampler counted. A job whose clock has not started has no points. Without memory the
 * points stay as they were. */
void job_series_add(struct node *n, struct job *j, const struct usage *sampled);
/* Into a report that is about to be put; nothing when it is not due yet, or without memory. */
void job_series_report(struct job *j, struct report *r);
