/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.h - the table of jobs and their address spaces. Private to agent/enforce/vmem/.
 *
 * In tiers 1 and 2 `jobs` is the kernel map's own memory, in tier 3 ordinary memory: the same
 * code reads, limits and reports in all three.
 */
#pragma once
#include <stddef.h>
#include "agent/enforce/vmem/vmem.h"
#include "agent/enforce/vmem/kernel.h"
#include "agent/enforce/vmem/proc.h"

/* A job in the table, for finding it by cgroup. Sorted by cgroup_id. */
struct vmem_known {
	uint64_t cgroup_id;
	uint32_t slot;
	int cgroup_fd;	 /* -1: taken over, not added again yet */
	uint64_t within; /* a word as vmem_control.within, of its own; 0: not known */
	struct vmem_proc_list last; /* tier 3: the last audit; kept when the limit is reached */
};

struct vmem {
	struct vmem_config config; /* its strings are pin_dir and scratch_dir below */
	char *pin_dir, *scratch_dir;
	/* Loads the programs of the tier again; only without a job. */
	int (*reload)(struct vmem *v, struct err *err);
	enum vmem_tier tier;
	enum vmem_origin origin;
	char reason[600];
	struct vmem_kernel *kernel; /* NULL in tier 3 */
	struct vmem_job *jobs;
	struct vmem_known *known;
	size_t n_known, known_room;
	uint64_t page_bytes;
	uint32_t max_processes; /* of all jobs together */
	void *ring;
	int epoll_fd, kick_fd, timer_fd;
};

struct vmem_known *vmem_table_find(struct vmem *v, uint64_t cgroup_id);

/* Enter a job whose head (id, cgroup, level, limit, action, peak, latch) is filled in; `within` as in struct
 * vmem_known. Counting begins with the return; processes already inside need an audit. */
int vmem_table_enter(struct vmem *v, const struct vmem_job *head, uint64_t within,
		     struct vmem_known **ret, struct err *err);
/* `known` lies below the cgroup of this word, which the programs use once that holds for all jobs. */
void vmem_table_place(struct vmem *v, struct vmem_known *known, uint64_t within);
/* Remove the job. Its address spaces that still exist keep the slot in use until they end. */
int vmem_table_leave(struct vmem *v, struct vmem_known *known, struct err *err);

/* Read which jobs an adopted table has; remove what an unfinished self-test left (job id 0). */
int vmem_table_learn(struct vmem *v, struct err *err);

/* Count the job again and enter what is missing; an excess that shows is latched. */
int vmem_table_audit(struct vmem *v, struct vmem_known *known, struct err *err);

/* vmem/parts.c, with a kernel side only: the parts of a job that has any; nothing for others. */
int vmem_parts_audit(struct vmem *v, const struct vmem_known *known, struct err *err);
int vmem_parts_set(struct vmem *v, struct vmem_known *known, const uint64_t *ids, size_t n,
		   struct err *err);
void vmem_parts_forget(struct vmem *v, const struct vmem_known *known);

/* Latch an excess found by user space, unless one is latched. True if it was new. */
bool vmem_table_latch(struct vmem *v, struct vmem_known *known, enum vmem_op op,
		      enum vmem_cause cause);

/* How many address spaces a job may have, and how many entries the table needs when all jobs together have at most P
 * processes. A job with p processes may have p + p/8 + 1. Every job has p >= 2 and there are at most
 * VMEM_MAX_JOBS - 1 jobs, so
 *	sum(p + p/8 + 1) <= P + P/8 + min(P/2, VMEM_MAX_JOBS - 1)
 * plus the address spaces of the self-test. */
#define VMEM_SELFTEST_SPACES 8

static inline uint32_t vmem_table_spaces_of_job(uint32_t processes)
{
	return processes + processes / 8 + 1;
}

static inline uint32_t vmem_table_spaces_of_node(uint32_t processes)
{
	uint32_t jobs = processes / 2;

	if (jobs > VMEM_MAX_JOBS - 1)
		jobs = VMEM_MAX_JOBS - 1;
	return processes + processes / 8 + jobs + VMEM_SELFTEST_SPACES;
}

static inline uint64_t vmem_table_bytes(const struct vmem *v, int64_t pages)
{
	return pages > 0 ? (uint64_t)pages * v->page_bytes : 0;
}

/* excess.c: begin to watch for excesses; what was latched before is reported by the first dispatch. */
int vmem_excess_start(struct vmem *v, struct err *err);
/* Watch the ring of v->kernel, which was loaded again. */
int vmem_excess_restart(struct vmem *v, struct err *err);
/* Without a job: the hot programs are detached after config.idle_ms, unless a job comes before. */
void vmem_excess_idle(struct vmem *v);
/* Make vmem_fd() readable, so that the next dispatch looks at all latches. */
void vmem_excess_wake(const struct vmem *v);

/* Depth of a cgroup directory below the root of its mount, and its parent as a word for vmem_control.within (0: it is the
 * root). */
int vmem_table_level(int cgroup_fd, uint32_t *ret, uint64_t *ret_within, struct err *err);
