/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.h - the two maps that list the jobs of this node: cgroup id -> slot, and one record a
 * slot, which agent/kernel/slots.h writes and reads. Kernel side only; user space sets the
 * number of entries before loading. */
#ifndef REEVE_BPF_JOBS_H
#define REEVE_BPF_JOBS_H

#define JOBS_MAPS(record)                                                                      \
	struct {                                                                               \
		__uint(type, BPF_MAP_TYPE_HASH);                                               \
		__uint(max_entries, 1);                                                        \
		__type(key, __u64);                                                            \
		__type(value, __u32);                                                          \
	} job_ids SEC(".maps");                                                                \
	struct {                                                                               \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                              \
		__uint(map_flags, BPF_F_MMAPABLE);                                             \
		__uint(max_entries, 1);                                                        \
		__type(key, __u32);                                                            \
		__type(value, record);                                                         \
	} jobs SEC(".maps")

#endif
