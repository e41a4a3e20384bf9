/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuwork.bpf.c - how much work jobs give to GPUs: launches, by uprobes on the CUDA driver
 * library, and GPU jobs of the kernel's DRM scheduler (amdgpu, xe), by its tracepoints. Loaded
 * only where the configuration asks for it or such a card is there.
 *
 * The owner of a GPU job is known only when it is queued, because the user's process does that;
 * kernel threads pass it to the hardware and complete it. The tracepoints have had two sets of
 * names (the newer from 6.17 on) and one set of arguments.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "bpf/gpuwork_abi.h"
#include "bpf/lib/jobs.h"

/* For tests, where no driver with the scheduler's types is loaded: the GPU job is its fence. */
const volatile __u32 job_is_fence = 0;

JOBS_MAPS(struct gpuwork_record);

#include "bpf/lib/find.h"

struct { /* GPU job -> cgroup id of the process that queued it */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPUWORK_IN_FLIGHT_MAX);
	__type(key, __u64);
	__type(value, __u64);
} queued SEC(".maps");

struct { /* its fence -> the same */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPUWORK_IN_FLIGHT_MAX);
	__type(key, __u64);
	__type(value, __u64);
} running SEC(".maps");

static __always_inline struct gpuwork_record *job_by_id(__u64 cgroup_id)
{
	__u32 *slot = bpf_map_lookup_elem(&job_ids, &cgroup_id);

	return slot ? bpf_map_lookup_elem(&jobs, slot) : 0;
}

SEC("uprobe")
int gpuwork_launch(void *ctx)
{
	struct gpuwork_record *job = find_record(find_current_job());

	if (job)
		__sync_fetch_and_add(&job->launches, 1);
	return 0;
}

/* The completion tracepoint passes the fence, not the GPU job. 0: the kernel has no type
 * information of the scheduler; the GPU job is then counted but not timed. */
static __always_inline __u64 fence_of(__u64 gpu_job)
{
	struct drm_sched_job *j = (struct drm_sched_job *)gpu_job;

	if (job_is_fence)
		return gpu_job;
	if (!bpf_core_field_exists(j->s_fence))
		return 0;
	return (__u64)BPF_CORE_READ(j, s_fence);
}

/* (struct drm_sched_job *, struct drm_sched_entity *) */
SEC("raw_tp")
int gpuwork_queue(struct bpf_raw_tracepoint_args *ctx)
{
	struct gpuwork_record *job = find_record(find_current_job());
	__u64 gpu_job = ctx->args[0], id;

	if (!job)
		return 0;
	id = job->cgroup_id;
	bpf_map_update_elem(&queued, &gpu_job, &id, BPF_ANY);
	return 0;
}

/* (struct drm_sched_job *, struct drm_sched_entity *) */
SEC("raw_tp")
int gpuwork_run(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 gpu_job = ctx->args[0], id, fence;
	__u64 *by = bpf_map_lookup_elem(&queued, &gpu_job);
	struct gpuwork_record *job;

	if (!by)
		return 0;
	id = *by;
	bpf_map_delete_elem(&queued, &gpu_job);
	job = job_by_id(id);
	if (!job)
		return 0;
	__sync_fetch_and_add(&job->n_run, 1);
	fence = fence_of(gpu_job);
	if (!fence || bpf_map_update_elem(&running, &fence, &id, BPF_NOEXIST) < 0)
		return 0;
	__sync_fetch_and_add(&job->n_paired, 1);
	if (__sync_fetch_and_add(&job->in_flight, 1) == 0)
		job->since_ns = bpf_ktime_get_ns();
	return 0;
}

/* (struct drm_sched_fence *) */
SEC("raw_tp")
int gpuwork_done(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 fence = ctx->args[0], id, since, now;
	__u64 *by = bpf_map_lookup_elem(&running, &fence);
	struct gpuwork_record *job;

	if (!by)
		return 0;
	id = *by;
	if (bpf_map_delete_elem(&running, &fence) < 0)
		return 0;
	job = job_by_id(id);
	if (!job)
		return 0;
	since = job->since_ns; /* read before the count: the next GPU job may set it */
	now = bpf_ktime_get_ns();
	if (__sync_fetch_and_add(&job->in_flight, -1) == 1 && now > since)
		__sync_fetch_and_add(&job->busy_ns, now - since);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
