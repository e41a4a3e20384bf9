/* vmem_core.h - the arithmetic under bpf/vmem.bpf.c: maps, charges, promises, verdicts.
 *
 * Every address space has one charge word: job slot and pages in 64 bits, replaced only as a
 * whole. The program that replaces it moves exactly the difference between the two jobs' sums. An event
 * therefore never adds "what happened" but sets "what is" (mm->total_vm), so that an event seen
 * twice, late, or by two versions of these programs at once changes nothing, and at a quiet
 * point the sum is exact.
 *
 * A limit is held to `held` = charges + promises. A call that wants to grow first promises its
 * pages by compare-and-swap, which two racing calls cannot both win; the promise ends in the
 * same addition that enters the charge.
 */
#pragma once
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

/* Whose job: slots by cgroup id, at the few depths where jobs live. */

INLINE __u32 slot_of_id(__u64 id)
{
	__u32 *slot = id ? bpf_map_lookup_elem(&slots, &id) : (void *)0;

	return slot ? *slot : 0;
}

/* The quick answer for most of the node: no job, or none as deep in the tree as this task. A
 * few loads, no helper call. */
INLINE bool is_outside(struct vmem_control *c, struct task_struct *task)
{
	__u32 level = task->cgroups->dfl_cgrp->level, at;
	int i;

	if (!c || !c->n_jobs)
		return true;
	for (i = 0; i < VMEM_MAX_LEVELS; i++) {
		at = c->level[i];
		if (!at)
			break;
		if (at <= level)
			return false;
	}
	return true;
}

INLINE __u32 slot_of_current(void)
{
	struct vmem_control *c = state();
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

/* Keeps the compiler from moving the look at one kernel's field to where another kernel runs.
 */
#define STAY(p) asm volatile("" : "+r"(p)::"memory")

INLINE __u64 ancestor_id(struct cgroup *cg, __u32 level)
{
	struct cgroup___510 *old = (void *)cg;
	struct cgroup *up = (void *)0;
	__u64 id = 0;

	if (bpf_core_field_exists(cg->ancestors)) {
		STAY(cg);
		bpf_core_read(&up, sizeof(up), &cg->ancestors[level & 255]);
		return up ? BPF_CORE_READ(up, kn, id) : 0;
	}
	if (bpf_core_field_exists(old->ancestor_ids)) {
		STAY(old);
		bpf_core_read(&id, sizeof(id), &old->ancestor_ids[level & 255]);
	}
	return id;
}

INLINE __u32 slot_of_cgroup(struct cgroup *cg)
{
	struct vmem_control *c = state();
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
		slot = slot_of_id(ancestor_id(cg, level));
		if (slot)
			return slot;
	}
	return 0;
}

/* Sums. */

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

/* `promised` pages of the change were promised before and stop being so. */
INLINE void job_grow(struct vmem_job *job, __s64 pages, __s64 promised)
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

INLINE void settle(__u64 was, __u64 is, __s64 promised)
{
	__u32 from = slot_of_word(was), to = slot_of_word(is);
	__s64 less = was & PAGES_MASK, more = is & PAGES_MASK;
	struct vmem_job *job;

	if (from != to) {
		job = job_at(from);
		if (job)
			job_grow(job, -less, 0);
		less = 0;
	}
	job = job_at(to);
	if (job)
		job_grow(job, more - less, promised);
}

INLINE void settle_private(__u64 was, __u64 is)
{
	__u32 from = slot_of_word(was), to = slot_of_word(is);
	__s64 less = was & PAGES_MASK, more = is & PAGES_MASK;
	struct vmem_job *job;

	if (from != to) {
		job = job_at(from);
		if (job)
			__sync_fetch_and_add(&job->private_pages, -less);
		less = 0;
	}
	job = job_at(to);
	if (job)
		__sync_fetch_and_add(&job->private_pages, more - less);
}

INLINE void count_space(__u32 slot, __s64 n)
{
	struct vmem_job *job = job_at(slot);

	if (job)
		__sync_fetch_and_add(&job->n_spaces, n);
}

/* Promises. */

INLINE void promise_end(struct op *op)
{
	struct vmem_job *job = job_at(op->slot);

	if (op->promised && job)
		__sync_fetch_and_add(&job->held_pages, -op->promised);
	op->promised = 0;
}

/* 0: `pages` more are held for the task. Else they would exceed: what would be reached. */
INLINE __s64 promise(struct op *op, struct vmem_job *job, __s64 pages)
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
	/* Crowded: add first, look after. May refuse a neighbour at the very edge. */
	held = __sync_fetch_and_add(&job->held_pages, pages) + pages;
	op->promised = pages;
	if (!limit || held <= limit)
		return 0;
	promise_end(op);
	return held;
}

/* Verdicts. */

struct blame {
	__u32 op;
	__u32 is_refused;
	__u32 is_own; /* the calling task is the one to signal */
	__u32 slot;
	__u32 cause;
	__s64 asked;
	__s64 reached;
	struct task_struct *who;
};

INLINE void latch_fill(struct vmem_latch *x, struct blame *b)
{
	x->at_ns = bpf_ktime_get_boot_ns();
	x->reached_pages = b->reached;
	x->asked_pages = b->asked;
	x->op = b->op;
	x->is_refused = b->is_refused;
	x->cause = b->cause;
	x->pid = b->who->pid;
	x->tgid = b->who->tgid;
	bpf_probe_read_kernel(x->comm, sizeof(x->comm), b->who->comm);
}

INLINE void tell(__u32 kind, __u32 slot)
{
	struct vmem_event e = { .kind = kind, .slot = slot };

	bpf_ringbuf_output(&events, &e, sizeof(e), 0);
}

static __noinline int excess(struct vmem_job *job, struct blame *b)
{
	__u32 want = VMEM_X_KILLED, was;

	if (!job || !b)
		return 0;
	if (b->is_refused) {
		__sync_fetch_and_add(&job->n_refused, 1);
		if (job->action)
			want = VMEM_X_REFUSED;
	}
	if (want == VMEM_X_KILLED && b->is_own)
		bpf_send_signal(SIGKILL);
	was = READ(job->latch.state);
	if (was == VMEM_X_FILLING || was >= want)
		return 0;
	if (__sync_val_compare_and_swap(&job->latch.state, was, VMEM_X_FILLING) != was)
		return 0;
	latch_fill(&job->latch, b);
	job->latch.is_signalled = want == VMEM_X_KILLED && b->is_own;
	__sync_lock_test_and_set(&job->latch.state, want);
	tell(VMEM_EVENT_EXCESS, b->slot);
	return 0;
}

/* After a growth that could not be refused: is the job over its limit, or to be killed anyway? */
INLINE bool is_guilty(__u32 slot)
{
	struct vmem_job *job = job_at(slot);
	__s64 limit = job ? READ(job->limit_pages) : 0;

	return limit &&
	       (READ(job->used_pages) > limit || READ(job->latch.state) == VMEM_X_KILLED);
}

INLINE void judge(__u32 slot, struct blame *b)
{
	struct vmem_job *job = job_at(slot);

	if (!job || !is_guilty(slot))
		return;
	b->slot = slot;
	b->reached = READ(job->used_pages);
	excess(job, b);
}

/* An address space that could not be refused has no entry: the job ends before it is used. */
INLINE void judge_no_room(__u32 slot, struct blame *b)
{
	struct vmem_job *job = job_at(slot);

	if (!job)
		return;
	b->slot = slot;
	b->cause = VMEM_CAUSE_SPACES;
	b->reached = READ(job->n_spaces) + 1;
	excess(job, b);
}

/* Address spaces. */

INLINE struct vmem_space *space_of(struct mm_struct *mm)
{
	__u64 key = (__u64)mm;

	return bpf_map_lookup_elem(&spaces, &key);
}

INLINE void space_name(struct vmem_space *space, struct task_struct *who)
{
	space->tgid = who->tgid;
	bpf_probe_read_kernel(space->comm, sizeof(space->comm), who->comm);
}

enum entry { ENTRY_NEW, ENTRY_KNOWN, ENTRY_NO_ROOM };

/* A new address space of the job, with what it maps now. What `op` (NULL: nothing) was promised
 * for this job is used up by it. */
INLINE enum entry space_enter(struct mm_struct *mm, __u32 slot, struct task_struct *who,
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
	space_name(&space, who);
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
	settle(0, space.used, promised);
	settle_private(0, space.private_used);
	count_space(slot, 1);
	return ENTRY_NEW;
}

/* Set the charge to what is mapped, less `passing` pages. Returns the pages by which it grew;
 * with the first growth `*promised` ends, in the same step, and is then 0. */
INLINE __s64 space_charge(struct vmem_space *space, struct mm_struct *mm, __s64 passing,
			  __s64 *promised)
{
	__u64 was, is;
	__s64 grown = 0;
	int i;

	for (i = 0; i < TRIES; i++) {
		was = READ(space->used);
		is = (was & ~PAGES_MASK) | ((mm->total_vm - passing) & PAGES_MASK);
		if (is == was)
			break;
		if (__sync_val_compare_and_swap(&space->used, was, is) != was)
			continue;
		settle(was, is, is > was ? *promised : 0);
		if (is > was)
			*promised = 0;
		grown += (__s64)(is & PAGES_MASK) - (__s64)(was & PAGES_MASK);
	}
	return grown;
}

INLINE __s64 space_sync(struct vmem_space *space, struct mm_struct *mm, __s64 *promised)
{
	__s64 grown = space_charge(space, mm, 0, promised);
	__u64 was = READ(space->private_used), is;

	is = (was & ~PAGES_MASK) | (private_pages(mm) & PAGES_MASK);
	if (is != was && __sync_val_compare_and_swap(&space->private_used, was, is) == was)
		settle_private(was, is);
	return grown;
}

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
		settle(was, is, 0);
		count_space(slot_of_word(was), -1);
		count_space(slot, 1);
		room_move(slot_of_word(was), slot);
		break;
	}
	was = READ(space->private_used);
	is = charge_word(slot, was & PAGES_MASK);
	if (__sync_val_compare_and_swap(&space->private_used, was, is) == was)
		settle_private(was, is);
}

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

INLINE void space_leave(struct mm_struct *mm)
{
	struct vmem_space *space = space_of(mm);
	__u64 key = (__u64)mm, was;
	__u32 slot;

	if (!space)
		return;
	was = __sync_lock_test_and_set(&space->used, 0);
	gone_keep(space, slot_of_word(was), was & PAGES_MASK);
	settle(was, 0, 0);
	slot = slot_of_word(was);
	if (slot)
		count_space(slot, -1);
	was = __sync_lock_test_and_set(&space->private_used, 0);
	settle_private(was, 0);
	/* Its entry is free before its room is. */
	if (bpf_map_delete_elem(&spaces, &key) == 0)
		room_give(whole_table());
	room_give(job_at(slot));
}
