/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.h - the system call that a task is in, and its arguments. Kernel side only; from 5.15 on. */
#ifndef REEVE_BPF_CALL_H
#define REEVE_BPF_CALL_H

#include "bpf/lib/ancestor.h"

struct call {
	int is_x86;		     /* else arm64 */
	int nr;			     /* -1: a page fault or another exception */
	__u64 second, third, fourth; /* arguments */
};

static __always_inline void call_of(struct task_struct *task, struct call *call)
{
	void *regs = (void *)bpf_task_pt_regs(task);
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm *arm = regs;

	call->is_x86 = bpf_core_field_exists(x86->orig_ax);
	call->nr = 0;
	if (call->is_x86) {
		STAY_IN_BRANCH(x86);
		call->nr = x86->orig_ax;
		call->second = x86->si;
		call->third = x86->dx;
		call->fourth = x86->r10;
	} else if (bpf_core_field_exists(arm->syscallno)) {
		STAY_IN_BRANCH(arm);
		call->nr = arm->syscallno;
		call->second = arm->regs[1];
		call->third = arm->regs[2];
		call->fourth = arm->regs[3];
	}
}

#endif
