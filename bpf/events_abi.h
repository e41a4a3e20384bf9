/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events_abi.h - what events.bpf.c and agent/enforce/events.c agree on. Types and constants
 * only. */
#ifndef REEVE_EVENTS_ABI_H
#define REEVE_EVENTS_ABI_H

#define EVENTS_VERSION 3
#define EVENTS_STEP_DEPTH                                                                      \
	2 /* job_12/step_0/user: Slurm freezes the steps of a job one by one */
#define EVENTS_RING_BYTES (128 * 1024) /* the end of 1,024 jobs at once, and more */

enum events_kind { EVENTS_OOM = 1, EVENTS_FROZEN = 2, EVENTS_THAWED = 3, EVENTS_EMPTY = 4 };

struct events_record { /* a job; written by the hooks, under the kernel's cgroup lock */
	__u64 cgroup_id;
	__s64 job;
	__u32 seq; /* odd while since and total change */
	__u32 n_frozen;
	__u64 since_ns; /* boot time; 0: not frozen */
	__u64 total_ns; /* finished intervals */
	__u64 n_oom;
	__u64 n_empty;
	__u32 by_steps; /* frozen is: one of the cgroups EVENTS_STEP_DEPTH levels below is */
	__u32 steps_frozen; /* how many of those are */
};
_Static_assert(sizeof(struct events_record) == 64, "kernel/user ABI");

struct events_message {	 /* ring buffer */
	__u64 cgroup_id; /* the job's */
	__u64 boot_ns;
	__u32 kind;
	__s32 pid;
	char comm[16];
	__u64 limit_cgroup_id; /* whose limit; 0: the node's */
	__u64 usage_pages, limit_pages;
	__u64 rss_pages;
	__u32 own_limit; /* the limit is the job's, or of a sub-cgroup of it */
	__u32 unused;
};
_Static_assert(sizeof(struct events_message) == 80, "kernel/user ABI");

#endif
