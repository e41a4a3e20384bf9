/* vmem_maps.h - what the vmem programs keep; see bpf/vmem_abi.h for what user space reads of
 * it. */
#pragma once

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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMEM_MAX_JOBS);
	__type(key, __u64); /* cgroup id */
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

struct {
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

/* What the calling task has in hand: the kind of call and the pages promised to it. */
struct op {
	__u32 kind;
	__u32 slot;
	__s64 pages;	/* asked for */
	__s64 promised; /* <= pages; belongs to `slot` */
	__u64 has_room; /* for one more address space of `slot` */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct op);
} ops SEC(".maps");

#define INLINE static __always_inline

INLINE struct vmem_control *state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

INLINE struct vmem_job *job_at(__u32 slot)
{
	return slot ? bpf_map_lookup_elem(&jobs, &slot) : (void *)0;
}
