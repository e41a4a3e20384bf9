/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.h - the kernel types that Reeve's BPF programs read, cut down to the fields used.
 *
 * CO-RE relocates every access against the running kernel's own BTF, so only names and types
 * must be right here, never offsets or order. Fields that differ between kernels are spelled
 * with a ___suffix flavour beside the plain one. Alphabetical.
 */
#ifndef REEVE_BPF_KERNEL_H
#define REEVE_BPF_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;
enum { false = 0, true = 1 };
typedef struct {
	long counter;
} atomic_long_t;
typedef struct {
	__s64 counter;
} atomic64_t;

/* <bpf/bpf_helper_defs.h> wants these map types by value. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1 << 0, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };

struct bpf_raw_tracepoint_args { /* UAPI */
	__u64 args[0];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct hlist_head {
	struct hlist_node *first;
};

struct blkcg {
	struct cgroup_subsys_state css;
	struct hlist_head blkg_list;
};

struct hlist_node {
	struct hlist_node *next;
};

struct blkg_iostat {
	__u64 bytes[3];
};

struct blkg_iostat_set {
	struct blkg_iostat cur;
};

struct blkcg_gq {
	struct hlist_node blkcg_node;
	struct blkg_iostat_set iostat;
};

struct bpf_array {
	void *pptrs[0];
};

struct bpf_iter__cgroup {
	struct bpf_iter_meta *meta;
	struct cgroup *cgroup;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter_meta {
	__u64 seq_num;
};

struct task_cputime {
	__u64 stime;
	__u64 utime;
	unsigned long long sum_exec_runtime;
};

struct cgroup_base_stat {
	struct task_cputime cputime;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup_subsys_state self;
	struct cgroup_base_stat bstat;
	struct cgroup_rstat_cpu *rstat_cpu;
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *ancestors[0];
};

struct cgroup___510 {
	__u64 ancestor_ids[0];
};

struct cgroup___616 {
	struct cgroup_rstat_base_cpu *rstat_base_cpu;
};

struct cgroup_rstat_base_cpu {
	struct cgroup_base_stat bstat;
};

struct cgroup_rstat_cpu {
	struct cgroup_base_stat bstat;
};

enum cgroup_subsys_id {
	io_cgrp_id = 3,
	memory_cgrp_id = 4,
	pids_cgrp_id = 11,
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct dentry {
	struct inode *d_inode;
};

struct drm_sched_job {
	struct drm_sched_fence *s_fence;
};

struct file {
	struct inode *f_inode;
};

struct inode {
	struct super_block *i_sb;
};

struct kernfs_node {
	__u64 id;
};

struct page_counter {
	atomic_long_t usage;
	unsigned long watermark;
	unsigned long max;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct page_counter swap;
	struct memcg_vmstats *vmstats;
};

enum memcg_stat_item {
	MEMCG_KMEM = 47,
	MEMCG_NR_STAT = 50,
};

struct memcg_vmstats {
	long state[50];
};

struct mm_rss_stat {
	atomic_long_t count[4];
};

struct mm_struct {
	unsigned long total_vm;
	unsigned long data_vm;
	unsigned long stack_vm;
	unsigned long def_flags;
};

struct rw_semaphore {
	atomic_long_t count;
};

struct mm_struct___lock {
	struct rw_semaphore mmap_lock;
};

struct mm_struct___510 {
	struct mm_rss_stat rss_stat;
};

struct percpu_counter {
	__s64 count;
};

struct mm_struct___62 {
	struct percpu_counter rss_stat[4];
};

enum node_stat_item {
	NR_ANON_MAPPED = 17,
	NR_FILE_PAGES = 19,
	NR_SHMEM = 23,
};

struct oom_control {
	struct mem_cgroup *memcg;
	struct task_struct *chosen;
};

struct pids_cgroup {
	struct cgroup_subsys_state css;
	atomic64_t counter;
	__s64 watermark;
};

/* the number of the system call a task is in, and arguments and result of calls */
struct pt_regs___x86 {
	unsigned long ax, di, si, dx, r10;
	unsigned long orig_ax;
};

struct pt_regs___arm {
	__u64 regs[31];
	int syscallno;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

struct super_block {
	__u32 s_dev;
};

struct task_struct {
	int pid;
	int tgid;
	char comm[16];
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct task_struct *real_parent;
	unsigned int flags;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct sched_entity se;
	struct sched_info sched_info;
};

struct vm_area_struct {
	struct mm_struct *vm_mm;
};

#pragma clang attribute pop

#endif
