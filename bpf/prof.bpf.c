/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof.bpf.c - counts context switches, preemptions, migrations and waits of jobs. Attached only
 * where the site asks for it.
 *
 * All is read when a task is switched out: the scheduler has by then brought its own sums up to
 * date (sched_info.run_delay: all waiting so far; se.sum_exec_runtime: all running), so the
 * difference to the last time is exact and no clock need be read.
 *
 * A job's counts are one element of a per-CPU array, its slot. The slot is looked up by cgroup
 * once for each task and then kept with the task: a task never leaves its job.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/prof_abi.h"

struct last {
	__u64 run_ns, delay_ns;
	__u32 cpu;
	__u32 slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC, as this type demands */
	__type(key, int);
	__type(value, struct last);
} lasts SEC(".maps");

/* Depth of the cgroups that are profiled. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} depth SEC(".maps");

/* Slot by cgroup id; user space makes the entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC: room for the jobs there are */
	__uint(max_entries, PROF_MAX_JOBS);
	__type(key, __u64);
	__type(value, __u32);
} slots SEC(".maps");

/* By slot; user space says how many there are. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROF_MAX_JOBS);
	__type(key, __u32);
	__type(value, struct prof_cpu);
} counts SEC(".maps");

/* Rounded down; 0 for 0. */
static __always_inline __u32 log2_of(__u64 v)
{
	__u32 r = 0;

	if (v >> 32) {
		r = 32;
		v >>= 32;
	}
	if (v >> 16) {
		r += 16;
		v >>= 16;
	}
	if (v >> 8) {
		r += 8;
		v >>= 8;
	}
	if (v >> 4) {
		r += 4;
		v >>= 4;
	}
	if (v >> 2) {
		r += 2;
		v >>= 2;
	}
	return r + (v >> 1);
}

/* The first time that a task of a profiled job is switched out: from here on it is counted. */
static __noinline int start_counting(struct task_struct *prev)
{
	__u32 zero = 0, *level = bpf_map_lookup_elem(&depth, &zero), *slot;
	struct last *last;
	__u64 id;

	if (!level)
		return 0;
	/* The task that is switched out still is the current one. */
	id = bpf_get_current_ancestor_cgroup_id((int)*level);
	slot = id ? bpf_map_lookup_elem(&slots, &id) : 0;
	if (!slot)
		return 0;
	last = bpf_task_storage_get(&lasts, prev, 0, 1 /* BPF_LOCAL_STORAGE_GET_F_CREATE */);
	if (!last)
		return 0;
	last->slot = *slot;
	last->run_ns = prev->se.sum_exec_runtime;
	last->delay_ns = prev->sched_info.run_delay;
	last->cpu = bpf_get_smp_processor_id();
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(prof_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct last *last = bpf_task_storage_get(&lasts, prev, 0, 0);
	__u32 cpu, bucket;
	struct prof_cpu *c;
	__u64 run, delay;

	if (!last)
		return start_counting(prev);
	c = bpf_map_lookup_elem(&counts, &last->slot);
	if (!c)
		return 0;
	run = prev->se.sum_exec_runtime;
	delay = prev->sched_info.run_delay;
	cpu = bpf_get_smp_processor_id();
	c->on_cpu_ns += run - last->run_ns;
	c->switches++;
	c->preemptions += preempt;
	c->migrations += cpu != last->cpu;
	c->wait_ns += delay - last->delay_ns;
	bucket = log2_of(delay - last->delay_ns);
	if (bucket < PROF_BUCKETS)
		c->wait[bucket]++;
	last->run_ns = run;
	last->delay_ns = delay;
	last->cpu = cpu;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
