/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuwork.h - how much work jobs give to GPUs, counted by job in the kernel: launches of CUDA
 * kernels and graphs (opt-in: uprobes on the driver library), and GPU jobs of the kernel's DRM
 * scheduler, through which amdgpu and xe drive their cards (i915 has one of its own).
 *
 * Counts survive a restart of the agent; what happens while no agent runs is not counted.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/err.h"

struct gpuwork;

struct gpuwork_config {
	const char *pin_dir; /* on bpffs; NULL: nothing is kept */
	const char *libcuda; /* whose launches are counted; NULL: none are */
	bool has_sched;	     /* GPU jobs of the DRM scheduler are counted */
	uint32_t max_jobs;   /* 0: 1,024 */
	bool job_is_fence;   /* for tests: bpf/gpuwork.bpf.c */
};

enum gpuwork_have {
	GPUWORK_HAVE_LAUNCHES = 1 << 0,
	GPUWORK_HAVE_RUN = 1 << 1,
	GPUWORK_HAVE_BUSY = 1 << 2,
};

struct gpuwork_counts {
	unsigned have;
	/* Calls of cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel, cuGraphLaunch:
	 * a graph is one launch. */
	uint64_t launches;
	uint64_t n_run;	  /* GPU jobs that the scheduler passed to the hardware */
	uint64_t busy_ns; /* with one of them or more in the hardware: of all GPUs together */
};

/* A negative errno where none of it can be counted; else gpuwork_status() says what cannot. */
int gpuwork_open(const struct gpuwork_config *config, struct gpuwork **ret, struct err *err);
struct gpuwork *gpuwork_close(struct gpuwork *g);
/* Forget what is kept in `pin_dir`; nothing there is fine. */
void gpuwork_forget(const char *pin_dir);
/* Which of them are counted here, as long as it is open. */
unsigned gpuwork_have(const struct gpuwork *g);
/* Lines; "": all that was asked for is counted. */
const char *gpuwork_status(const struct gpuwork *g);

/* Counts begin at zero, or go on where an earlier agent left them. -EEXIST; -ENOSPC. */
int gpuwork_add(struct gpuwork *g, uint64_t cgroup_id, int64_t job);
void gpuwork_remove(struct gpuwork *g, uint64_t cgroup_id);
/* After a restart: those that an earlier agent left and this one has not added. */
unsigned gpuwork_prune(struct gpuwork *g);
/* -ENOENT: not added. */
int gpuwork_read(const struct gpuwork *g, uint64_t cgroup_id, struct gpuwork_counts *ret);

static inline void gpuwork_closep(struct gpuwork **g)
{
	gpuwork_close(*g);
}
