/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu.bpf.c - counts GPU memory as processes allocate it: uprobes on the CUDA driver library's
 * own functions, which every framework calls in the end. Attached only where the site asks for
 * it.
 *
 * An allocation is known by process and address; its bytes are subtracted when that address is
 * freed. What a process had allocated before the probes were attached is not known, and its
 * free changes nothing.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "bpf/gpu_abi.h"

struct asked {	  /* between the call and its return */
	__u64 to; /* where the address is put */
	__u64 bytes;
};

struct { /* by thread */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct asked);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, GPU_ALLOCS_MAX);
	__type(key, struct gpu_alloc);
	__type(value, __u64);
} allocs SEC(".maps");

struct { /* by process */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, GPU_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct gpu_allocs);
} processes SEC(".maps");

/* Arguments and result of a probed function, by the calling conventions of x86-64 and arm64. */
static __always_inline __u64 first_argument(void *ctx)
{
	struct pt_regs___x86 *x = ctx;
	struct pt_regs___arm *a = ctx;

	return bpf_core_field_exists(x->di) ? BPF_CORE_READ(x, di) : BPF_CORE_READ(a, regs[0]);
}

static __always_inline __u64 second_argument(void *ctx)
{
	struct pt_regs___x86 *x = ctx;
	struct pt_regs___arm *a = ctx;

	return bpf_core_field_exists(x->si) ? BPF_CORE_READ(x, si) : BPF_CORE_READ(a, regs[1]);
}

static __always_inline __u64 return_value(void *ctx)
{
	struct pt_regs___x86 *x = ctx;
	struct pt_regs___arm *a = ctx;

	return bpf_core_field_exists(x->ax) ? BPF_CORE_READ(x, ax) : BPF_CORE_READ(a, regs[0]);
}

static __always_inline struct gpu_allocs *process_of(__u32 tgid)
{
	struct gpu_allocs none = { 0 }, *p = bpf_map_lookup_elem(&processes, &tgid);

	if (p)
		return p;
	bpf_map_update_elem(&processes, &tgid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&processes, &tgid);
}

SEC("uprobe")
int gpu_alloc_call(void *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct asked a = { first_argument(ctx), second_argument(ctx) };

	bpf_map_update_elem(&calls, &thread, &a, BPF_ANY);
	return 0;
}

SEC("uretprobe")
int gpu_alloc_return(void *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid(), now, bytes;
	struct asked *a = bpf_map_lookup_elem(&calls, &thread);
	struct gpu_alloc key = { .tgid = thread >> 32 };
	struct gpu_allocs *p;

	if (!a)
		return 0;
	bytes = a->bytes;
	if ((__u32)return_value(ctx) != 0 ||
	    bpf_probe_read_user(&key.address, sizeof(key.address), (void *)a->to) < 0) {
		bpf_map_delete_elem(&calls, &thread);
		return 0;
	}
	bpf_map_delete_elem(&calls, &thread);
	p = process_of(key.tgid);
	if (!p)
		return 0;
	if (bpf_map_update_elem(&allocs, &key, &bytes, BPF_ANY) < 0) {
		__sync_fetch_and_add(&p->n_lost, 1);
		return 0;
	}
	__sync_fetch_and_add(&p->n_allocs, 1);
	now = __sync_fetch_and_add(&p->bytes, bytes) + bytes;
	if (now > p->peak_bytes) /* two threads at once may leave the smaller of two peaks */
		p->peak_bytes = now;
	return 0;
}

SEC("uprobe")
int gpu_free_call(void *ctx)
{
	struct gpu_alloc key = { .address = first_argument(ctx),
				 .tgid = bpf_get_current_pid_tgid() >> 32 };
	__u64 *bytes = bpf_map_lookup_elem(&allocs, &key), was;
	struct gpu_allocs *p = process_of(key.tgid);

	if (!bytes || !p)
		return 0;
	was = *bytes;
	if (bpf_map_delete_elem(&allocs, &key) < 0) /* another thread freed it */
		return 0;
	__sync_fetch_and_add(&p->n_frees, 1);
	__sync_fetch_and_add(&p->bytes, -was);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
