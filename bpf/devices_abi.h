/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices_abi.h - what devices.bpf.c and agent/enforce/devices.c agree on. Types and constants
 * only. A device number is major << 32 | minor. */
#ifndef REEVE_DEVICES_ABI_H
#define REEVE_DEVICES_ABI_H

#define DEVICES_VERSION 2
#define DEVICES_GATED_MAX 1024
#define DEVICES_GRANTS_MAX 8192
#define DEVICES_MAJORS 4096 /* the kernel's device numbers have 12 bits for the major */

struct devices_major {
	__u32 is_gated;	   /* 0: none of its devices is */
	__u32 has_range;   /* the minors from `first` to `last` are gated, listed or not */
	__u32 first, last; /* inclusive */
};
_Static_assert(sizeof(struct devices_major) == 16, "kernel/user ABI");

struct devices_grant {	 /* key */
	__u64 cgroup_id; /* the job's */
	__u64 number;
};
_Static_assert(sizeof(struct devices_grant) == 16, "kernel/user ABI");

struct devices_record { /* a job */
	__u64 cgroup_id;
	__s64 job;
	__u64 n_granted; /* accesses that passed: open(2), access(2) */
	__u64 n_refused;
	__u64 last_refused; /* device number */
};
_Static_assert(sizeof(struct devices_record) == 40, "kernel/user ABI");

#endif
