/* SPDX-License-Identifier: GPL-2.0-or-later */
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

/* Opens the inventory, what jobs may have of it, and the device gate (not under Slurm, which holds its devices itself). The gate of an earlier agent
 * stays in force until job_gpus_hold(). A failure is a note: the node works without GPUs. */
void job_gpus_open(struct node *n);
/* Puts the device gate in force. To be called once all jobs are recovered: a job that the gate does
 * not have yet would be refused its own devices. */
void job_gpus_hold(struct node *n);
void job_gpus_close(struct node *n);

/* Chooses free and clean GPUs for the request, close to the `spare` cores, into j->gpus and
 * j->s.gpus. 0 also for a job that wants none or has them already. 1: there are not enough, and the
 * job has failed with a sentence. -ENOMEM. */
int job_gpus_grant(struct node *n, struct job *j, const struct cpulist *spare);
/* The same for the GPUs and MIG instances that Slurm or PBS gave to its job, each by the name of a device file ("nvidia0,nvidia-cap67"). One that the
 * inventory lacks, or that slurmd did not name ("?3"), is a note of the job. The job's request has `count` of them, < 0: as many as are named; so has it
 * those that have no name. */
void job_gpus_take(struct node *n, struct job *j, const char *files, int64_t count);
/* Fills j->gpus from the uuids in j->s.gpus that an earlier agent saved. A device that is gone is a
 * note of the job. */
void job_gpus_recover(struct node *n, struct job *j);
/* NUMA nodes of the job's GPUs; empty: none, or not known. */
void job_gpus_near(const struct node *n, const struct job *j, struct cpulist *ret);
/* The device files that the unit is allowed to open: those of its GPUs and those that all GPU jobs
 * share. NULL: it needs none, or there is no memory. NULL-terminated; the caller frees the list, not
 * its strings, which belong to the inventory. */
const char **job_gpus_files(const struct node *n, const struct job *j);

/* gpus_env() of the job; *ret NULL where the node has no GPUs at all. -ENOMEM. */
int job_gpus_env(const struct node *n, const struct job *j, char ***ret);
/* Lets the job's cgroup open the devices that it was granted, and no others. Safe to repeat. < 0:
 * the job must not start, for it could open other jobs' GPUs. */
int job_gpus_watch(struct node *n, struct job *j, struct err *err);
void job_gpus_unwatch(struct node *n, struct job *j);
/* To be called when no process of the unit is left: writes leftovers on its GPUs and refused opens
 * into the job's note, and drains the GPUs that are not clean. */
void job_gpus_finish(struct node *n, struct job *j);

/* Each SampleInterval: measures all GPUs of jobs, and returns drained GPUs that are clean again. */
void job_gpus_tick(struct node *n);
/* Drained GPUs that no job has, as allocations of one GPU each, so that admission counts them as in
 * use. Returns how many, at most GPU_DEVICES_MAX. */
size_t job_gpus_drained(struct node *n, struct admit_allocation *ret);
/* The job's GPUs all are of this model; "": none, or several. */
const char *job_gpus_model(const struct node *n, const struct job *j);

/* The inventory as the controller gets it. Returns how many, at most GPU_DEVICES_MAX. */
size_t job_gpus_describe(const struct node *n, struct sync_gpu *ret);
/* The job's GPUs as the report lists them; the caller frees *ret. A job without GPUs leaves both
 * results untouched. -ENOMEM. */
int job_gpus_report(const struct node *n, const struct job *j, struct gpu_use **ret,
		    int32_t *ret_n);
