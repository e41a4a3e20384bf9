/* vmem.bpf.c - see the growth of every job's address spaces, and refuse what exceeds.
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

#define EAGAIN 11
#define ENOMEM 12
#define MAP_FIXED 0x10
#define CLONE_VM 0x100

char LICENSE[] SEC("license") = "GPL";

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
	room_end(op);
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
	room_end(op);
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

/* True: it is new, and entered. Where there is no room for it the job ends. */
INLINE bool enter_or_judge(struct mm_struct *mm, __u32 slot, struct op *op, struct blame *b)
{
	enum entry e = space_enter(mm, slot, b->who, op);

	if (e == ENTRY_NO_ROOM)
		judge_no_room(slot, b);
	return e == ENTRY_NEW;
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
		if (!slot)
			return;
		if (!enter_or_judge(mm, slot, op, &b))
			return;
		grown = mm->total_vm;
		promised = op ? op->promised : 0;
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

/* Is a thread in the middle of changing the mappings? Then total_vm may be a transient value. */
INLINE bool is_changing(struct mm_struct *mm)
{
	struct mm_struct___lock *m = (void *)mm;

	if (!bpf_core_field_exists(m->mmap_lock.count))
		return false;
	return BPF_CORE_READ(m, mmap_lock.count.counter) & 1;
}

/* ---- tier 1: before the growth ---- */

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
	enum entry e;

	if (!slot || !mm || space_of(mm))
		return;
	e = space_enter(mm, slot, child, op);
	b.asked = mm->total_vm;
	b.is_own = slot_of_current() == slot;
	if (e == ENTRY_NO_ROOM)
		judge_no_room(slot, &b);
	if (e == ENTRY_NEW)
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

/* What the kernel does not account (PROT_NONE, shared, files) had no check before. */
INLINE struct op *remap_promise(struct task_struct *task, __s64 pages)
{
	struct blame b = { .op = VMEM_OP_MREMAP, .is_own = 1, .who = task, .asked = pages };
	struct op *op = op_of(task);
	struct vmem_job *job;

	if (op && op->kind == VMEM_OP_MREMAP && op->promised)
		return op; /* growth_check has looked */
	op = op_begin(task, VMEM_OP_MREMAP, pages);
	job = op ? job_at(op->slot) : (void *)0;
	if (!job)
		return op;
	b.slot = op->slot;
	b.reached = promise(op, job, pages);
	if (b.reached)
		excess(job, &b);
	return op;
}

/* mremap() holds the mmap lock here and has just counted what it maps. Not later, at unmap_end:
 * the lock is released by then, another thread may be in the middle of a change, and a sum that
 * is too large could be a transient one. */
SEC("?fexit/vm_stat_account")
int BPF_PROG(remap_grown, struct mm_struct *mm, unsigned long flags, long counted)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vmem_space *space;
	struct call call = {};
	__s64 pages, promised;
	struct op *op;

	if (counted <= 0 || task->mm != mm || is_outside(state(), task))
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
	space_charge(space, mm, counted - pages, &promised);
	op->promised = promised;
	return 0;
}

/* The end of mmap, munmap, brk and mremap, the mmap lock already released. What mmap did has been
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

/* A promise made to a call that another security module then refused ends with the next call of the task,
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
		if (!slot || !enter_or_judge(mm, slot, (void *)0, &b))
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

/* The moving process runs here, not the moved one: no signal is sent, the agent gets an event. */
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
	int rc; /* see space_enter() */

	if (!task || !c)
		return 0;
	mm = task->mm;
	cg = task->cgroups->dfl_cgrp;
	if (!mm || (__u32)cg->level < c->audit_level ||
	    ancestor_id(cg, c->audit_level) != c->audit_cgroup_id)
		return 0;
	key = (__u64)mm;
	rc = bpf_map_update_elem(&seen, &key, &one, BPF_NOEXIST);
	if (rc && rc != -EEXIST)
		c->audit_failed = 1;
	if (rc)
		return 0;
	c->audit_pages += mm->total_vm;
	c->audit_spaces++;
	if (!c->audit_slot)
		return 0;
	move_to(mm, task, c->audit_slot);
	if (task->mm !=
	    mm) /* it exited while we entered it: no other event would take it out */
		space_leave(mm);
	return 0;
}
