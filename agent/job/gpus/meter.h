/* SPDX-License-Identifier: GPL-2.0-or-later */
/* meter.h - how much the processes of jobs use the GPUs allocated to them.
 *
 * The GPU sampler reports what each process did on each device since it first saw the process. A
 * process belongs to a job by its cgroup; one that is seen only after its end belongs to the job that
 * has the device. Counters continue where an earlier agent left them (state_attempt.gpu_use).
 *
 * Idle is the time since a GPU last worked for the job; where busy time is not known, since the job
 * last had memory on it.
 */
#pragma once
#include "agent/job/job.h"
#include "common/model/gpu_use.h"

struct gpu_meter;

/* Makes j->meter for the GPUs in j->gpus; safe to repeat. Without memory nothing is measured, and a
 * note of the job names it. */
void gpu_meter_start(struct node *n, struct job *j);
struct gpu_meter *gpu_meter_free(struct gpu_meter *m);

/* Samples all GPUs of running jobs once and merges the sums into the usage of these jobs. */
void gpu_meter_tick(struct node *n);
/* The last sample, once the job's processes have ended and before its GPUs are given to another job:
 * what short processes did is attributed to the job that has the device. */
void gpu_meter_last(struct node *n, struct job *j);
/* Fills the figures into a list of job_gpus_report(), by uuid. m NULL: leaves the list as it is. */
void gpu_meter_fill(const struct gpu_meter *m, struct gpu_use *list, int32_t n);
/* Writes the counters into j->s.gpu_use, to be saved with the job's state. Without memory it keeps
 * what was there. */
void gpu_meter_keep(struct job *j);
