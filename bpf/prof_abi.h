/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof_abi.h - what prof.bpf.c and agent/sample/prof.c agree on. Types and constants only. */
#ifndef REEVE_PROF_ABI_H
#define REEVE_PROF_ABI_H

#define PROF_VERSION 2
#define PROF_MAX_JOBS 1024
#define PROF_BUCKETS 40

struct prof_cpu { /* a job, counted on one CPU */
	__u64 on_cpu_ns, wait_ns;
	__u64 switches, preemptions, migrations;
	__u64 wait[PROF_BUCKETS];
};
_Static_assert(sizeof(struct prof_cpu) == 360, "kernel/user ABI");

#endif
