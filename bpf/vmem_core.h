/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_core.h - how bpf/vmem.bpf.c counts: charges, promises, and what an excess leads to.
 *
 * Every address space has one charge word: job slot and pages in 64 bits, replaced only as a
 * whole. The program that replaces it moves exactly the difference between the sums of the two
 * jobs. An event therefore never adds "what happened" but sets "what is" (mm->total_vm): an
 * event seen twice, late, or by two versions of these programs at once changes nothing, and
 * while no call is in flight the sum is exact.
 *
 * The limit applies to held_pages = charges + promises. A call that is about to grow first
 * promises its pages by compare-and-swap, which two racing calls cannot both win; the promise
 * ends in the same addition that enters the charge.
 *
 * Every loop is bounded (TRIES), for the verifier. A compare-and-swap that fails so often
 * leaves the old value; the next event of the address space sets the right one.
 */
#pragma once
#include "bpf/lib/ancestor.h"
#include "bpf/vmem_room.h"

#define PAGES_MASK ((1ULL << VMEM_PAGE_BITS) - 1)
#define TRIES 8
#define SIGKILL 9
#define EEXIST 17

INLINE __u64 charge_word(__u32 slot, __u64 pages)
{
	return (__u64)slot << VMEM_PAGE_BITS | (pages & PAGES_MASK);
}

INLINE __u32 slot_of_word(__u64 word)
{
	return word >> VMEM_PAGE_BITS;
}

INLINE __u64 private_pages(struct mm_struct *mm)
{
	return mm->data_vm + mm->stack_vm;
}

/* Which job: slots by cgroup id, at the few depths where job cgroups are. */

INLINE __u32 slot_of_id(__u64 id)
{
	__u32 *slot = id ? bpf_map_lookup_elem(&slots, &id) : (void *)0;

	return slot ? *slot : 0;
}

/* From a cgroup upwards; of a deeper one it is not known where it lies. */
#define WITHIN_STEPS 8

/* False: the cgroup does not lie below the one of vmem_control.within. Through typed pointers, since each helper
 * call would cost as much as all of these loads. */
INLINE bool may_be_below(struct cgroup *cg, __u64 within)
{
	int up = cg->level - (int)(within >> VMEM_ID_BITS), i;
	struct cgroup_subsys_state *css;

	if (up <= 0)
		return false;
	css = cg->self.parent;
	for (i = 1; i < WITHIN_STEPS && i < up; i++)
		css = css->parent;
	return up > WITHIN_STEPS ||
	       !((css->cgroup->kn->id ^ within) & ((1ULL << VMEM_ID_BITS) - 1));
}

INLINE bool is_above_all_jobs(struct vmem_control *c, struct cgroup *cg)
{
	__u32 at;
	int i;

	for (i = 0; i < VMEM_MAX_LEVELS; i++) {
		at = c->level[i];
		if (!at)
			break;
		if (at <= (__u32)cg->level)
			return false;
	}
	return true;
}

/* True: the task is in no job, since the node has none, or all have their cgroups in another part of the tree. The
 * quick answer for most tasks of a node: a few loads, no helper call. */
INLINE bool is_outside(struct vmem_control *c, struct task_struct *task)
{
	struct cgroup *cg = task->cgroups->dfl_cgrp;
	__u64 within;

	if (!c || !c->n_jobs)
		return true;
	within = READ(c->within);
	return within ? !may_be_below(cg, within) : is_above_all_jobs(c, cg);
}

INLINE __u32 slot_of_current(void)
{
	struct vmem_control *c = control_entry();
	__u32 slot, level;
	int i;

	if (is_outside(c, bpf_get_current_task_btf()))
		return 0;
	for (i = 0; i < VMEM_MAX_LEVELS; i++) {
		level = c->level[i];
		if (!level)
			return 0;
		slot = slot_of_id(bpf_get_current_ancestor_cgroup_id(level));
		if (slot)
			return slot;
	}
	return 0;
}

INLINE __u32 slot_of_cgroup(struct cgroup *cg)
{
	struct vmem_control *c = control_entry();
	__u32 slot, level;
	int i;

	if (!c || !c->n_jobs)
		return 0;
	for (i = 0; i < VMEM_MAX_LEVELS; i++) {
		level = c->level[i];
		if (!level)
			return 0;
		if (level > (__u32)cg->level)
			continue;
		slot = slot_of_id(find_ancestor_id(cg, level));
		if (slot)
			return slot;
	}
	return 0;
}

/* Sums of a job. */

INLINE void raise_peak(struct vmem_job *job, __s64 used)
{
	__s64 peak;
	int i;

	for (i = 0; i < TRIES; i++) {
		peak = READ(job->peak_pages);
		if (used <= peak ||
		    __sync_val_compare_and_swap(&job->peak_pages, peak, used) == peak)
			return;
	}
}

/* Adds `pages` (below 0: removes) to the charges of a job. `promised` pages held for this
 * change stop being promised in the same addition. */
INLINE void add_pages(struct vmem_job *job, __s64 pages, __s64 promised)
{
	__s64 used;

	if (pages) {
		used = __sync_fetch_and_add(&job->used_pages, pages) + pages;
		if (pages > 0)
			raise_peak(job, used);
	}
	if (pages != promised)
		__sync_fetch_and_add(&job->held_pages, pages - promised);
}

enum sum { SUM_ALL, SUM_PRIVATE };

INLINE void add_to_sum(enum sum sum, __u32 slot, __s64 pages, __s64 promised)
{
	struct vmem_job *job = job_at(slot);

	if (!job)
		return;
	if (sum == SUM_PRIVATE)
		__sync_fetch_and_add(&job->private_pages, pages);
	else
		add_pages(job, pages, promised);
}

/* Enters into the sums of one or two jobs that a charge word was replaced. Only the program
 * whose replacement succeeded may call it, and once. */
INLINE void move_charge(enum sum sum, __u64 was, __u64 is, __s64 promised)
{
	__u32 from = slot_of_word(was), to = slot_of_word(is);
	__s64 less = was & PAGES_MASK, more = is & PAGES_MASK;

	if (from != to) {
		add_to_sum(sum, from, -less, 0);
		less = 0;
	}
	add_to_sum(sum, to, more - less, promised);
}

INLINE void count_space(__u32 slot, __s64 n)
{
	struct vmem_job *job = job_at(slot);

	if (job && __sync_fetch_and_add(&job->n_spaces, n) + n == 0)
		job->emptied_ns = bpf_ktime_get_boot_ns();
}

/* Promises. */

INLINE void promise_end(struct op *op)
{
	struct vmem_job *job = job_at(op->slot);

	if (op->promised && job)
		__sync_fetch_and_add(&job->held_pages, -op->promised);
	op->promised = 0;
}

/* Returns 0 when `pages` more are held for the call, else the sum that would exceed the limit.
 * A promise that an earlier call of the task left ends first. */
INLINE __s64 promise_pages(struct op *op, struct vmem_job *job, __s64 pages)
{
	__s64 held, limit = READ(job->limit_pages);
	int i;

	promise_end(op);
	for (i = 0; i < 4 * TRIES; i++) {
		held = READ(job->held_pages);
		if (limit && held + pages > limit)
			return held + pages;
		if (__sync_val_compare_and_swap(&job->held_pages, held, held + pages) == held) {
			op->promised = pages;
			return 0;
		}
	}
	/* Too many racing calls: add first, compare afterwards. A call that would just fit may
	 * be refused for a moment, while the sum is too large; no growth beyond the limit is allowed. */
	held = __sync_fetch_and_add(&job->held_pages, pages) + pages;
	op->promised = pages;
	if (!limit || held <= limit)
		return 0;
	promise_end(op);
	return held;
}

/* A job over its limit. */

struct excess {
	__u32 op;	  /* enum vmem_op */
	__u32 is_refused; /* the call fails: nothing has grown */
	__u32 is_harmless; /* the kernel itself has refused it: the job lives, whatever its action */
	__u32 is_own; /* the calling task is the one that grows: bpf_send_signal() reaches it */
	__u32 slot;
	__u32 cause; /* enum vmem_cause */
	__s64 asked;
	__s64 reached;
	struct task_struct *task; /* that is named as the offender */
};

INLINE void latch_fill(struct vmem_latch *latch, struct excess *x)
{
	latch->at_ns = bpf_ktime_get_boot_ns();
	latch->reached_pages = x->reached;
	latch->asked_pages = x->asked;
	latch->op = x->op;
	latch->is_refused = x->is_refused;
	latch->cause = x->cause;
	latch->pid = x->task->pid;
	latch->tgid = x->task->tgid;
	bpf_probe_read_kernel(latch->comm, sizeof(latch->comm), x->task->comm);
}

/* A full ring buffer loses the event, not the excess: the latch keeps it. */
INLINE void send_event(__u32 kind, __u32 slot)
{
	struct vmem_event e = { .kind = kind, .slot = slot };

	bpf_ringbuf_output(&events, &e, sizeof(e), 0);
}

/* Sends SIGKILL to the offender, unless the job's action is to refuse and the call is refused;
 * latches the first excess of each state and sends one event for it. Safe against other CPUs:
 * only the one that moves the state to FILLING writes the latch. An agent that was away reads
 * the latch when it is back. */
static __noinline int latch_excess(struct vmem_job *job, struct excess *x)
{
	__u32 want = VMEM_X_KILLED, was;

	if (!job || !x)
		return 0;
	if (x->is_refused) {
		__sync_fetch_and_add(&job->n_refused, 1);
		if (job->action || x->is_harmless)
			want = VMEM_X_REFUSED;
	}
	if (want == VMEM_X_KILLED && x->is_own)
		bpf_send_signal(SIGKILL);
	was = READ(job->latch.state);
	if (was == VMEM_X_FILLING || was >= want)
		return 0;
	if (__sync_val_compare_and_swap(&job->latch.state, was, VMEM_X_FILLING) != was)
		return 0;
	latch_fill(&job->latch, x);
	job->latch.is_signalled = want == VMEM_X_KILLED && x->is_own;
	__sync_lock_test_and_set(&job->latch.state, want);
	send_event(VMEM_EVENT_EXCESS, x->slot);
	return 0;
}

/* Is the job over its limit, or being killed for that? In the second case what still grows is
 * killed too, although the sum may have fallen. */
INLINE bool is_over_limit(__u32 slot)
{
	struct vmem_job *job = job_at(slot);
	__s64 limit = job ? READ(job->limit_pages) : 0;

	return limit &&
	       (READ(job->used_pages) > limit || READ(job->latch.state) == VMEM_X_KILLED);
}

/* Call it after a growth that could not be refused. */
INLINE void kill_if_over(__u32 slot, struct excess *x)
{
	struct vmem_job *job = job_at(slot);

	if (!job || !is_over_limit(slot))
		return;
	x->slot = slot;
	x->reached = READ(job->used_pages);
	latch_excess(job, x);
}

/* An address space that could not be refused has found no entry in the table: the job is
 * killed, since what is not counted may not run. */
INLINE void kill_for_no_room(__u32 slot, struct excess *x)
{
	struct vmem_job *job = job_at(slot);

	if (!job)
		return;
	x->slot = slot;
	x->cause = VMEM_CAUSE_SPACES;
	x->reached = READ(job->n_spaces) + 1;
	latch_excess(job, x);
}

/* Address spaces. */

INLINE struct vmem_space *space_of(struct mm_struct *mm)
{
	__u64 key = (__u64)mm;

	return bpf_map_lookup_elem(&spaces, &key);
}

INLINE void space_name(struct vmem_space *space, struct task_struct *task)
{
	space->tgid = task->tgid;
	bpf_probe_read_kernel(space->comm, sizeof(space->comm), task->comm);
}

enum entry { ENTRY_NEW, ENTRY_KNOWN, ENTRY_NO_ROOM };

/* Enters a new address space of the job with what it maps now, under the name of `task`. The
 * pages and the room that were promised to `op` (NULL: none) for this job are used up by it.
 * Of two CPUs that enter the same one, one gets ENTRY_KNOWN and changes nothing. */
INLINE enum entry space_enter(struct mm_struct *mm, __u32 slot, struct task_struct *task,
			      struct op *op)
{
	__u64 key = (__u64)mm;
	struct vmem_space space = {};
	__s64 promised = 0;
	int rc; /* kernels before 6.4 leave the upper half of the result undefined */

	if (op && op->slot != slot)
		op = (void *)0;
	if (!(op && op->has_room) && !room_enter(slot))
		return ENTRY_NO_ROOM;
	if (op) {
		op->has_room = 0;
		promised = op->promised;
	}
	space.used = charge_word(slot, mm->total_vm);
	space.private_used = charge_word(slot, private_pages(mm));
	space_name(&space, task);
	rc = bpf_map_update_elem(&spaces, &key, &space, BPF_NOEXIST);
	if (rc) {
		room_leave(slot);
		if (rc == -EEXIST)
			return ENTRY_KNOWN;
		count_no_room(slot);
		return ENTRY_NO_ROOM;
	}
	if (op)
		op->promised = 0;
	move_charge(SUM_ALL, 0, space.used, promised);
	move_charge(SUM_PRIVATE, 0, space.private_used, 0);
	count_space(slot, 1);
	return ENTRY_NEW;
}

/* Enters an address space that is charged to no job, so that no hook enters it for the job that its task is in. Without room it stays unknown,
 * and the next growth enters it for the job. */
INLINE void space_enter_uncharged(struct mm_struct *mm, struct task_struct *task)
{
	__u64 key = (__u64)mm;
	struct vmem_space space = {};

	if (!room_enter_table())
		return;
	space.used = charge_word(0, mm->total_vm);
	space.private_used = charge_word(0, private_pages(mm));
	space_name(&space, task);
	if ((int)bpf_map_update_elem(&spaces, &key, &space, BPF_NOEXIST))
		room_leave(0);
}

/* How total_vm is read.
 *
 * A thread that changes mappings holds the mmap lock for writing. Meanwhile total_vm may be a
 * transient value: an mremap that moves a mapping counts it twice, and what a call has just added
 * is still promised to it. Entered into the charge, such a value makes the job's sum too large:
 * any thread or process of the job could then be refused or killed. A program that runs after the
 * release of the lock must therefore not raise a charge to a value that another thread is just
 * changing. It loses nothing by that: the other thread's own events enter what it added, under
 * the lock. A value that lowers the charge is always entered, transient or not: what is too small
 * is set right in the same way, and what is unmapped has no other event. */
enum reading {
	/* The lock is held by the caller, or no other task has the address space yet. */
	READING_LOCKED,
	/* The lock is released; all growth of the current call was entered under it. */
	READING_UNLOCKED,
	/* The lock is released, and this is the first event of the growth: the charge is raised
	 * in any case, or threads that hold the lock again and again could hide the growth. */
	READING_UNLOCKED_GROWN,
};

/* Bit 0 of the semaphore's count means that a writer holds it. */
INLINE bool is_changing(struct mm_struct *mm)
{
	struct mm_struct___lock *m = (void *)mm;

	if (!bpf_core_field_exists(m->mmap_lock.count))
		return false;
	return BPF_CORE_READ(m, mmap_lock.count.counter) & 1;
}

/* Reads total_vm without the lock. True: it is no transient value of a writer W.
 *   W locks, counts and releases before the first look or after the last: not seen at all.
 *   W holds the lock at the first look: refused there.
 *   W locks after the first look, and still holds at the second: refused there.
 *   W locks after the first look, we read, W releases before the second look (we were interrupted
 *   in between): W has counted all by its release, and the second value differs from ours. If it
 *   does not, ours was not transient, or the next writer shows the same transient value in the
 *   few instructions after the second look, which the third look refuses. */
INLINE bool read_settled(struct mm_struct *mm, __u64 *pages)
{
	bool changing = is_changing(mm);
	__u64 again;

	*pages = READ(mm->total_vm);
	changing |= is_changing(mm);
	again = READ(mm->total_vm);
	return !(changing | is_changing(mm)) && again == *pages;
}

/* Is the charge what is mapped, and no thread changing that? */
INLINE bool is_charge_settled(struct vmem_space *space, struct mm_struct *mm)
{
	__u64 pages;

	return read_settled(mm, &pages) && pages == (READ(space->used) & PAGES_MASK);
}

/* Sets the charge to what is mapped less `passing` pages (a mapping counted twice while it
 * moves). Returns the pages by which it grew; the first growth uses up the promise: *promised
 * becomes 0 in the same step. The charge is read before total_vm: an event of another thread in
 * between makes the replacement fail, or is seen by the next turn of the loop, which ends only
 * when charge and total_vm agree. */
INLINE __s64 space_charge(struct vmem_space *space, struct mm_struct *mm, __s64 passing,
			  __s64 *promised, enum reading reading)
{
	__u64 was, is, pages;
	__s64 grown = 0;
	bool settled;
	int i;

	for (i = 0; i < TRIES; i++) {
		was = READ(space->used);
		settled = true;
		if (reading == READING_UNLOCKED)
			settled = read_settled(mm, &pages);
		else
			pages = READ(mm->total_vm);
		is = (was & ~PAGES_MASK) | ((pages - passing) & PAGES_MASK);
		if (is == was || (is > was && !settled))
			break;
		if (__sync_val_compare_and_swap(&space->used, was, is) != was)
			continue;
		move_charge(SUM_ALL, was, is, is > was ? *promised : 0);
		if (is > was)
			*promised = 0;
		grown += (__s64)(is & PAGES_MASK) - (__s64)(was & PAGES_MASK);
	}
	return grown;
}

/* Sets both charges of an address space, all pages and the private ones. Returns the pages by
 * which the first grew. */
INLINE __s64 space_sync(struct vmem_space *space, struct mm_struct *mm, __s64 *promised,
			enum reading reading)
{
	__s64 grown = space_charge(space, mm, 0, promised, reading);
	__u64 was = READ(space->private_used), is;

	is = (was & ~PAGES_MASK) | (private_pages(mm) & PAGES_MASK);
	if (is != was && __sync_val_compare_and_swap(&space->private_used, was, is) == was)
		move_charge(SUM_PRIVATE, was, is, 0);
	return grown;
}

/* Charges the address space to another job; slot 0: to none, the entry stays. */
INLINE void space_move(struct vmem_space *space, __u32 slot)
{
	__u64 was, is;
	int i;

	for (i = 0; i < TRIES; i++) {
		was = READ(space->used);
		if (slot_of_word(was) == slot)
			return;
		is = charge_word(slot, was & PAGES_MASK);
		if (__sync_val_compare_and_swap(&space->used, was, is) != was)
			continue;
		move_charge(SUM_ALL, was, is, 0);
		count_space(slot_of_word(was), -1);
		count_space(slot, 1);
		room_move(slot_of_word(was), slot);
		break;
	}
	was = READ(space->private_used);
	is = charge_word(slot, was & PAGES_MASK);
	if (__sync_val_compare_and_swap(&space->private_used, was, is) == was)
		move_charge(SUM_PRIVATE, was, is, 0);
}

/* Keeps the last size of an address space of a job that is being killed, for the table of
 * processes in the end message: the processes may be gone before the agent reads them. */
INLINE void gone_keep(struct vmem_space *space, __u32 slot, __u64 pages)
{
	struct vmem_job *job = job_at(slot);
	struct vmem_gone_key key = {};
	struct vmem_gone last = { .pages = pages };

	if (!job || READ(job->latch.state) != VMEM_X_KILLED)
		return;
	key.cgroup_id = job->cgroup_id;
	key.at_ns = job->latch.at_ns;
	key.tgid = space->tgid;
	__builtin_memcpy(last.comm, space->comm, sizeof(last.comm));
	bpf_map_update_elem(&gone, &key, &last, BPF_ANY);
}

/* The address space ends: its charge, its entry and its room are given back. A second call
 * finds no entry. */
INLINE void space_leave(struct mm_struct *mm)
{
	struct vmem_space *space = space_of(mm);
	__u64 key = (__u64)mm, was;
	__u32 slot;

	if (!space)
		return;
	was = __sync_lock_test_and_set(&space->used, 0);
	gone_keep(space, slot_of_word(was), was & PAGES_MASK);
	move_charge(SUM_ALL, was, 0, 0);
	slot = slot_of_word(was);
	if (slot)
		count_space(slot, -1);
	was = __sync_lock_test_and_set(&space->private_used, 0);
	move_charge(SUM_PRIVATE, was, 0, 0);
	/* The entry first, then its room: promised room is always there. */
	if (bpf_map_delete_elem(&spaces, &key) == 0)
		room_give(whole_table());
	room_give(job_at(slot));
}
