/* gpus.h - the GPUs of a job: choose them, open their devices to it, check them for leftovers, free them.
 *
 * A job's GPUs are a set of bits, i for gpu_device(n->gpu, i), and, as what survives the agent,
 * their uuids in j->s.gpus. A suspended job keeps them: its state is on the device.
 *
 * A GPU with leftovers (processes, memory) is drained: it is granted to no job, and a note of the
 * node names it, until it is clean again.
 */
#pragma once
#include "agent/gpu/gpu.h"
#include "agent/job/job.h"
#include "agent/job/gpus/env.h"
#include "agent/report/sync.h"

/* Open the inventory, what jobs may have of it, and the device gate, which is in force from job_gpus_hold() on; until
 * then the gate of an earlier agent is. A failure is a note: the node works without GPUs. */
void job_gpus_open(struct node *n);
/* When all jobs are recovered. */
void job_gpus_hold(struct node *n);
void job_gpus_close(struct node *n);

/* Chooses free and clean GPUs as the request wants them, near spare cores, into j. 0, or 1:
 * there are not enough and the job has failed, in words. -ENOMEM. */
int job_gpus_grant(struct node *n, struct job *j, const struct cpulist *spare);
/* What the agent before granted, from j->s.gpus. */
void job_gpus_recover(struct node *n, struct job *j);
/* NUMA nodes of the job's GPUs; empty: none, or not known. */
void job_gpus_near(const struct node *n, const struct job *j, struct cpulist *ret);
/* The device files that the unit must be let open, GPUs' and those all GPU jobs share; NULL: it
 * needs none. The caller frees the list; its words are the devices' own. */
const char **job_gpus_files(const struct node *n, const struct job *j);

/* gpus_env() of the job; *ret NULL where the node has no GPUs at all. -ENOMEM. */
int job_gpus_env(const struct node *n, const struct job *j, char ***ret);
/* Opens the granted devices to the job's cgroup, and no others. */
int job_gpus_watch(struct node *n, struct job *j, struct err *err);
void job_gpus_unwatch(struct node *n, struct job *j);
/* The unit is over: leftovers and refused opens into the job's note. */
void job_gpus_finish(struct node *n, struct job *j);

/* Drained GPUs that are clean again are given to jobs again. */
void job_gpus_tick(struct node *n);
/* As admission counts: one hold for each drained GPU that no job holds. Returns how many, at
 * most GPU_DEVICES_MAX. */
size_t job_gpus_drained(struct node *n, struct admit_allocation *ret);
/* The job's GPUs all are of this model; "": none, or several. */
const char *job_gpus_model(const struct node *n, const struct job *j);

/* For the controller. Up to GPU_DEVICES_MAX. */
size_t job_gpus_describe(const struct node *n, struct sync_gpu *ret);
/* The job's GPUs as the report lists them; the caller frees *ret. -ENOMEM. */
int job_gpus_report(const struct node *n, const struct job *j, struct gpu_use **ret,
		    int32_t *ret_n);
