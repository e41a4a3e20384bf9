/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_call.h - by how many pages the system call that a task is in grows. */
#pragma once
#include "bpf/lib/call.h"

#define MAP_HUGETLB 0x40000
#define MAP_HUGE_SHIFT 26
#define MREMAP_DONTUNMAP 4

const volatile __u32 page_shift = 12; /* set by user space */

/* The numbers are those of x86-64 and arm64. A 32-bit program has others: its growth is not
 * refused beforehand but counted when it is done. */
INLINE __u32 op_of_call(const struct call *call)
{
	int nr = call->nr;

	if (nr == -1)
		return VMEM_OP_STACK;
	if (nr == (call->is_x86 ? 9 : 222))
		return VMEM_OP_MMAP;
	if (nr == (call->is_x86 ? 12 : 214))
		return VMEM_OP_BRK;
	if (nr == (call->is_x86 ? 25 : 216))
		return VMEM_OP_MREMAP;
	if (nr == (call->is_x86 ? 30 : 196))
		return VMEM_OP_SHMAT;
	return VMEM_OP_OTHER;
}

/* munmap() of a 64-bit program, numbered as in op_of_call(). */
INLINE bool is_munmap(const struct call *call)
{
	return call->nr == (call->is_x86 ? 11 : 215);
}

INLINE __u32 op_by_call(struct task_struct *task)
{
	struct call call = {};

	call_of(task, &call);
	return op_of_call(&call);
}

INLINE __s64 pages_of(__u64 bytes)
{
	return (bytes + (1ULL << page_shift) - 1) >> page_shift;
}

/* Pages that mmap(len, flags) will map: with MAP_HUGETLB whole huge pages. */
INLINE __s64 pages_of_mmap(__u64 len, unsigned long flags)
{
	__u64 shift = flags >> MAP_HUGE_SHIFT & 63;

	if (flags & MAP_HUGETLB) {
		if (!shift)
			shift = 21;
		len = (len + (1ULL << shift) - 1) >> shift << shift;
	}
	return pages_of(len);
}

/* The pages by which mremap() grows an address space in the end. A mapping that moves is
 * counted twice for a moment: `counted` is then all of the new one. */
INLINE __s64 pages_of_mremap(const struct call *call, __s64 counted)
{
	__s64 old = pages_of(call->second), now = pages_of(call->third);

	if (counted < now || !old || call->fourth & MREMAP_DONTUNMAP)
		return counted;
	return now > old ? now - old : 0;
}
