/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuwork_abi.h - what gpuwork.bpf.c and agent/sample/gpuwork.c agree on. Types and constants
 * only. */
#ifndef REEVE_GPUWORK_ABI_H
#define REEVE_GPUWORK_ABI_H

#define GPUWORK_VERSION 1
#define GPUWORK_MAX_JOBS 1024
#define GPUWORK_IN_FLIGHT_MAX 8192 /* of the whole node, known at a time */

struct gpuwork_record { /* a job */
	__u64 cgroup_id;
	__s64 job;
	__u64 launches; /* calls of the CUDA driver library that start kernels or graphs */
	__u64 n_run;	/* GPU jobs of the DRM scheduler that were handed to the hardware */
	__u64 n_paired; /* of these, those whose end will be known */
	__u64 busy_ns;	/* with one of them there at least */
	__u64 in_flight;
	__u64 since_ns; /* CLOCK_MONOTONIC: in_flight was 0 before */
};
_Static_assert(sizeof(struct gpuwork_record) == 64, "kernel/user ABI");

#endif
