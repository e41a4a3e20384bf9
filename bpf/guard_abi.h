/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard_abi.h - what guard.bpf.c and agent/enforce/guard.c agree on. Types and constants only.
 */
#ifndef REEVE_GUARD_ABI_H
#define REEVE_GUARD_ABI_H

#define GUARD_VERSION 3
#define GUARD_RING_BYTES (64 * 1024)

enum guard_message_kind {
	GUARD_MSG_QUOTA = 1,
	GUARD_MSG_SETPROJECT = 2,
	GUARD_MSG_PTRACE = 3,
	GUARD_MSG_LEFT = 4,
};

/* In which a job hit its quota. */
enum guard_call {
	GUARD_CALL_OTHER, /* none of these, or not known */
	GUARD_CALL_WRITE,
	GUARD_CALL_FALLOCATE,
};

struct guard_record { /* a job */
	__u64 cgroup_id;
	__s64 job;
	__u32 projid;
	__u32 dev; /* as the kernel writes it: major << 20 | minor; 0: any */
	__u32 is_kill;
	__u32 reported; /* bit 1: blocks, bit 2: inodes */
	__u64 n_quota;	/* hard limit hit, each time */
	__u64 n_denied;
	__u64 reported_setproject_ns, reported_ptrace_ns; /* boot time of the last message */
};
_Static_assert(sizeof(struct guard_record) == 64, "kernel/user ABI");

struct guard_message {	 /* ring buffer */
	__u64 cgroup_id; /* the job's */
	__u64 boot_ns;
	__u32 kind;
	__u32 detail; /* QUOTA: 1 blocks, 2 inodes; else 0 */
	__s32 pid;    /* the process that did it; LEFT: the one that is outside now */
	__s32 other;  /* PTRACE: the target; LEFT: the process that moved it */
	char comm[16];
	__u64 now_in; /* LEFT: cgroup id */
	__u32 killed;
	__u32 call;	   /* QUOTA: enum guard_call */
	__u64 asked_bytes; /* by that call; 0: not known */
};
_Static_assert(sizeof(struct guard_message) == 72, "kernel/user ABI");

#endif
