/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan_abi.h - what scan.bpf.c and agent/sample/scan.c agree on. Types and constants only. */
#ifndef REEVE_SCAN_ABI_H
#define REEVE_SCAN_ABI_H

#define SCAN_VERSION 1
#define SCAN_MAX_CPUS 1024 /* CPUs told apart; more: totals only */
#define SCAN_WALK_WANTED (~0ull)
#define SCAN_MAX_DEVICES 64 /* block devices a cgroup's I/O is summed over */

enum scan_have {
	SCAN_HAS_MEM = 1,
	SCAN_HAS_PARTS = 2,
	SCAN_HAS_TASKS = 4,
	SCAN_HAS_TASKS_PEAK = 8,
	SCAN_HAS_IO = 16,
	SCAN_HAS_CORES = 32,
};

/* A job. The pass writes the middle part, the task walk and the hooks the last. */
struct scan_job {
	__u64 cgroup_id;
	__s64 job;
	__u64 pass; /* number of the last pass that met the cgroup */
	__u32 have;
	__u32 removed; /* the cgroup has been removed; the figures are its last */
	__u64 cpu_ns, user_ns,
		system_ns; /* user and system as the scheduler's ticks saw them */
	__u64 mem_pages, mem_peak_pages, swap_pages;
	__u64 anon_bytes, file_bytes, shmem_bytes, kernel_bytes;
	__u64 tasks, tasks_peak;
	__u64 read_bytes, written_bytes;
	/* the task walk: of tasks that live */
	/* Number of the last walk that met a task of the job; SCAN_WALK_WANTED, written by user
	 * space: the walk under way has not met one. A walk leaves out the other jobs. */
	__u64 walk;
	__u64 live_delay_ns, live_minor, live_major;
	__u64 rss_pages, procs;
	/* the exit hook: of tasks that are gone */
	__u64 exited_delay_ns, exited_minor, exited_major;
	/* the removal hook: of sub-cgroups that are gone */
	__u64 removed_user_ns, removed_system_ns;
};
_Static_assert(sizeof(struct scan_job) == 232, "kernel/user ABI");

#endif
