/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_op.h - tier 1: the call that a task is in, from the check before it grows to its end, and what is promised to it
 * meanwhile. */
#pragma once
#include "bpf/vmem_core.h"

#define ENOMEM 12

INLINE struct op *op_of(struct task_struct *task)
{
	return bpf_task_storage_get(&ops, task, 0, 0);
}

/* Begins a call of the current task, which is not outside, and ends what an earlier call that failed on the way left
 * promised. Returns NULL when the task is in no job, or its storage cannot be allocated: the
 * growth is then seen when it is done. */
INLINE struct op *op_begin(struct task_struct *task, __u32 kind, __s64 pages)
{
	struct vmem_space *space;
	struct op *op;
	__u32 slot;

	if (!task->mm)
		return (void *)0;
	space = space_of(task->mm);
	slot = space ? slot_of_word(READ(space->used)) : slot_of_current();
	if (!slot)
		return (void *)0;
	op = bpf_task_storage_get(&ops, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!op)
		return op;
	promise_end(op);
	room_end(op);
	op->kind = kind;
	op->slot = slot;
	op->pages = pages;
	op->is_entered = 0;
	return op;
}

INLINE void op_drop(struct op *op)
{
	if (!op || !op->kind)
		return;
	promise_end(op);
	room_end(op);
	op->kind = VMEM_OP_NONE;
}

INLINE void op_end(void)
{
	op_drop(op_of(bpf_get_current_task_btf()));
}

/* Returns 0 when `pages` are promised to the call, -ENOMEM when they would exceed the limit or
 * the job is being killed. */
INLINE int op_promise(struct op *op, __s64 pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vmem_job *job = job_at(op->slot);
	struct excess x = { .op = op->kind, .is_refused = 1, .is_own = 1, .task = task };

	if (!job)
		return 0;
	if (READ(job->latch.state) == VMEM_X_KILLED)
		x.reached = READ(job->held_pages) + pages;
	else
		x.reached = promise_pages(op, job, pages);
	if (!x.reached)
		return 0;
	x.slot = op->slot;
	x.asked = pages;
	latch_excess(job, &x);
	return -ENOMEM;
}
