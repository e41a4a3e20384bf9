/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_refused.h - tier 2: a call of a job that the kernel itself has refused. Included by vmem.bpf.c, after vmem_core.h and vmem_call.h. */
#pragma once

#define MAP_FIXED 0x10
#define MAP_POPULATE 0x8000
#define VM_LOCKED 0x2000

/* The pages that mmap() or mremap() would have added if it had not failed; 0: the current task is in no such call, or one
 * that may change nothing and succeed: in place of another mapping, or the second time that a call which also faults the
 * pages in releases the lock. */
INLINE __s64 pages_wanted(struct mm_struct *mm, struct task_struct *task, __u32 *op)
{
	struct call call = {};

	call_of(task, &call);
	*op = op_of_call(&call);
	if (mm->def_flags & VM_LOCKED)
		return 0;
	if (*op == VMEM_OP_MMAP && !(call.fourth & (MAP_FIXED | MAP_POPULATE)))
		return pages_of_mmap(call.second, call.fourth);
	if (*op == VMEM_OP_MREMAP)
		return pages_of_mremap(&call, pages_of(call.third));
	return 0;
}

/* Nothing can be refused here, but RLIMIT_AS, which is above the limit, refuses what is far above it: a call that would have
 * exceeded the limit and has added nothing has failed. */
INLINE void refusal_seen(struct mm_struct *mm, struct task_struct *task)
{
	struct excess x = { .is_refused = 1, .is_harmless = 1, .task = task };
	struct vmem_space *space = space_of(mm);
	struct vmem_job *job;

	x.asked = space ? pages_wanted(mm, task, &x.op) : 0;
	if (x.asked <= 0 || !space)
		return;
	x.slot = slot_of_word(READ(space->used));
	job = job_at(x.slot);
	if (!job || !READ(job->limit_pages))
		return;
	x.reached = READ(job->used_pages) + x.asked;
	if (x.reached > READ(job->limit_pages))
		latch_excess(job, &x);
}
