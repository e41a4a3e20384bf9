/* vmem.bpf.c - see the growth of every job's address spaces, and refuse what exceeds.
 *
 * Tier 1 (trampolines) promises pages at the security_* calls that precede a growth, where a
 * refusal can still be returned, and enters the charge where the growth is done. Tier 2
 * (tracepoints) enters it when the mmap lock is let go: everything that changes total_vm holds
 * that lock, so that one event sees every change, and a SIGKILL sent there arrives before the
 * caller touches the new pages. User space loads the programs of one tier.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/vmem_abi.h"
#include "bpf/vmem_core.h"

#define ENOMEM 12
#define MAP_FIXED 0x10
#define CLONE_VM 0x100

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 page_shift = 12; /* set by user space */

INLINE struct op *op_of(struct task_struct *task)
{
	return bpf_task_storage_get(&ops, task, 0, 0);
}

/* Begin a call of the current task if it is in a job. */
INLINE void op_begin(__u32 kind, __s64 pages)
{
	struct task_struct *task;
	__u32 slot = slot_of_current();
	struct op *op;

	if (!slot)
		return;
	task = bpf_get_current_task_btf();
	op = bpf_task_storage_get(&ops, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!op)
		return;
	promise_end(op);
	op->kind = kind;
	op->slot = slot;
	op->pages = pages;
}

INLINE void op_end_of(__u32 kind)
{
	struct op *op = op_of(bpf_get_current_task_btf());

	if (!op || op->kind != kind)
		return;
	promise_end(op);
	op->kind = VMEM_OP_NONE;
}

INLINE void op_end(void)
{
	struct op *op = op_of(bpf_get_current_task_btf());

	if (!op || !op->kind)
		return;
	promise_end(op);
	op->kind = VMEM_OP_NONE;
}

/* 0, or -ENOMEM after blaming the caller. */
INLINE int op_promise(struct op *op, __s64 pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vmem_job *job = job_at(op->slot);
	struct blame b = { .op = op->kind, .is_refused = 1, .is_own = 1, .who = task };

	if (!job)
		return 0;
	if (READ(job->latch.state) == VMEM_X_KILLED)
		b.reached = READ(job->held_pages) + pages;
	else
		b.reached = promise(op, job, pages);
	if (!b.reached)
		return 0;
	b.slot = op->slot;
	b.asked = pages;
	excess(job, &b);
	return -ENOMEM;
}

/* Which call the task is in, by its number on x86-64 and arm64; -1 is a page fault. */
INLINE __u32 op_by_call(struct task_struct *task)
{
	void *regs = (void *)bpf_task_pt_regs(task);
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm *arm = regs;
	int nr;

	if (bpf_core_field_exists(x86->orig_ax)) {
		STAY(x86);
		nr = BPF_CORE_READ(x86, orig_ax);
		return nr == 9	  ? VMEM_OP_MMAP
		       : nr == 12 ? VMEM_OP_BRK
		       : nr == 25 ? VMEM_OP_MREMAP
		       : nr == 30 ? VMEM_OP_SHMAT
		       : nr == -1 ? VMEM_OP_STACK
				  : VMEM_OP_OTHER;
	}
	if (bpf_core_field_exists(arm->syscallno)) {
		STAY(arm);
		nr = BPF_CORE_READ(arm, syscallno);
		return nr == 222   ? VMEM_OP_MMAP
		       : nr == 214 ? VMEM_OP_BRK
		       : nr == 216 ? VMEM_OP_MREMAP
		       : nr == 196 ? VMEM_OP_SHMAT
		       : nr == -1  ? VMEM_OP_STACK
				   : VMEM_OP_OTHER;
	}
	return VMEM_OP_OTHER;
}

/* Enter the charge of an address space the current task has changed. */
INLINE void sync_own(struct mm_struct *mm, __u32 kind, bool may_judge)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct blame b = { .op = kind, .who = task };
	struct vmem_space *space;
	__s64 promised = 0, grown;
	struct op *op = (void *)0;
	__u32 slot;

	b.is_own = task->mm == mm;
	if (b.is_own && is_outside(state(), task))
		return;
	space = space_of(mm);
	if (b.is_own)
		op = op_of(task);
	if (op)
		promised = op->promised;
	if (!space) {
		slot = b.is_own ? slot_of_current() : 0;
		if (!slot || !space_enter(mm, slot, task, promised))
			return;
		grown = mm->total_vm;
		promised = 0;
		space = space_of(mm);
		if (!space)
			return;
	} else {
		grown = space_sync(space, mm, &promised);
	}
	if (op)
		op->promised = promised;
	if (grown > 0 && may_judge) {
		b.asked = grown;
		if (kind == VMEM_OP_OTHER && b.is_own)
			b.op = op_by_call(task);
		judge(slot_of_word(READ(space->used)), &b);
	}
}

/* Is somebody in the middle of changing the mappings? Then total_vm may be a passing value. */
INLINE bool is_changing(struct mm_struct *mm)
{
	struct mm_struct___lock *m = (void *)mm;

	if (!bpf_core_field_exists(m->mmap_lock.count))
		return false;
	return BPF_CORE_READ(m, mmap_lock.count.counter) & 1;
}

INLINE __s64 pages_of(__u64 bytes)
{
	return (bytes + (1ULL << page_shift) - 1) >> page_shift;
}

/* ---- tier 1: before the growth ---- */

SEC("?fentry/vm_mmap_pgoff")
int BPF_PROG(mmap_begin, void *file, unsigned long addr, unsigned long len)
{
	op_begin(VMEM_OP_MMAP, pages_of(len));
	return 0;
}

SEC("?fmod_ret/security_mmap_file")
int BPF_PROG(mmap_check, void *file, unsigned long prot, unsigned long flags, int ret)
{
	struct op *op;

	if (ret)
		return ret;
	op = op_of(bpf_get_current_task_btf());
	if (!op || op->kind != VMEM_OP_MMAP)
		return 0;
	if (flags & MAP_FIXED) { /* may replace as much as it adds: judged when it is done */
		op->kind = VMEM_OP_MMAP_FIXED;
		return 0;
	}
	return op_promise(op, op->pages);
}

SEC("?fexit/vm_mmap_pgoff")
int BPF_PROG(mmap_end)
{
	op_end();
	return 0;
}

SEC("?fentry/do_brk_flags")
int BPF_PROG(brk_begin)
{
	op_begin(VMEM_OP_BRK, 0);
	return 0;
}

SEC("?fentry/expand_downwards")
int BPF_PROG(stack_begin)
{
	op_begin(VMEM_OP_STACK, 0);
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
	op = op_of(task);
	if ((!op || op->kind == VMEM_OP_NONE) && op_by_call(task) == VMEM_OP_MREMAP) {
		op_begin(VMEM_OP_MREMAP, pages);
		op = op_of(task);
	}
	if (!op || mm != task->mm || op->promised)
		return 0;
	if (op->kind == VMEM_OP_MMAP_FIXED)
		sync_own(mm, op->kind, false); /* what it replaces is unmapped by now */
	else if (op->kind != VMEM_OP_BRK && op->kind != VMEM_OP_STACK &&
		 op->kind != VMEM_OP_MREMAP)
		return 0;
	op->pages = pages;
	return op_promise(op, pages);
}

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
	if (!mm)
		return 0;
	pages = mm->total_vm;
	op_begin(VMEM_OP_FORK, pages);
	op = op_of(task);
	if (!op || op->kind != VMEM_OP_FORK)
		return 0;
	return op_promise(op, pages);
}

/* ---- tier 1: the growth is done, the mmap lock still held ---- */

SEC("?fexit/mmap_region")
int BPF_PROG(mmap_done)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_OTHER, true);
	return 0;
}

SEC("?fexit/do_brk_flags")
int BPF_PROG(brk_done)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_BRK, true);
	op_end();
	return 0;
}

SEC("?fexit/expand_downwards")
int BPF_PROG(stack_done, struct vm_area_struct *vma)
{
	sync_own(vma->vm_mm, VMEM_OP_STACK, true);
	op_end();
	return 0;
}

INLINE void fork_enter(struct task_struct *child, struct op *op)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct blame b = { .op = VMEM_OP_FORK, .who = parent };
	struct mm_struct *mm = child->mm;
	__u32 slot = slot_of_cgroup(child->cgroups->dfl_cgrp);
	__s64 promised = op && op->slot == slot ? op->promised : 0;

	if (!slot || !mm || space_of(mm) || !space_enter(mm, slot, child, promised))
		return;
	if (promised)
		op->promised = 0;
	b.asked = mm->total_vm;
	b.is_own = slot_of_current() == slot;
	judge(slot, &b);
}

SEC("?fexit/copy_process")
int BPF_PROG(fork_done, void *pid, int trace, int node, void *args, struct task_struct *child)
{
	struct vmem_control *c = state();
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

SEC("?fexit/do_mas_munmap")
int BPF_PROG(unmap_done)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_OTHER, true);
	return 0;
}

SEC("?fexit/vms_complete_munmap_vmas")
int BPF_PROG(unmap_done_612)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_OTHER, true);
	return 0;
}

/* The end of munmap, brk and mremap, the mmap lock already let go. */
SEC("?fentry/userfaultfd_unmap_complete")
int BPF_PROG(unmap_end, struct mm_struct *mm)
{
	bool may_judge = !is_changing(mm);

	sync_own(mm, VMEM_OP_OTHER, may_judge && !is_changing(mm));
	op_end_of(VMEM_OP_MREMAP);
	return 0;
}

SEC("?fentry/exit_mmap")
int BPF_PROG(exit_done, struct mm_struct *mm)
{
	space_leave(mm);
	return 0;
}

/* ---- tier 2 ---- */

SEC("?tp_btf/mmap_lock_released")
int BPF_PROG(lock_released, struct mm_struct *mm)
{
	struct vmem_control *c = state();
	struct task_struct *task;

	if (!c || !c->n_jobs)
		return 0;
	task = bpf_get_current_task_btf();
	if (task->mm != mm && !space_of(mm))
		return 0;
	sync_own(mm, VMEM_OP_OTHER, true);
	return 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(fork_seen, struct task_struct *parent, struct task_struct *child)
{
	struct vmem_control *c = state();

	if (c && c->n_jobs)
		fork_enter(child, (void *)0);
	return 0;
}

/* Kernels from 6.13 on let the newborn be killed before its first instruction, too. Attached
 * after fork_seen, which has judged. */
enum pid_type { PIDTYPE_PID, PIDTYPE_TGID };
extern int bpf_send_signal_task(struct task_struct *task, int sig, enum pid_type type,
				__u64 value) __ksym __weak;

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(fork_kill, struct task_struct *parent, struct task_struct *child)
{
	struct vmem_control *c = state();
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

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(exec_seen, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct vmem_space *space;

	if (!mm)
		return 0;
	sync_own(mm, VMEM_OP_EXEC, true);
	space = space_of(mm);
	if (space)
		space_name(space, task);
	return 0;
}

INLINE void move_to(struct mm_struct *mm, struct task_struct *task, __u32 slot)
{
	struct vmem_space *space = space_of(mm);
	struct blame b = { .op = VMEM_OP_ATTACH, .who = task };
	__s64 none = 0;

	if (!space) {
		if (!slot || !space_enter(mm, slot, task, 0))
			return;
		space = space_of(mm);
		if (!space)
			return;
	}
	space_move(space, slot);
	space_sync(space, mm, &none);
	b.asked = mm->total_vm;
	judge(slot, &b);
}

/* The mover runs here, not the moved: nobody is signalled, the agent is told. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(attach_seen, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct vmem_control *c = state();
	struct mm_struct *mm;
	__u32 slot;

	if (!c || !c->n_jobs)
		return 0;
	slot = slot_of_cgroup(to);
	mm = task->mm;
	if (mm)
		move_to(mm, task, slot);
	else if (slot)
		tell(VMEM_EVENT_AUDIT, slot);
	return 0;
}

/* The truth, from the task list: every address space once, through any thread that has it. */
SEC("?iter/task")
int audit(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct vmem_control *c = state();
	struct mm_struct *mm;
	struct cgroup *cg;
	__u8 one = 1;
	__u64 key;

	if (!task || !c)
		return 0;
	mm = task->mm;
	cg = task->cgroups->dfl_cgrp;
	if (!mm || (__u32)cg->level < c->audit_level ||
	    ancestor_id(cg, c->audit_level) != c->audit_cgroup_id)
		return 0;
	key = (__u64)mm;
	if (bpf_map_update_elem(&seen, &key, &one, BPF_NOEXIST))
		return 0;
	c->audit_pages += mm->total_vm;
	c->audit_spaces++;
	if (!c->audit_slot)
		return 0;
	move_to(mm, task, c->audit_slot);
	if (task->mm != mm) /* it left while we entered it: nobody else would take it out */
		space_leave(mm);
	return 0;
}
