/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_abi.h - what bpf/vmem.bpf.c and agent/enforce/vmem/ share.
 *
 * The job table is an array that user space maps into memory: reading a job is a memory read,
 * and the few words that user space may write (marked) are single aligned stores.
 */
#pragma once

#define VMEM_VERSION 7 /* of everything below but the first part of struct vmem_job */

enum {
	VMEM_MAX_JOBS =
		2048, /* slot 0 means "no job"; some are still emptied by dying processes */
	VMEM_MAX_LEVELS = 4,
	VMEM_PAGE_BITS = 44, /* of a charge word: job slot above, pages below */
	VMEM_ID_BITS = 56,   /* of vmem_control.within: depth above, cgroup id below */
};

enum vmem_op {
	VMEM_OP_NONE,
	VMEM_OP_MMAP,
	VMEM_OP_MMAP_FIXED,
	VMEM_OP_SHMAT,
	VMEM_OP_BRK,
	VMEM_OP_STACK,
	VMEM_OP_MREMAP,
	VMEM_OP_FORK,
	VMEM_OP_EXEC,
	VMEM_OP_ATTACH,
	VMEM_OP_AUDIT,
	VMEM_OP_LIMIT,
	VMEM_OP_OTHER,
};

enum vmem_excess_state {
	VMEM_X_NONE,
	VMEM_X_FILLING,
	VMEM_X_REFUSED, /* a call failed with ENOMEM, the job lives */
	VMEM_X_KILLED,	/* the job has to die: all of it that grows further gets SIGKILL */
};

enum vmem_cause {
	VMEM_CAUSE_PAGES,  /* the limit of vmem */
	VMEM_CAUSE_SPACES, /* more address spaces than the job may have, or the table holds */
};

/* The limit was reached. Latched by the first event, kept until the job is removed. */
struct vmem_latch {
	__u32 state;	     /* enum vmem_excess_state */
	__u32 reported;	     /* last state delivered to the agent; written by user space */
	__u64 at_ns;	     /* CLOCK_BOOTTIME */
	__s64 reached_pages; /* VMEM_CAUSE_SPACES: address spaces, not pages */
	__s64 asked_pages;
	__u32 pid;
	__u32 tgid;
	__u32 op;
	__u32 is_refused;
	__u32 is_signalled;
	__u32 cause; /* enum vmem_cause */
	char comm[16];
};

/* Slot 0 is no job: its held_spaces and max_spaces are those of the table as a whole. */
struct vmem_job {
	/* Version-independent part: a newer agent adopts these. Only ever append after it. */
	__u64 job_id;
	__u64 cgroup_id;   /* 0: slot is free */
	__s64 limit_pages; /* 0: none; written by user space */
	__u32 action;	   /* 0 kill, 1 deny; written by user space */
	__u32 level;	   /* depth of the cgroup, root = 0 */
	__s64 peak_pages;
	struct vmem_latch latch;
	/* This version's counters. */
	__s64 held_pages; /* charged + promised to calls in flight: what the limit is held to */
	__s64 used_pages; /* charged: the sum of total_vm */
	__s64 private_pages;
	__s64 n_refused;
	__s64 n_spaces;
	__s64 n_no_room;   /* address spaces that found no room: refused, or the job killed */
	__s64 held_spaces; /* entered + promised to forks in flight */
	__s64 max_spaces;  /* 0: none of its own; written by user space */
	__u32 is_parted;   /* only cgroups below the job's own are its; written by user space */
	__u32 spare32;
	__u64 emptied_ns; /* CLOCK_BOOTTIME when n_spaces last fell to 0; 0: not known */
};

_Static_assert(sizeof(struct vmem_latch) == 72, "vmem_latch");
_Static_assert(sizeof(struct vmem_job) == 192, "vmem_job");

/* One address space, keyed by the address of its mm_struct. */
struct vmem_space {
	__u64 used;	    /* charge word */
	__u64 private_used; /* charge word */
	__u32 tgid;
	__u32 spare;
	char comm[16];
};

/* The last size of an address space of a job that had exceeded, for the table shown to users.
 */
struct vmem_gone_key {
	__u64 cgroup_id;
	__u64 at_ns;
	__u32 tgid;
	__u32 spare;
};

struct vmem_gone {
	__u64 pages;
	char comm[16];
};

/* One entry, mapped into user space, which writes it. */
struct vmem_control {
	__u32 version;
	__u32 n_jobs;		      /* 0: every hook returns at once */
	__u32 level[VMEM_MAX_LEVELS]; /* depths at which job cgroups live; 0 ends the list */
	/* A cgroup that all jobs lie below, and its depth, in one word: read as a whole. Of the id the
	 * lowest VMEM_ID_BITS: two cgroups that agree in them are taken for the same, which costs time alone. 0: there is no such
	 * cgroup, or none is known. */
	__u64 within;
	__u32 tier;  /* of the programs pinned beside */
	__u32 hooks; /* bit set of the programs pinned beside */
	/* The audit: set by user space, summed by the iterator. */
	__u64 audit_cgroup_id;
	__u32 audit_level;
	__u32 audit_slot; /* != 0: enter what is missing under this slot */
	__u64 audit_pages;
	__u64 audit_spaces;
	__u64 audit_failed; /* not all could be remembered: the sums are too small */
};

enum vmem_event_kind {
	VMEM_EVENT_EXCESS, /* look at the latch of this slot */
	VMEM_EVENT_AUDIT,  /* a process without a main thread moved in: count by audit */
};

struct vmem_event {
	__u32 kind;
	__u32 slot;
};
