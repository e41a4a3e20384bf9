/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - enters jobs into the table, finds them, removes them; see vmem/table.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <bpf/bpf.h>
#include "agent/enforce/vmem/table.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define ROOT_INODE 1 /* of every cgroup2 mount whose root is the hierarchy's */

static int known_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Index of the first known job whose cgroup id is not below `id`. */
static size_t known_index(const struct vmem *v, uint64_t id)
{
	size_t lo = 0, hi = v->n_known, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (known_compare(v->known[mid].cgroup_id, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct vmem_known *vmem_table_find(struct vmem *v, uint64_t cgroup_id)
{
	size_t i = known_index(v, cgroup_id);

	return i < v->n_known && v->known[i].cgroup_id == cgroup_id ? &v->known[i] : NULL;
}

/* Keeps the order by cgroup id. The array may move: pointers to known jobs do not outlive an insertion or a
 * removal. */
static int known_insert(struct vmem *v, uint64_t cgroup_id, uint32_t slot,
			struct vmem_known **ret)
{
	size_t i = known_index(v, cgroup_id), room = v->known_room ? 2 * v->known_room : 64;
	struct vmem_known *at = v->known;

	if (v->n_known == v->known_room) {
		at = realloc(v->known, room * sizeof(*at));
		if (!at)
			return -ENOMEM;
		v->known = at;
		v->known_room = room;
	}
	memmove(&at[i + 1], &at[i], (v->n_known - i) * sizeof(*at));
	at[i] = (struct vmem_known){ .cgroup_id = cgroup_id, .slot = slot, .cgroup_fd = -1 };
	v->n_known++;
	*ret = &at[i];
	return 0;
}

static void known_remove(struct vmem *v, struct vmem_known *known)
{
	size_t i = (size_t)(known - v->known);

	if (known->cgroup_fd >= 0)
		close(known->cgroup_fd);
	vmem_proc_done(&known->last);
	v->n_known--;
	memmove(known, known + 1, (v->n_known - i) * sizeof(*known));
}

static uint64_t within_word(uint32_t level, uint64_t cgroup_id)
{
	return (uint64_t)level << VMEM_ID_BITS | (cgroup_id & ((1ULL << VMEM_ID_BITS) - 1));
}

int vmem_table_level(int cgroup_fd, uint32_t *ret, uint64_t *ret_within, struct err *err)
{
	_cleanup_close_ int fd = openat(cgroup_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t parent = 0;
	struct stat st, up;
	uint32_t level;
	int next;

	if (fd < 0 || fstat(fd, &st))
		return err_set(err, -errno, "open a job's cgroup: %m");
	for (level = 0; st.st_ino != ROOT_INODE; level++) {
		next = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 || fstat(next, &up))
			return err_set(err, -errno, "open the parent of a cgroup: %m");
		close(fd);
		fd = next;
		if (up.st_dev != st.st_dev || (up.st_ino == st.st_ino))
			return err_set(err, -ESRCH, "not below a whole cgroup v2 mount");
		st = up;
		parent = parent ? parent : (uint64_t)st.st_ino;
	}
	*ret = level;
	*ret_within = level ? within_word(level - 1, parent) : 0;
	return 0;
}

/* The programs read the list at any moment: no store may take a depth in use out of it, not even
 * for a moment. */
static int level_enter(struct vmem_control *c, uint32_t level)
{
	int i;

	for (i = 0; i < VMEM_MAX_LEVELS && c->level[i]; i++)
		if (c->level[i] == level)
			return 0;
	if (i == VMEM_MAX_LEVELS)
		return -E2BIG;
	__atomic_store_n(&c->level[i], level, __ATOMIC_RELEASE);
	return 0;
}

/* The word that the programs read must hold for every job in `slots` at any moment: call it before a job
 * is shown there, and after one was removed. */
static void show_within(struct vmem *v)
{
	uint64_t within = v->n_known ? v->known[0].within : 0;

	if (!v->kernel)
		return;
	for (size_t i = 0; i < v->n_known; i++)
		if (v->known[i].within != within)
			within = 0;
	__atomic_store_n(&v->kernel->control->within, within, __ATOMIC_SEQ_CST);
}

void vmem_table_place(struct vmem *v, struct vmem_known *known, uint64_t within)
{
	known->within = within;
	show_within(v);
}

/* Removes a depth that no job has any more: the last one is copied over it, then cut off. */
static void level_leave(struct vmem *v, uint32_t level)
{
	struct vmem_control *c = v->kernel->control;
	int at = -1, last = -1, i;
	size_t k;

	for (k = 0; k < v->n_known; k++)
		if (v->jobs[v->known[k].slot].level == level)
			return;
	for (i = 0; i < VMEM_MAX_LEVELS && c->level[i]; i++) {
		last = i;
		if (c->level[i] == level)
			at = i;
	}
	if (at < 0)
		return;
	__atomic_store_n(&c->level[at], c->level[last], __ATOMIC_RELEASE);
	__atomic_store_n(&c->level[last], 0, __ATOMIC_RELEASE);
}

/* A removed job's slot stays in use until its address spaces have ended: they refer to it. */
static uint32_t slot_free(const struct vmem *v)
{
	uint32_t slot;

	for (slot = 1; slot < VMEM_MAX_JOBS; slot++)
		if (!v->jobs[slot].cgroup_id && v->jobs[slot].n_spaces <= 0 &&
		    v->jobs[slot].held_spaces <= 0)
			return slot;
	return 0;
}

static int kernel_enter(struct vmem *v, const struct vmem_job *head, uint32_t slot)
{
	int rc = level_enter(v->kernel->control, head->level);

	if (rc < 0)
		return rc;
	if (bpf_map_update_elem(v->kernel->map_fd[VMEM_MAP_SLOTS], &head->cgroup_id, &slot,
				BPF_ANY))
		return -errno;
	__atomic_add_fetch(&v->kernel->control->n_jobs, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* cgroup_id is stored last, then the slot is shown to the hooks (`slots`): a hook never sees a half-filled job. A
 * crash in between leaves a job that vmem_table_learn() finds. */
int vmem_table_enter(struct vmem *v, const struct vmem_job *head, uint64_t within,
		     struct vmem_known **ret, struct err *err)
{
	uint32_t slot = slot_free(v);
	struct vmem_job *job = &v->jobs[slot];
	struct vmem_known *known;
	int rc;

	if (!slot)
		return err_set(err, -ENOSPC, "more than %d jobs on one node",
			       VMEM_MAX_JOBS - 1);
	rc = known_insert(v, head->cgroup_id, slot, &known);
	if (rc < 0)
		return err_set(err, rc, "out of memory");
	memset(job, 0, sizeof(*job));
	job->job_id = head->job_id;
	job->limit_pages = head->limit_pages;
	job->action = head->action;
	job->level = head->level;
	job->peak_pages = head->peak_pages;
	job->max_spaces = head->max_spaces;
	job->is_parted = head->is_parted;
	job->latch = head->latch;
	vmem_table_place(v, known, within);
	__atomic_store_n(&job->cgroup_id, head->cgroup_id, __ATOMIC_RELEASE);
	rc = v->kernel ? kernel_enter(v, head, slot) : 0;
	if (rc < 0) {
		job->cgroup_id = 0;
		known_remove(v, known);
		show_within(v);
		return err_set(err, rc, "%s",
			       rc == -E2BIG ? "job cgroups at more than 4 depths"
					    : "enter a cgroup in the kernel's table");
	}
	*ret = known;
	return 0;
}

/* The next key before this one is deleted: a walk from a deleted key starts again. */
static void forget_gone(struct vmem *v, uint64_t cgroup_id)
{
	int fd = v->kernel->map_fd[VMEM_MAP_GONE];
	struct vmem_gone_key key, next;
	int more = bpf_map_get_next_key(fd, NULL, &next);

	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(fd, &key, &next);
		if (key.cgroup_id == cgroup_id)
			bpf_map_delete_elem(fd, &key);
	}
}

/* First out of `slots`, so that no new address space is entered under it. Those that are left keep the slot and
 * count down in it, without a limit. */
int vmem_table_leave(struct vmem *v, struct vmem_known *known, struct err *err)
{
	struct vmem_job *job = &v->jobs[known->slot];
	uint64_t id = known->cgroup_id;
	uint32_t level = job->level;
	bool has_gone = job->latch.state == VMEM_X_KILLED;

	if (v->kernel)
		vmem_parts_forget(v, known);
	if (v->kernel && bpf_map_delete_elem(v->kernel->map_fd[VMEM_MAP_SLOTS], &id) &&
	    errno != ENOENT)
		return err_set(err, -errno, "take a cgroup out of the kernel's table: %m");
	__atomic_store_n(&job->limit_pages, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&job->cgroup_id, 0, __ATOMIC_RELEASE);
	known_remove(v, known);
	if (!v->kernel) {
		job->n_spaces = 0;
		return 0;
	}
	__atomic_sub_fetch(&v->kernel->control->n_jobs, 1, __ATOMIC_SEQ_CST);
	level_leave(v, level);
	show_within(v);
	if (has_gone)
		forget_gone(v, id);
	return 0;
}

/* Fills the list of known jobs from a table that was taken over. Jobs without an id are those of a self-test that was
 * cut off: they are removed. */
int vmem_table_learn(struct vmem *v, struct err *err)
{
	struct vmem_known *known;
	uint32_t slot, n = 0;
	size_t i;
	int rc;

	for (slot = 1; slot < VMEM_MAX_JOBS; slot++) {
		if (!v->jobs[slot].cgroup_id)
			continue;
		rc = known_insert(v, v->jobs[slot].cgroup_id, slot, &known);
		if (rc < 0)
			return err_set(err, rc, "out of memory");
		known->within = v->kernel->control->within;
		n++;
	}
	/* The earlier agent may have died between its change of the table and of this number. */
	__atomic_store_n(&v->kernel->control->n_jobs, n, __ATOMIC_SEQ_CST);
	for (i = v->n_known; i-- > 0;) {
		known = &v->known[i];
		if (v->jobs[known->slot].job_id)
			continue;
		rc = vmem_table_leave(v, known, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Latches an excess that user space has found, by the same rule as latch_excess() in bpf/vmem_core.h: the one that
 * moves the state to FILLING writes the latch. False: another has latched one. */
bool vmem_table_latch(struct vmem *v, struct vmem_known *known, enum vmem_op op,
		      enum vmem_cause cause)
{
	struct vmem_job *job = &v->jobs[known->slot];
	uint32_t was = __atomic_load_n(&job->latch.state, __ATOMIC_ACQUIRE);

	if (was == VMEM_X_FILLING || was == VMEM_X_KILLED ||
	    !__atomic_compare_exchange_n(&job->latch.state, &was, VMEM_X_FILLING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	job->latch.at_ns = (uint64_t)clock_ns(CLOCK_BOOTTIME);
	job->latch.reached_pages = cause == VMEM_CAUSE_SPACES ? job->n_spaces : job->used_pages;
	job->latch.cause = cause;
	job->latch.asked_pages = 0;
	job->latch.op = op;
	job->latch.pid = job->latch.tgid = 0;
	job->latch.is_refused = job->latch.is_signalled = 0;
	memset(job->latch.comm, 0, sizeof(job->latch.comm));
	__atomic_store_n(&job->latch.state, VMEM_X_KILLED, __ATOMIC_RELEASE);
	return true;
}

/* A new peak and an excess are checked; an excess twice, since mappings move while they are listed. */
static void check_sum(const struct vmem *v, const struct vmem_job *job,
		      struct vmem_proc_list *list)
{
	uint64_t peak = vmem_table_bytes(v, job->peak_pages);
	uint64_t limit = vmem_table_bytes(v, job->limit_pages);

	if (list->bytes > peak || (limit && list->bytes > limit))
		vmem_proc_check(list);
	if (limit && list->bytes > limit)
		vmem_proc_check(list);
}

/* Tier 3: what /proc shows becomes the count. */
static int proc_audit(struct vmem *v, struct vmem_known *known, struct err *err)
{
	struct vmem_job *job = &v->jobs[known->slot];
	struct vmem_proc_list list = { 0 };
	int rc;

	if (known->cgroup_fd < 0)
		return 0;
	rc = vmem_proc_audit(known->cgroup_fd, &list, err);
	if (rc < 0) {
		vmem_proc_done(&list);
		return rc;
	}
	check_sum(v, job, &list);
	job->used_pages = (int64_t)(list.bytes / v->page_bytes);
	job->private_pages = (int64_t)(list.private_bytes / v->page_bytes);
	job->n_spaces = (int64_t)list.n;
	if (job->used_pages > job->peak_pages)
		job->peak_pages = job->used_pages;
	/* The table of a dying job is the one that was seen when it exceeded. */
	if (job->latch.state == VMEM_X_KILLED) {
		vmem_proc_done(&list);
		return 0;
	}
	vmem_proc_done(&known->last);
	known->last = list;
	if (job->limit_pages && job->used_pages > job->limit_pages)
		vmem_table_latch(v, known, VMEM_OP_AUDIT, VMEM_CAUSE_PAGES);
	else if (job->max_spaces && job->n_spaces > job->max_spaces)
		vmem_table_latch(v, known, VMEM_OP_AUDIT, VMEM_CAUSE_SPACES);
	return 0;
}

int vmem_table_audit(struct vmem *v, struct vmem_known *known, struct err *err)
{
	if (!v->kernel)
		return proc_audit(v, known, err);
	return vmem_parts_audit(v, known, err)
		       ?: vmem_kernel_audit(v->kernel, &v->jobs[known->slot], known->slot, err);
}
