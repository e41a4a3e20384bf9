/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ancestor.h - the id of a cgroup's ancestor at a given depth. Kernel side only. */
#ifndef REEVE_BPF_ANCESTOR_H
#define REEVE_BPF_ANCESTOR_H

/* Keeps the compiler from hoisting an access to a field out of the branch that has found that
 * the running kernel has that field: where it has not, the verifier would meet the access. */
#define STAY_IN_BRANCH(p) asm volatile("" : "+r"(p)::"memory")

/* `level` must lie between 0 (the root) and the cgroup's own: the array has no more elements.
 * Before 6.1 the kernel kept ids there, not pointers. */
static __always_inline __u64 find_ancestor_id(struct cgroup *cgrp, __u32 level)
{
	struct cgroup___510 *old = (void *)cgrp;
	struct cgroup *up = 0;
	__u64 id = 0;

	if (bpf_core_field_exists(cgrp->ancestors)) {
		STAY_IN_BRANCH(cgrp);
		bpf_core_read(&up, sizeof(up), &cgrp->ancestors[level & 255]);
		return up ? BPF_CORE_READ(up, kn, id) : 0;
	}
	if (bpf_core_field_exists(old->ancestor_ids)) {
		STAY_IN_BRANCH(old);
		bpf_core_read(&id, sizeof(id), &old->ancestor_ids[level & 255]);
	}
	return id;
}

#endif
