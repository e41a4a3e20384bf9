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
#define MAP_HUGETLB 0x40000
#define MAP_HUGE_SHIFT 26
#define CLONE_VM 0x100

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 page_shift = 12; /* set by user space */

INLINE struct op *op_of(struct task_struct *task)
{
	return bpf_task_storage_get(&ops, task, 0, 0);
}

/* Begin a call of the current task if it is in a job. */
INLINE struct op *op_begin(struct task_struct *task, __u32 kind, __s64 pages)
{
	struct vmem_space *space;
	struct op *op;
	__u32 slot;

	if (!task->mm || is_outside(state(), task))
		return (void *)0;
	space = space_of(task->mm);
	slot = space ? slot_of_word(READ(space->used)) : slot_of_current();
	if (!slot)
		return (void *)0;
	op = bpf_task_storage_get(&ops, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!op)
		return op;
	promise_end(op);
	op->kind = kind;
	op->slot = slot;
	op->pages = pages;
	return op;
}

INLINE void op_drop(struct op *op)
{
	if (!op || !op->kind)
		return;
	promise_end(op);
	op->kind = VMEM_OP_NONE;
}

INLINE void op_end(void)
{
	op_drop(op_of(bpf_get_current_task_btf()));
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

/* The system call a task is in; -1 is a page fault. */
struct call {
	int is_x86; /* else arm64 */
	int nr;
	__u64 second; /* argument */
};

INLINE void call_of(struct task_struct *task, struct call *call)
{
	void *regs = (void *)bpf_task_pt_regs(task);
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm *arm = regs;

	call->is_x86 = bpf_core_field_exists(x86->orig_ax);
	call->nr = 0;
	if (call->is_x86) {
		STAY(x86);
		call->nr = x86->orig_ax;
		call->second = x86->si;
	} else if (bpf_core_field_exists(arm->syscallno)) {
		STAY(arm);
		call->nr = arm->syscallno;
		call->second = arm->regs[1];
	}
}

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

INLINE __u32 op_by_call(struct task_struct *task)
{
	struct call call = {};

	call_of(task, &call);
	return op_of_call(&call);
}

/* Enter the charge of an address space the current task has changed. */
INLINE void sync_with(struct mm_struct *mm, struct task_struct *task, struct op *op, __u32 kind,
		      bool may_judge)
{
	struct blame b = { .op = kind, .who = task };
	struct vmem_space *space = space_of(mm);
	__s64 promised = op ? op->promised : 0, grown;
	__u32 slot;

	b.is_own = task->mm == mm;
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
	slot = slot_of_word(READ(space->used));
	if (grown <= 0 || !may_judge || !is_guilty(slot))
		return;
	b.asked = grown;
	if (kind == VMEM_OP_OTHER && b.is_own)
		b.op = op_by_call(task);
	judge(slot, &b);
}

INLINE void sync_own(struct mm_struct *mm, __u32 kind, bool may_judge)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm != mm)
		sync_with(mm, task, (void *)0, kind, may_judge);
	else if (!is_outside(state(), task))
		sync_with(mm, task, op_of(task), kind, may_judge);
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

SEC("?fmod_ret/security_mmap_file")
int BPF_PROG(mmap_check, void *file, unsigned long prot, unsigned long flags, int ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call call = {};
	struct op *op;

	if (ret || is_outside(state(), task))
		return ret;
	call_of(task, &call);
	if (op_of_call(&call) != VMEM_OP_MMAP)
		return 0;
	op = op_begin(task, flags & MAP_FIXED ? VMEM_OP_MMAP_FIXED : VMEM_OP_MMAP,
		      pages_of_mmap(call.second, flags));
	/* MAP_FIXED may replace as much as it adds: it is judged when it is done. */
	return op && !(flags & MAP_FIXED) ? op_promise(op, op->pages) : 0;
}

SEC("?fentry/do_brk_flags")
int BPF_PROG(brk_begin)
{
	op_begin(bpf_get_current_task_btf(), VMEM_OP_BRK, 0);
	return 0;
}

SEC("?fentry/expand_downwards")
int BPF_PROG(stack_begin)
{
	op_begin(bpf_get_current_task_btf(), VMEM_OP_STACK, 0);
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
	if (is_outside(state(), task))
		return 0;
	op = op_of(task);
	if ((!op || op->kind == VMEM_OP_NONE) && op_by_call(task) == VMEM_OP_MREMAP) {
		op = op_begin(task, VMEM_OP_MREMAP, pages);
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
	op = op_begin(task, VMEM_OP_FORK, pages);
	return op ? op_promise(op, pages) : 0;
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

/* The end of mmap, munmap, brk and mremap, the mmap lock already let go. What mmap did has been
 * entered under the lock. */
SEC("?fentry/userfaultfd_unmap_complete")
int BPF_PROG(unmap_end, struct mm_struct *mm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct op *op;
	bool may_judge;

	if (task->mm == mm && is_outside(state(), task))
		return 0;
	op = op_of(task);
	if (op_by_call(task) != VMEM_OP_MMAP) {
		may_judge = !is_changing(mm);
		sync_with(mm, task, task->mm == mm ? op : (void *)0, VMEM_OP_OTHER,
			  may_judge && !is_changing(mm));
	}
	op_drop(op);
	return 0;
}

/* The one way to unmap that does not end there. */
SEC("?fexit/ksys_shmdt")
int BPF_PROG(shmdt_done)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->mm)
		sync_own(task->mm, VMEM_OP_OTHER, true);
	return 0;
}

/* A promise made to a call that somebody else then refused ends with the next call of the task,
 * here at the latest. */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(task_gone, struct task_struct *task)
{
	op_end();
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
