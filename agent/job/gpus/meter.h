/* meter.h - how much the processes of jobs use the GPUs allocated to them.
 *
 * The GPU sampler reports what each process did on each device since it first saw the process. A process belongs
 * to a job by its cgroup; one that is seen only after its end belongs to the job that has the device. Counters continue where an earlier agent left them (state_attempt.gpu_use).
 *
 * Idle is the time since a GPU last worked for the job; where busy time is not known, since the job
 * last had memory on it.
 */
#pragma once
#include "agent/job/job.h"
#include "common/model/gpu_use.h"

struct gpu_meter;

/* For the GPUs in j->gpus, into j->meter. Without memory nothing is measured, and it is said.
 */
void gpu_meter_start(struct node *n, struct job *j);
struct gpu_meter *gpu_meter_free(struct gpu_meter *m);

/* Looks once at all GPUs that jobs hold; their sums go into the usage of these jobs. */
void gpu_meter_tick(struct node *n);
/* The last look, once the job is over. */
void gpu_meter_last(struct node *n, struct job *j);
/* A list of job_gpus_report(), by uuid: with the figures. */
void gpu_meter_fill(const struct gpu_meter *m, struct gpu_use *list, int32_t n);
/* For the saved state. */
void gpu_meter_keep(struct job *j);
