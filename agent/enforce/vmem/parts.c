/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts.c - jobs of which only some cgroups count: each is an entry of its own in the kernel's table of cgroups, with the job's slot.
 *
 * The entries themselves are the record: a restarted agent finds them in the pinned map. A job of its own cgroup has one entry, that of
 * its cgroup; it stays, and no hook looks it up, since no job lives at that depth.
 */
#include <errno.h>
#include <bpf/bpf.h>
#include "agent/enforce/vmem/table.h"

/* Calls fn for each part of the job; fn may delete that entry. */
static int each_part(struct vmem *v, const struct vmem_known *known,
		     int (*fn)(struct vmem *v, const struct vmem_known *known, uint64_t id,
			       void *ctx),
		     void *ctx)
{
	int fd = v->kernel->map_fd[VMEM_MAP_SLOTS], r = 0;
	uint64_t id, next;
	uint32_t slot;
	int more = bpf_map_get_next_key(fd, NULL, &next);

	while (more == 0 && r == 0) {
		id = next;
		more = bpf_map_get_next_key(fd, &id, &next);
		if (id != known->cgroup_id && bpf_map_lookup_elem(fd, &id, &slot) == 0 &&
		    slot == known->slot)
			r = fn(v, known, id, ctx);
	}
	return r;
}

static int audit_part(struct vmem *v, const struct vmem_known *known, uint64_t id, void *ctx)
{
	struct vmem_job part = v->jobs[known->slot];

	part.cgroup_id = id;
	return vmem_kernel_audit(v->kernel, &part, known->slot, ctx);
}

int vmem_parts_audit(struct vmem *v, const struct vmem_known *known, struct err *err)
{
	return each_part(v, known, audit_part, err);
}

struct part_ids {
	const uint64_t *ids;
	size_t n;
};

static int forget_unnamed(struct vmem *v, const struct vmem_known *known, uint64_t id,
			  void *ctx)
{
	const struct part_ids *named = ctx;

	(void)known;
	for (size_t i = 0; i < named->n; i++)
		if (named->ids[i] == id)
			return 0;
	bpf_map_delete_elem(v->kernel->map_fd[VMEM_MAP_SLOTS], &id);
	return 0;
}

void vmem_parts_forget(struct vmem *v, const struct vmem_known *known)
{
	each_part(v, known, forget_unnamed, &(struct part_ids){ 0 });
}

/* Twice: a process that was between two threads at the first look. */
static int enter_part(struct vmem *v, struct vmem_known *known, uint64_t id, struct err *err)
{
	int fd = v->kernel->map_fd[VMEM_MAP_SLOTS], r;
	uint32_t slot;

	if (bpf_map_lookup_elem(fd, &id, &slot) == 0 && slot == known->slot)
		return 0;
	if (bpf_map_update_elem(fd, &id, &known->slot, BPF_ANY))
		return err_set(
			err, -errno,
			"the kernel's table of cgroups, for %d jobs and steps of this node, does not take one more: %m",
			VMEM_MAX_JOBS);
	r = audit_part(v, known, id, err);
	return r < 0 ? r : audit_part(v, known, id, err);
}

int vmem_parts_set(struct vmem *v, struct vmem_known *known, const uint64_t *ids, size_t n,
		   struct err *err)
{
	int r = 0;

	each_part(v, known, forget_unnamed, &(struct part_ids){ ids, n });
	for (size_t i = 0; i < n && r >= 0; i++)
		r = enter_part(v, known, ids[i], err);
	return r;
}
