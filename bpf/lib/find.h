/* SPDX-License-Identifier: GPL-2.0-or-later */
/* find.h - the job that a cgroup or a task belongs to. For programs off the hot paths: the
 * ancestors' ids are read one by one, nearest first. Kernel side only; the includer declares
 * the maps `job_ids` and `jobs` (JOBS_MAPS) before. */
#ifndef REEVE_BPF_FIND_H
#define REEVE_BPF_FIND_H

#include "bpf/lib/ancestor.h"

#define FIND_DEPTH 16 /* levels looked at from the cgroup upwards */
#define FIND_NONE 0xffffffffu

/* Slot of the job that `cgrp` is or is below of, or FIND_NONE. `skip`: levels to leave out
 * from the cgroup upwards (1: the job must be a true ancestor). */
static __always_inline __u32 find_job(struct cgroup *cgrp, int skip)
{
	int level = BPF_CORE_READ(cgrp, level);
	__u32 *slot;
	__u64 id;

	for (int i = 0; i < FIND_DEPTH; i++) {
		int l = level - skip - i;

		if (l < 1)
			break;
		id = find_ancestor_id(cgrp, l);
		slot = bpf_map_lookup_elem(&job_ids, &id);
		if (slot)
			return *slot;
	}
	return FIND_NONE;
}

static __always_inline struct cgroup *find_cgroup(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp);
}

static __always_inline __u32 find_current_job(void)
{
	return find_job(find_cgroup((struct task_struct *)bpf_get_current_task()), 0);
}

/* The record of a slot, as JOBS_MAPS declares it; NULL for FIND_NONE. */
static __always_inline void *find_record(__u32 slot)
{
	return slot == FIND_NONE ? 0 : bpf_map_lookup_elem(&jobs, &slot);
}

#endif
