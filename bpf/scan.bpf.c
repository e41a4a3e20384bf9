/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.bpf.c - reads what the kernel has already counted for each cgroup and task into one
 * record a job. Counts nothing on any hot path: one pass walks the cgroups, one walks the
 * tasks, and two hooks catch what would vanish between passes: tasks that exit and cgroups
 * that are removed.
 *
 * CPU time: each cgroup has an exact per-CPU nanosecond counter of its own tasks. A job's CPU
 * time is the sum over its cgroup, those below it, and those below it that were removed.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/scan_abi.h"
#include "bpf/lib/jobs.h"

const volatile __u32 n_cpus = 1; /* possible CPUs, at most SCAN_MAX_CPUS */
const volatile __u32 page_bytes = 4096;

JOBS_MAPS(struct scan_job);

struct { /* [slot * n_cpus + cpu]: as of the last pass */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} core_ns SEC(".maps");

struct { /* the same shape: of sub-cgroups that are gone */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} removed_ns SEC(".maps");

struct { /* a per-CPU object of our own, to learn where per-CPU memory lies: measure_offset() */
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} landmark SEC(".maps");

struct { /* per-CPU offsets, once measured */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SCAN_MAX_CPUS);
	__type(key, __u32);
	__type(value, __u64);
} offsets SEC(".maps");

struct { /* number of the pass and of the walk under way */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pass SEC(".maps");

/* The walk under way. One reader at a time: the agent has one thread. */
static __u32 walk_slot;
static int walk_level;
static struct mm_struct *walk_mm;
static struct cgroup *walk_cgroup; /* of the last task, and its job: neighbours share them */
static volatile __u64 map_address; /* see measure_offset() */

#include "bpf/lib/find.h"
#include "bpf/lib/rss.h"

/* Where CPU `cpu`'s copies of per-CPU objects lie against their common base. The kernel
 * exports no table of these offsets where data symbols are left out of kallsyms, but the
 * distance between a per-CPU map's base and one CPU's value is the same offset. */
static __always_inline __u64 measure_offset(__u32 cpu)
{
	__u64 base = 0;
	__u32 zero = 0;
	volatile __u64 *value;

	value = bpf_map_lookup_percpu_elem(&landmark, &zero, cpu);
	if (!value)
		return 0;
	/* An address passes through memory to become a number: the verifier allows no free
	 * arithmetic on pointers. What is written here never changes. */
	*value = (__u64)value;
	map_address = (__u64)&landmark;
	bpf_probe_read_kernel(
		&base, sizeof(base),
		(void *)(map_address + bpf_core_field_offset(struct bpf_array, pptrs)));
	return *value - base;
}

/* Address of one CPU's copy of a per-CPU object. */
static __always_inline void *cpu_base(void *object, __u32 cpu)
{
	__u64 *offset = bpf_map_lookup_elem(&offsets, &cpu);

	if (!offset)
		return 0;
	if (!*offset)
		*offset = measure_offset(cpu);
	return *offset ? (void *)((__u64)object + *offset) : 0;
}

static __always_inline __u64 this_pass(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&pass, &zero);

	return n ? *n : 0;
}

struct cpu_times {
	__u64 stime, utime, ns;
};

static __always_inline void *cpu_stats(struct cgroup *cgrp)
{
	struct cgroup___616 *later = (void *)cgrp;

	if (bpf_core_field_exists(later->rstat_base_cpu))
		return BPF_CORE_READ(later, rstat_base_cpu);
	return BPF_CORE_READ(cgrp, rstat_cpu);
}

static __always_inline __u32 stats_offset(void)
{
	if (bpf_core_type_exists(struct cgroup_rstat_base_cpu))
		return bpf_core_field_offset(struct cgroup_rstat_base_cpu, bstat);
	return bpf_core_field_offset(struct cgroup_rstat_cpu, bstat);
}

/* One cgroup's own time on one CPU. */
static __always_inline int read_cpu(void *stats, __u32 cpu, struct cpu_times *t)
{
	struct task_cputime *c;
	void *at = cpu_base(stats, cpu);

	if (!at)
		return -1;
	c = (struct task_cputime *)((char *)at + stats_offset() +
				    bpf_core_field_offset(struct cgroup_base_stat, cputime));
	t->stime = t->utime = 0;
	t->ns = BPF_CORE_READ(c, sum_exec_runtime);
	if (!t->ns) /* most cores never ran most jobs */
		return 0;
	t->stime = BPF_CORE_READ(c, stime);
	t->utime = BPF_CORE_READ(c, utime);
	return 0;
}

/* Sets a job's CPU figures to what its removed sub-cgroups had, for add_cpu() to add to. */
static __always_inline void start_cpu(struct scan_job *job, __u32 slot)
{
	__u64 *to, *from;
	__u32 key;

	job->cpu_ns = 0;
	job->user_ns = job->removed_user_ns;
	job->system_ns = job->removed_system_ns;
	for (__u32 cpu = 0; cpu < SCAN_MAX_CPUS; cpu++) {
		if (cpu >= n_cpus)
			break;
		key = slot * n_cpus + cpu;
		to = bpf_map_lookup_elem(&core_ns, &key);
		from = bpf_map_lookup_elem(&removed_ns, &key);
		if (!to || !from)
			return;
		*to = *from;
		job->cpu_ns += *from;
	}
}

/* Adds one cgroup's own CPU time. SCAN_HAS_CORES only when every CPU could be read. */
static __always_inline void add_cpu(struct cgroup *cgrp, struct scan_job *job, __u32 slot)
{
	void *stats = cpu_stats(cgrp);
	struct cpu_times t = {};
	__u64 *core;
	__u32 key;

	if (!stats)
		return;
	for (__u32 cpu = 0; cpu < SCAN_MAX_CPUS; cpu++) {
		if (cpu >= n_cpus)
			break;
		key = slot * n_cpus + cpu;
		core = bpf_map_lookup_elem(&core_ns, &key);
		if (!core || read_cpu(stats, cpu, &t) < 0)
			return;
		*core += t.ns;
		job->cpu_ns += t.ns;
		job->user_ns += t.utime;
		job->system_ns += t.stime;
	}
	job->have |= SCAN_HAS_CORES;
}

/* The state of one controller for the cgroup; NULL when it is not enabled there. */
static __always_inline void *css_of(struct cgroup *cgrp, __u32 subsys)
{
	void *css = 0;

	bpf_probe_read_kernel(&css, sizeof(css),
			      (char *)cgrp + bpf_core_field_offset(cgrp->subsys) +
				      8ul * subsys);
	return css;
}

static __always_inline long read_vmstat(struct memcg_vmstats *stats, __u32 item)
{
	long value = 0;

	bpf_probe_read_kernel(&value, sizeof(value),
			      (char *)stats + bpf_core_field_offset(stats->state) + 8ul * item);
	return value > 0 ? value : 0;
}

static __always_inline void read_memory(struct cgroup *cgrp, struct scan_job *job)
{
	struct mem_cgroup *mem =
		css_of(cgrp, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	struct memcg_vmstats *stats = 0;

	if (!mem)
		return;
	job->mem_pages = BPF_CORE_READ(mem, memory.usage.counter);
	job->mem_peak_pages = BPF_CORE_READ(mem, memory.watermark);
	job->swap_pages = BPF_CORE_READ(mem, swap.usage.counter);
	job->have |= SCAN_HAS_MEM;
	/* Later kernels index this array through a table that nothing outside can read. */
	if (bpf_core_field_size(stats->state) !=
	    8 * bpf_core_enum_value(enum memcg_stat_item, MEMCG_NR_STAT))
		return;
	stats = BPF_CORE_READ(mem, vmstats);
	if (!stats)
		return;
	job->anon_bytes =
		(__u64)page_bytes *
		read_vmstat(stats, bpf_core_enum_value(enum node_stat_item, NR_ANON_MAPPED));
	job->file_bytes =
		(__u64)page_bytes *
		read_vmstat(stats, bpf_core_enum_value(enum node_stat_item, NR_FILE_PAGES));
	job->shmem_bytes =
		(__u64)page_bytes *
		read_vmstat(stats, bpf_core_enum_value(enum node_stat_item, NR_SHMEM));
	job->kernel_bytes =
		(__u64)page_bytes *
		read_vmstat(stats, bpf_core_enum_value(enum memcg_stat_item, MEMCG_KMEM));
	job->have |= SCAN_HAS_PARTS;
}

static __always_inline void read_tasks(struct cgroup *cgrp, struct scan_job *job)
{
	struct pids_cgroup *pids =
		css_of(cgrp, bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id));

	if (!pids)
		return;
	job->tasks = BPF_CORE_READ(pids, counter.counter);
	job->have |= SCAN_HAS_TASKS;
	if (bpf_core_field_exists(pids->watermark)) {
		job->tasks_peak = BPF_CORE_READ(pids, watermark);
		job->have |= SCAN_HAS_TASKS_PEAK;
	}
}

static __always_inline void read_io(struct cgroup *cgrp, struct scan_job *job)
{
	struct blkcg *blkcg =
		css_of(cgrp, bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id));
	struct hlist_node *node;
	struct blkcg_gq *gq = 0;
	__u64 bytes[2], sum[2] = {};

	/* From 6.16 each controller is flushed by itself, which a program may not ask for. */
	if (!blkcg || bpf_core_type_exists(struct cgroup_rstat_base_cpu))
		return;
	node = BPF_CORE_READ(blkcg, blkg_list.first);
	for (int i = 0; i < SCAN_MAX_DEVICES && node; i++) {
		gq = (void *)((char *)node - bpf_core_field_offset(gq->blkcg_node));
		bpf_core_read(&bytes, sizeof(bytes), &gq->iostat.cur.bytes);
		sum[0] += bytes[0];
		sum[1] += bytes[1];
		node = BPF_CORE_READ(node, next);
	}
	/* The figures of a removed device vanish with it: a job's must not fall. */
	if (sum[0] > job->read_bytes)
		job->read_bytes = sum[0];
	if (sum[1] > job->written_bytes)
		job->written_bytes = sum[1];
	job->have |= SCAN_HAS_IO;
}

static __always_inline void read_job(struct cgroup *cgrp, struct scan_job *job, __u32 slot)
{
	job->have = 0;
	start_cpu(job, slot);
	add_cpu(cgrp, job, slot);
	read_memory(cgrp, job);
	read_tasks(cgrp, job);
	read_io(cgrp, job);
}

extern void cgroup_rstat_flush(struct cgroup *cgrp) __ksym __weak;
extern void css_rstat_flush(struct cgroup_subsys_state *css) __ksym __weak;

SEC("?iter.s/cgroup")
int scan_cgroups(struct bpf_iter__cgroup *ctx)
{
	struct cgroup *cgrp = ctx->cgroup;
	struct scan_job *job;
	__u32 *slot;
	__u64 id;

	if (!cgrp)
		return 0;
	if (ctx->meta->seq_num == 0) { /* once for the whole subtree */
		walk_slot = FIND_NONE;
		if (bpf_core_type_exists(struct cgroup_rstat_base_cpu))
			css_rstat_flush(&cgrp->self);
		else
			cgroup_rstat_flush(cgrp);
	}
	/* Parents come before children: a cgroup deeper than the last job is part of it. */
	if (walk_slot != FIND_NONE && cgrp->level > walk_level) {
		job = bpf_map_lookup_elem(&jobs, &walk_slot);
		if (job)
			add_cpu(cgrp, job, walk_slot);
		return 0;
	}
	id = cgrp->kn->id;
	slot = bpf_map_lookup_elem(&job_ids, &id);
	walk_slot = slot ? *slot : FIND_NONE;
	walk_level = cgrp->level;
	job = slot ? bpf_map_lookup_elem(&jobs, slot) : 0;
	if (!job || job->removed)
		return 0;
	read_job(cgrp, job, walk_slot);
	job->pass = this_pass();
	return 0;
}

/* Slot of the job of `cgrp`, or FIND_NONE also where the walk is not about that job. */
static __always_inline __u32 find_wanted(struct cgroup *cgrp, __u64 number)
{
	__u32 slot = find_job(cgrp, 0);
	struct scan_job *job = find_record(slot);

	if (!job || (job->walk != SCAN_WALK_WANTED && job->walk != number))
		return FIND_NONE;
	return slot;
}

/* The first task of a job in a walk sets its live figures to 0. */
SEC("?iter/task")
int scan_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct scan_job *job;
	__u64 number = this_pass();
	struct mm_struct *mm;
	struct cgroup *cgrp;
	__u32 slot;

	if (!task)
		return 0;
	if (ctx->meta->seq_num == 0) {
		walk_mm = 0;
		walk_cgroup = 0;
	}
	cgrp = task->cgroups->dfl_cgrp;
	if (cgrp != walk_cgroup) {
		walk_cgroup = cgrp;
		walk_slot = find_wanted(cgrp, number);
	}
	slot = walk_slot;
	job = find_record(slot);
	if (!job)
		return 0;
	mm = task->mm;
	if (!mm && task->pid == task->tgid && !task->min_flt)
		return 0; /* a kernel thread */
	if (job->walk != number) {
		job->walk = number;
		job->live_delay_ns = job->live_minor = job->live_major = 0;
		job->rss_pages = job->procs = 0;
	}
	job->live_delay_ns += task->sched_info.run_delay;
	job->live_minor += task->min_flt;
	job->live_major += task->maj_flt;
	if (task->pid == task->tgid)
		job->procs++;
	/* Threads of a process come one after another; the first one with an mm counts it. */
	if (mm && mm != walk_mm) {
		job->rss_pages += rss_pages(mm);
		walk_mm = mm;
	}
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(scan_exit, struct task_struct *task)
{
	__u32 slot = find_job(task->cgroups->dfl_cgrp, 0);
	struct scan_job *job = find_record(slot);

	if (!job)
		return 0;
	__sync_fetch_and_add(&job->exited_delay_ns, task->sched_info.run_delay);
	__sync_fetch_and_add(&job->exited_minor, task->min_flt);
	__sync_fetch_and_add(&job->exited_major, task->maj_flt);
	return 0;
}

/* Adds the CPU time of a sub-cgroup that is being removed to the job's. */
static __always_inline void keep_removed(struct cgroup *cgrp, struct scan_job *job, __u32 slot)
{
	void *stats = cpu_stats(cgrp);
	struct cpu_times t = {};
	__u64 *core;
	__u32 key;

	for (__u32 cpu = 0; stats && cpu < SCAN_MAX_CPUS; cpu++) {
		if (cpu >= n_cpus)
			break;
		key = slot * n_cpus + cpu;
		core = bpf_map_lookup_elem(&removed_ns, &key);
		if (!core || read_cpu(stats, cpu, &t) < 0)
			return;
		__sync_fetch_and_add(core, t.ns);
		__sync_fetch_and_add(&job->removed_user_ns, t.utime);
		__sync_fetch_and_add(&job->removed_system_ns, t.stime);
	}
}

/* Reads the last figures of a job whose cgroup is removed, or of a sub-cgroup. */
SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(scan_rmdir, struct cgroup *cgrp, const char *path)
{
	__u64 id = cgrp->kn->id;
	__u32 *own = bpf_map_lookup_elem(&job_ids, &id);
	__u32 slot = own ? *own : find_job(cgrp, 1);
	struct scan_job *job = find_record(slot);

	if (!job)
		return 0;
	if (own) {
		job->removed = 1;
		read_job(cgrp, job, slot);
	} else {
		keep_removed(cgrp, job, slot);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
