/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu_abi.h - what gpu.bpf.c and agent/gpu/allocs.c agree on. Types and constants only. */
#ifndef REEVE_GPU_ABI_H
#define REEVE_GPU_ABI_H

#define GPU_ALLOCS_MAX (1 << 18) /* that stand at a time, of the whole node */
#define GPU_PROCESSES_MAX 16384

struct gpu_alloc { /* key */
	__u64 address;
	__u32 tgid, pad;
};
_Static_assert(sizeof(struct gpu_alloc) == 16, "kernel/user ABI");

struct gpu_allocs { /* a process */
	__u64 bytes, peak_bytes, n_allocs, n_frees;
	__u64 n_lost; /* allocations for which there was no room here */
};
_Static_assert(sizeof(struct gpu_allocs) == 40, "kernel/user ABI");

#endif
