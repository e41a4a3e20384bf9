/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem.bpf.c - the hooks that see the address spaces of jobs grow, and refuse or kill what
 * exceeds the limit of vmem.
 *
 * Tier 1 (trampolines) promises pages at the security_* calls that precede a growth, where a
 * refusal can still be returned, and enters the charge where the growth is done. Tier 2
 * (tracepoints) enters it when the mmap lock is released: everything that changes total_vm holds
 * that lock, so that one event sees every change, and a SIGKILL sent there arrives before the
 * caller touches the new pages. User space loads the programs of one tier.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/vmem_abi.h"
#include "bpf/vmem_core.h"
#include "bpf/vmem_call.h"
#include "bpf/vmem_op.h"
#include "bpf/vmem_refused.h"

#define EAGAIN 11
#define CLONE_VM 0x100
#define PF_FORKNOEXEC 0x40 /* forked, and no exec since */

char LICENSE[] SEC("license") = "GPL";

/* True: the address space is new, and entered. Without room for it the job is killed. */
INLINE bool enter_or_kill(struct mm_struct *mm, __u32 slot, struct op *op, struct excess *x)
{
	enum entry e = space_enter(mm, slot, x->task, op);

	if (e == ENTRY_NO_ROOM)
		kill_for_no_room(slot, x);
	return e == ENTRY_NEW;
}

/* Sets the charge of an address space that the current task has changed, and kills the job if
 * that has brought it over its limit. Returns the pages by which it has grown. `op` (NULL: none) is the call whose promise the growth
 * uses up. An address space without an entry is entered if it is the current task's own. */
INLINE __s64 sync_with(struct mm_struct *mm, struct task_struct *task, struct op *op,
		       __u32 kind, enum reading reading)
{
	struct excess x = { .op = kind, .task = task };
	struct vmem_space *space = space_of(mm);
	__s64 promised = op ? op->promised : 0, grown;
	__u32 slot;

	x.is_own = task->mm == mm;
	if (!space) {
		slot = x.is_own ? slot_of_current() : 0;
		if (!slot)
			return 0;
		if (!enter_or_kill(mm, slot, op, &x))
			return 0;
		grown = mm->total_vm;
		promised = op ? op->promised : 0;
		space = space_of(mm);
		if (!space)
			return grown;
	} else {
		grown = space_sync(space, mm, &promised, reading);
	}
	if (op)
		op->promised = promised;
	slot = slot_of_word(READ(space->used));
	if (grown <= 0 || !is_over_limit(slot))
		return grown;
	if (reading != READING_LOCKED && !is_charge_settled(space, mm))
		return grown;
	x.asked = grown;
	if (kind == VMEM_OP_OTHER && x.is_own)
		x.op = op_by_call(task);
	kill_if_over(slot, &x);
	return grown;
}

/* sync_with() for `mm`, which is not always the current task's: exec builds the stack of the new
 * program, and a tracer's access may grow the stack of another process. */
INLINE __s64 sync_own(struct mm_struct *mm, __u32 kind, enum reading reading)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm != mm)
		return sync_with(mm, task, (void *)0, kind, reading);
	if (is_outside(control_entry(), task))
		return 0;
	return sync_with(mm, task, op_of(task), kind, reading);
}

/* ---- tier 1: before the growth ---- */

SEC("?fmod_ret/security_mmap_file")
int BPF_PROG(mmap_check, void *file, unsigned long prot, unsigned long flags, int ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call call = {};
	struct op *op;

	if (ret || is_outside(control_entry(), task))
		return ret;
	call_of(task, &call);
	if (op_of_call(&call) != VMEM_OP_MMAP)
		return 0;
	op = op_begin(task, flags & MAP_FIXED ? VMEM_OP_MMAP_FIXED : VMEM_OP_MMAP,
		      pages_of_mmap(call.second, flags));
	/* MAP_FIXED may replace as much as it adds: it is compared when it is done. */
	return op && !(flags & MAP_FIXED) ? op_promise(op, op->pages) : 0;
}

/* These two name the call for growth_check, which learns the pages. */
SEC("?fentry/do_brk_flags")
int BPF_PROG(brk_begin)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_outside(control_entry(), task))
		op_begin(task, VMEM_OP_BRK, 0);
	return 0;
}

SEC("?fentry/expand_downwards")
int BPF_PROG(stack_begin)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_outside(control_entry(), task))
		op_begin(task, VMEM_OP_STACK, 0);
	return 0;
}

/* The kernel's own check before brk, stack growth, mremap and private writable mappings; also
 * before mprotect and tmpfs writes, which do not grow an address space. */
SEC("?fmod_ret/security_vm_enough_memory_mm")
int BPF_PROG(growth_check, struct mm_struct *mm, long pages, int ret)
{
	struct task_struct *task;
	struct op *op;

	if (ret)
		return ret;
	task = bpf_get_current_task_btf();
	if (is_outside(control_entry(), task))
		return 0;
	op = op_of(task);
	/* `op` may be of an earlier call that was refused before it did anything. */
	if ((!op || op->kind != VMEM_OP_MREMAP) && op_by_call(task) == VMEM_OP_MREMAP)
		op = op_begin(task, VMEM_OP_MREMAP, pages);
	if (!op || mm != task->mm || op->promised)
		return 0;
	if (op->kind == VMEM_OP_MMAP_FIXED)
		sync_own(mm, op->kind,
			 READING_LOCKED); /* what it replaces is unmapped by now */
	else if (op->kind != VMEM_OP_BRK && op->kind != VMEM_OP_STACK &&
		 op->kind != VMEM_OP_MREMAP)
		return 0;
	op->pages = pages;
	return op_promise(op, pages);
}

/* fork() copies the whole address space: its pages and one entry of the table are promised.
 * EAGAIN is what fork(2) documents for a limit on processes. */
SEC("?fmod_ret/security_task_alloc")
int BPF_PROG(fork_check, void *child, unsigned long flags, int ret)
{
	struct task_struct *task;
	struct mm_struct *mm;
	struct op *op;
	__s64 pages;

	if (ret || flags & CLONE_VM)
		return ret;
	task = bpf_get_current_task_btf();
	mm = task->mm;
	if (!mm || is_outside(control_entry(), task))
		return 0;
	pages = mm->total_vm;
	op = op_begin(task, VMEM_OP_FORK, pages);
	if (!op)
		return 0;
	op->has_room = room_enter(op->slot);
	return op->has_room ? op_promise(op, pages) : -EAGAIN;
}

/* ---- tier 1: the growth is done, the mmap lock still held ---- */

SEC("?fexit/mmap_region")
int BPF_PROG(mmap_done)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_OTHER, READING_LOCKED);
	return 0;
}

SEC("?fexit/do_brk_flags")
int BPF_PROG(brk_done)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_BRK, READING_LOCKED);
	op_end();
	return 0;
}

SEC("?fexit/expand_downwards")
int BPF_PROG(stack_done, struct vm_area_struct *vma)
{
	sync_own(vma->vm_mm, VMEM_OP_STACK, READING_LOCKED);
	op_end();
	return 0;
}

/* The child's address space, before its first instruction. The parent is the one to signal if
 * it is in the same job: with CLONE_INTO_CGROUP it may not be. */
INLINE void fork_enter(struct task_struct *child, struct op *op)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct excess x = { .op = VMEM_OP_FORK, .task = parent };
	struct mm_struct *mm = child->mm;
	__u32 slot = slot_of_cgroup(child->cgroups->dfl_cgrp);
	enum entry e;

	if (!slot || !mm || space_of(mm))
		return;
	e = space_enter(mm, slot, child, op);
	x.asked = mm->total_vm;
	x.is_own = slot_of_current() == slot;
	if (e == ENTRY_NO_ROOM)
		kill_for_no_room(slot, &x);
	if (e == ENTRY_NEW)
		kill_if_over(slot, &x);
}

/* `child` is what copy_process() returned: a task, or an error as a pointer. */
SEC("?fexit/copy_process")
int BPF_PROG(fork_done, void *pid, int trace, int node, void *args, struct task_struct *child)
{
	struct vmem_control *c = control_entry();
	struct op *op;

	if (!c || !c->n_jobs)
		return 0;
	op = op_of(bpf_get_current_task_btf());
	if (child && (unsigned long)child < (unsigned long)-4095)
		fork_enter(child, op);
	op_end();
	return 0;
}

/* ---- tier 1: shrinking, and what grew unseen ---- */

/* mremap() of what the kernel does not account (PROT_NONE, shared, files) has not passed
 * growth_check. Nothing can be refused here: an excess kills. */
INLINE struct op *remap_promise(struct task_struct *task, __s64 pages)
{
	struct excess x = { .op = VMEM_OP_MREMAP, .is_own = 1, .task = task, .asked = pages };
	struct op *op = op_of(task);
	struct vmem_job *job;

	if (op && op->kind == VMEM_OP_MREMAP && op->promised)
		return op; /* growth_check has promised it */
	op = op_begin(task, VMEM_OP_MREMAP, pages);
	job = op ? job_at(op->slot) : (void *)0;
	if (!job)
		return op;
	x.slot = op->slot;
	x.reached = promise_pages(op, job, pages);
	if (x.reached)
		latch_excess(job, &x);
	return op;
}

/* mremap() holds the mmap lock here and has just counted what it maps. Not later, at unmap_end:
 * the lock is released by then, another thread may be changing mappings, and a sum that is too
 * large could be a transient one. */
SEC("?fexit/vm_stat_account")
int BPF_PROG(remap_grown, struct mm_struct *mm, unsigned long flags, long counted)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vmem_space *space;
	struct call call = {};
	__s64 pages, promised;
	struct op *op;

	if (counted <= 0 || task->mm != mm || is_outside(control_entry(), task))
		return 0;
	call_of(task, &call);
	if (op_of_call(&call) != VMEM_OP_MREMAP)
		return 0;
	pages = pages_of_mremap(&call, counted);
	op = remap_promise(task, pages);
	space = space_of(mm);
	if (!op || !space)
		return 0;
	promised = op->promised;
	space_charge(space, mm, counted - pages, &promised, READING_LOCKED);
	op->promised = promised;
	op->is_entered = 1;
	return 0;
}

/* How total_vm is to be read at the end of `call`, whose lock is released. What brk and mremap
 * added has been entered under the lock by brk_done and remap_grown, and munmap adds nothing.
 * What is left: a 32-bit program (its numbers are others), and mremap on a kernel where
 * vm_stat_account() cannot be hooked. */
INLINE enum reading reading_after(const struct call *call, const struct op *op)
{
	__u32 kind = op_of_call(call);

	if (kind == VMEM_OP_BRK || is_munmap(call))
		return READING_UNLOCKED;
	if (kind == VMEM_OP_MREMAP &&
	    ((op && op->is_entered) || pages_of_mremap(call, pages_of(call->third)) <= 0))
		return READING_UNLOCKED;
	return READING_UNLOCKED_GROWN;
}

/* The kernel calls this function at the end of mmap, munmap, brk and mremap, with the mmap lock
 * released, whether userfaultfd is used or not. What mmap did has been entered under the lock. */
SEC("?fentry/userfaultfd_unmap_complete")
int BPF_PROG(unmap_end, struct mm_struct *mm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call call = {};
	struct op *op;

	if (task->mm == mm && is_outside(control_entry(), task))
		return 0;
	op = op_of(task);
	call_of(task, &call);
	if (op_of_call(&call) != VMEM_OP_MMAP)
		sync_with(mm, task, task->mm == mm ? op : (void *)0, VMEM_OP_OTHER,
			  reading_after(&call, op));
	op_drop(op);
	return 0;
}

/* The one way to unmap that does not end in userfaultfd_unmap_complete(). The lock is released
 * here too, and shmdt() grows nothing. */
SEC("?fexit/ksys_shmdt")
int BPF_PROG(shmdt_done)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_OTHER, READING_UNLOCKED);
	return 0;
}

/* A promise made to a call that another security module then refused ends with the task's next
 * call, here at the latest. */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(task_gone, struct task_struct *task)
{
	op_end();
	return 0;
}

/* The last user of the address space is gone; it still counts all that it mapped. */
SEC("?fentry/exit_mmap")
int BPF_PROG(exit_done, struct mm_struct *mm)
{
	space_leave(mm);
	return 0;
}

/* ---- tier 2 ---- */

/* Not inlined: what all processes of the node run through stays short. */
static __noinline int lock_sync(struct mm_struct *mm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool is_own = task->mm == mm;

	if (!sync_with(mm, task, (void *)0, VMEM_OP_OTHER, READING_LOCKED) && is_own)
		refusal_seen(mm, task);
	return 0;
}

/* Most frequent of all hooks: it fires for every process of the node. */
SEC("?tp_btf/mmap_lock_released")
int BPF_PROG(lock_released, struct mm_struct *mm)
{
	struct vmem_control *c = control_entry();
	struct task_struct *task;

	if (!c || !c->n_jobs)
		return 0;
	task = bpf_get_current_task_btf();
	if (task->mm == mm ? is_outside(c, task) : !space_of(mm))
		return 0;
	return lock_sync(mm);
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(fork_seen, struct task_struct *parent, struct task_struct *child)
{
	struct vmem_control *c = control_entry();

	if (c && c->n_jobs)
		fork_enter(child, (void *)0);
	return 0;
}

/* Kernels from 6.13 on have a function that signals another task: the child is killed before its
 * first instruction, too. Attached after fork_seen, which may have latched the excess. */
enum pid_type { PIDTYPE_PID, PIDTYPE_TGID };
extern int bpf_send_signal_task(struct task_struct *task, int sig, enum pid_type type,
				__u64 value) __ksym __weak;

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(fork_kill, struct task_struct *parent, struct task_struct *child)
{
	struct vmem_control *c = control_entry();
	struct vmem_job *job;

	if (!c || !c->n_jobs)
		return 0;
	job = job_at(slot_of_cgroup(child->cgroups->dfl_cgrp));
	if (job && READ(job->latch.state) == VMEM_X_KILLED)
		bpf_send_signal_task(child, SIGKILL, PIDTYPE_TGID, 0);
	return 0;
}

SEC("?tp_btf/exit_mmap")
int BPF_PROG(exit_seen, struct mm_struct *mm)
{
	space_leave(mm);
	return 0;
}

/* ---- both tiers ---- */

/* A new program: a new address space (vfork's child gets its first here) and a new name. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(exec_seen, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct vmem_space *space;

	if (!mm)
		return 0;
	sync_own(mm, VMEM_OP_EXEC, READING_LOCKED);
	space = space_of(mm);
	if (space)
		space_name(space, task);
	return 0;
}

/* A task that slurmd, or a PAM module, has forked and put into the job, and that has not executed a program of the job yet: its address space is
 * still a copy of that daemon's. A process that the job itself has forked has its parent in the job. */
INLINE bool is_before_exec(struct task_struct *task, __u32 slot)
{
	struct vmem_job *job = job_at(slot);

	return job && job->is_parted && (task->flags & PF_FORKNOEXEC) &&
	       slot_of_cgroup(task->real_parent->cgroups->dfl_cgrp) != slot;
}

/* Charges the address space of `task` to the job of `slot`; 0: to none. Whichever job it was in
 * before. Its threads run meanwhile: a sum that one of them is just changing kills nothing here;
 * if it stays over the limit, the job's next growth is refused or kills. */
INLINE void move_to(struct mm_struct *mm, struct task_struct *task, __u32 slot)
{
	struct vmem_space *space = space_of(mm);
	struct excess x = { .op = VMEM_OP_ATTACH, .task = task };
	__s64 none = 0;

	if (!space) {
		if (!slot || !enter_or_kill(mm, slot, (void *)0, &x))
			return;
		space = space_of(mm);
		if (!space)
			return;
	}
	space_move(space, slot);
	space_sync(space, mm, &none, READING_UNLOCKED);
	x.asked = mm->total_vm;
	if (is_charge_settled(space, mm))
		kill_if_over(slot, &x);
}

/* The current task is the process that moves `task`, not `task`: no signal is sent, the agent
 * gets an event. A task without a memory may be a main thread that has exited: the others have
 * one, and only the audit finds them. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(attach_seen, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct vmem_control *c = control_entry();
	struct mm_struct *mm;
	__u32 slot;

	if (!c || !c->n_jobs)
		return 0;
	slot = slot_of_cgroup(to);
	mm = task->mm;
	if (mm && is_before_exec(task, slot))
		space_enter_uncharged(mm, task);
	else if (mm)
		move_to(mm, task, slot);
	else if (slot)
		send_event(VMEM_EVENT_AUDIT, slot);
	return 0;
}

/* Counts one cgroup from the task list, without the hooks: every address space once, through any
 * thread that has it. With audit_slot it enters what is missing. */
SEC("?iter/task")
int audit(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct vmem_control *c = control_entry();
	struct mm_struct *mm;
	struct cgroup *cg;
	__u8 one = 1;
	__u64 key;
	int rc; /* not long: see space_enter() */

	if (!task || !c)
		return 0;
	mm = task->mm;
	cg = task->cgroups->dfl_cgrp;
	if (!mm || (__u32)cg->level < c->audit_level ||
	    find_ancestor_id(cg, c->audit_level) != c->audit_cgroup_id)
		return 0;
	key = (__u64)mm;
	rc = bpf_map_update_elem(&seen, &key, &one, BPF_NOEXIST);
	if (rc && rc != -EEXIST)
		c->audit_failed = 1;
	if (rc)
		return 0;
	if (is_before_exec(task, slot_of_cgroup(cg))) {
		space_enter_uncharged(mm, task);
		return 0;
	}
	c->audit_pages += mm->total_vm;
	c->audit_spaces++;
	if (!c->audit_slot)
		return 0;
	move_to(mm, task, c->audit_slot);
	/* The task exited while the entry was made: no other event would remove it. */
	if (task->mm != mm)
		space_leave(mm);
	return 0;
}
