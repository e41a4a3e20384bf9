/* find.h - which job does a cgroup belong to? For programs off the hot paths: the chain of
 * ancestors is read one by one, nearest first. Kernel side only; the includer declares
 * `job_ids`, a hash of cgroup id to slot. */
#ifndef REEVE_BPF_FIND_H
#define REEVE_BPF_FIND_H

#define FIND_DEPTH 16 /* levels looked at from the cgroup upwards */
#define FIND_NONE 0xffffffffu

static __always_inline __u64 find_ancestor_id(struct cgroup *cgrp, int level)
{
	struct cgroup *up = 0;
	__u64 id = 0;

	if (!bpf_core_field_exists(cgrp->ancestors)) { /* before 6.1 */
		bpf_probe_read_kernel(
			&id, sizeof(id),
			(char *)cgrp +
				bpf_core_field_offset(struct cgroup___510, ancestor_ids) +
				8ul * level);
		return id;
	}
	bpf_probe_read_kernel(&up, sizeof(up),
			      (char *)cgrp + bpf_core_field_offset(cgrp->ancestors) +
				      8ul * level);
	return up ? BPF_CORE_READ(up, kn, id) : 0;
}

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

#endif
