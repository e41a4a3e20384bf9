/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem.h - the address space of every job, counted exactly and held to its limit.
 *
 * What is counted: the sum of mm->total_vm over the distinct address spaces of a job, in bytes.
 * Threads, vfork children and CLONE_VM pairs share one address space and count once; a process
 * whose main thread has exited counts in full. (/proc gets both wrong.)
 *
 * BPF programs count, event by event, into maps. User space only reads them.
 *   tier 1  trampolines: the kernel refuses the growth before it happens; the offender gets SIGKILL (VMEM_KILL) or
 *           ENOMEM (VMEM_DENY). No overshoot.
 *   tier 2  tracepoints: the same exact count; the offender gets SIGKILL before it returns from the call that
 *           exceeded. Nothing can be refused: VMEM_DENY is -EOPNOTSUPP.
 *   tier 3  no BPF: /proc is read every poll_ms, so an excess is found late. VMEM_DENY is -EOPNOTSUPP.
 * vmem_open() proves a tier by a self-test before it uses it.
 *
 * With a pin directory (on bpffs) programs, links and maps outlive the process: limits hold and
 * counts stay exact while the agent is away, and the next vmem_open() takes them over.
 *
 * One thread only. All sizes are bytes; times are CLOCK_BOOTTIME nanoseconds.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/err.h"

struct vmem;

enum vmem_tier {
	VMEM_TIER_DENY = 1,
	VMEM_TIER_SIGNAL = 2,
	VMEM_TIER_POLL = 3,
};

enum vmem_action {
	VMEM_KILL = 0, /* the offender is killed at once, then on_excess is called */
	VMEM_DENY = 1, /* the call that exceeds fails with ENOMEM; the job lives (tier 1) */
};

enum vmem_origin {
	VMEM_FRESH = 0,	  /* nothing was pinned: counting starts with this open */
	VMEM_ADOPTED = 1, /* the pinned programs were found whole: no unguarded interval */
	/* the job table of another version was copied; the old programs stayed attached until
	 * the new ones were: limits in force throughout, peaks kept */
	VMEM_UPGRADED = 2,
	VMEM_REBUILT = 3, /* some pins were missing (for example links removed): report it */
};

/* A limit reached, once per job; before it, once, the first refusal that the job survived. */
struct vmem_excess {
	uint64_t job_id;
	uint64_t cgroup_id;
	uint64_t limit_bytes;
	uint64_t reached_bytes;	  /* what the job has reached, or (is_refused) would have */
	uint64_t requested_bytes; /* of the last mapping; 0 = not known */
	uint64_t at_ns;
	uint32_t pid; /* thread that exceeded; 0 = found by audit */
	uint32_t tgid;
	char comm[16];
	const char
		*operation; /* "mmap", "brk", "mremap", "stack", "fork", "exec", "audit" ... */
	bool is_refused;    /* the growth did not happen */
	bool is_survived; /* and the job goes on: VMEM_DENY, or (tier 2) RLIMIT_AS has refused it */
	bool is_no_room; /* not vmem, but one address space more than the job may have or the
			       table holds; reached_bytes and requested_bytes are 0 */
	uint64_t reached_spaces; /* is_no_room: how many address spaces it would have had */
	bool is_killed; /* SIGKILL was sent to the offender; the caller kills the rest of the job */
};

struct vmem_usage {
	uint64_t now_bytes;
	uint64_t peak_bytes;	/* highest now_bytes ever reached, not sampled (tiers 1, 2) */
	uint64_t private_bytes; /* writable private + stack (data_vm + stack_vm): what could
				   turn into memory of the job's own, without PROT_NONE
				   reservations */
	uint64_t limit_bytes;	/* 0 = none */
	uint64_t n_refused;	/* growths refused so far */
	uint32_t n_processes;	/* distinct address spaces */
	int64_t emptied_ns; /* n_processes is 0, since when (CLOCK_BOOTTIME); 0: not known */
	bool is_exceeded;   /* latched: the limit was reached at least once */
	bool is_survived;   /* is_exceeded, but growth was only refused: the job goes on */
	bool is_no_room;    /* is_exceeded, for the reason of vmem_excess.is_no_room */
	uint64_t n_no_room; /* address spaces that found no room: forks refused (tier 1) */
};

struct vmem_process {
	uint32_t pid; /* thread group id */
	bool is_gone; /* ended after the job exceeded its limit; size is its last */
	char comm[16];
	uint64_t bytes;
	uint64_t private_bytes; /* see struct vmem_usage; 0 when is_gone */
	uint64_t stack;		/* tier 3: where its stack begins, to notice an exec() */
};

struct vmem_job_info {
	uint64_t job_id;
	uint64_t cgroup_id;
	uint64_t limit_bytes;
	enum vmem_action action;
};

/* Called from vmem_dispatch(), at least once per excess also across restarts of the agent (an
 * excess that happened while it was away is delivered by the first dispatch). Write cgroup.kill
 * first: vmem_processes() keeps the table of a dying job until vmem_remove(). */
typedef void (*vmem_excess_fn)(void *ctx, const struct vmem_excess *x);

/* vmem_open() copies the strings. */
struct vmem_config {
	const char *pin_dir;	 /* directory on bpffs, made if missing; NULL = not pinned */
	const char *scratch_dir; /* existing cgroup v2 directory in which the self-test may make
				    a cgroup of its own; the cgroup root when NULL */
	int first_tier;		 /* best tier to try; 0 = VMEM_TIER_DENY */
	uint32_t max_processes;	 /* of all jobs together; 0 = 65536. The table of address spaces
				    has room for them, see vmem_room() */
	uint32_t poll_ms;	 /* tier 3: time between audits; 0 = 1000 */
	uint32_t idle_ms;	 /* tiers 1 and 2: so long after the last job the programs that
				    run at each mapping of the node are detached; 0 = 300,000 in
				    tier 1, 30,000 in tier 2 */
	vmem_excess_fn on_excess;
	void *ctx;
};

/* Choose the best tier that passes its self-test, or take over what is pinned.
 * Outcomes: 0, or -errno when not even tier 3 can work (no cgroup v2, no memory). */
int vmem_open(const struct vmem_config *config, struct vmem **ret, struct err *err);

/* Close all descriptors. Pinned programs stay attached, others are detached. Returns NULL. */
struct vmem *vmem_close(struct vmem *v);

/* Unpin everything below pin_dir: counting ends when the last process closes it. */
int vmem_unpin(const char *pin_dir, struct err *err);

enum vmem_tier vmem_tier(const struct vmem *v);
/* A sentence: why not a better tier ("" for tier 1). */
const char *vmem_tier_reason(const struct vmem *v);
/* A sentence: hooks attached, and optional hooks this kernel does not offer. */
const char *vmem_hooks(const struct vmem *v);
enum vmem_origin vmem_origin(const struct vmem *v);
/* Are the programs that run at each mapping of the node detached, since it has no job? */
bool vmem_is_idle(const struct vmem *v);

/* The table of address spaces: it has room for those of `max_processes` processes, however they
 * are shared out among jobs that state their own max_processes, and an eighth more (an address
 * space outlives its process while another process reads it). In tier 3 there is none: 0. */
struct vmem_room {
	uint64_t max_processes;
	uint64_t max_spaces;  /* entries of the table */
	uint64_t held_spaces; /* of these in use, or promised to forks */
};
void vmem_room(const struct vmem *v, struct vmem_room *ret);

/* Count (and, limit_bytes > 0, hold) the processes of this cgroup and all below it, from now on
 * and including those already inside. `cgroup_fd`: its directory; duplicated, so the caller may
 * close it. A cgroup that is known already keeps its counters and gets the new job_id, limit and action.
 * Outcomes: 0 new; 1 already known (after a restart); -EOPNOTSUPP VMEM_DENY without tier 1;
 * -E2BIG more than 4 cgroup depths in use; -ENOSPC more than 2047 jobs; -ESRCH not a cgroup. */
struct vmem_request {
	uint64_t job_id;
	uint64_t cgroup_id;
	int cgroup_fd;
	uint64_t limit_bytes; /* 0 = count only */
	/* Limit of processes; 0 = none. The job may have an eighth more address spaces than that. In tier 1 a fork
	 * beyond it is refused (EAGAIN, the job lives); in other tiers, and for address spaces that are not made by
	 * fork, the job is killed. So a job cannot use up the room of others. */
	uint32_t max_processes;
	enum vmem_action action;
	/* > 0: the job's cgroup also has processes that are not the job's (slurmstepd in each step): only what is in the cgroups of
	 * vmem_set_parts(), so many levels below it, counts. -EOPNOTSUPP in tier 3. */
	uint32_t part_depth;
};
int vmem_add(struct vmem *v, const struct vmem_request *job, struct err *err);

/* The cgroups of a job that was added with `part_depth`, each by its open directory: those that are new count from now on, with the processes
 * already inside; those that are not named any more are forgotten. -ENOENT: no such job; -E2BIG: more parts than the table holds. */
int vmem_set_parts(struct vmem *v, uint64_t cgroup_id, const int *part_fds, size_t n,
		   struct err *err);

/* -ENOENT: cgroup not known. A limit below the present use is an excess at once. */
int vmem_set_limit(struct vmem *v, uint64_t cgroup_id, uint64_t limit_bytes, struct err *err);
int vmem_remove(struct vmem *v, uint64_t cgroup_id, struct err *err);

/* Tiers 1 and 2: a memory read, no system call. Tier 3: one audit. -ENOENT: not known. */
int vmem_read(struct vmem *v, uint64_t cgroup_id, struct vmem_usage *ret, struct err *err);

/* The sum counted again from the kernel's task list (tiers 1, 2: iter/task; tier 3: /proc), to compare with the
 * count: for tests and the self-test. */
int vmem_audit(struct vmem *v, uint64_t cgroup_id, uint64_t *ret_bytes, uint32_t *ret_processes,
	       struct err *err);

/* Address spaces of the job, largest first; at most `max`. `ret_n`: how many there are in all,
 * which may be more than `max`. */
int vmem_processes(struct vmem *v, uint64_t cgroup_id, struct vmem_process *out, size_t max,
		   size_t *ret_n);

/* Jobs in the table, for a restarted agent: at most `max`; ret_n as above. */
int vmem_jobs(struct vmem *v, struct vmem_job_info *out, size_t max, size_t *ret_n);

/* Readable when vmem_dispatch() has something to do. Dispatch never blocks; 0 or -errno. */
int vmem_fd(const struct vmem *v);
int vmem_dispatch(struct vmem *v, struct err *err);
