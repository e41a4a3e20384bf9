/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_maps.h - the maps of the vmem programs; bpf/vmem_abi.h has the types of those that user
 * space reads. User space sets the sizes of `spaces` and `seen` before loading. */
#pragma once

/* One load from memory that other CPUs write. */
#define READ(x) (*(volatile typeof(x) *)&(x))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VMEM_MAX_JOBS);
	__type(key, __u32);
	__type(value, struct vmem_job);
} jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vmem_control);
} control SEC(".maps");

struct { /* cgroup id of a job -> its slot in `jobs` */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMEM_MAX_JOBS);
	__type(key, __u64);
	__type(value, __u32);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64); /* address of the mm_struct */
	__type(value, struct vmem_space);
} spaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct vmem_gone_key);
	__type(value, struct vmem_gone);
} gone SEC(".maps");

struct { /* address spaces that the audit under way has counted */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u8);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

/* The call that a task is in, and what is promised to it. */
struct op {
	__u32 kind;
	__u32 slot;
	__s64 pages;	  /* asked for */
	__s64 promised;	  /* <= pages; belongs to `slot` */
	__u32 has_room;	  /* for one more address space of `slot` */
	__u32 is_entered; /* mremap: its growth is in the charge */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct op);
} ops SEC(".maps");

#define INLINE static __always_inline

INLINE struct vmem_control *control_entry(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

INLINE struct vmem_job *job_at(__u32 slot)
{
	return slot ? bpf_map_lookup_elem(&jobs, &slot) : (void *)0;
}
