/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.h - load, pin and take over the BPF side of vmem. Private to agent/enforce/vmem/.
 *
 * The pinned set is PIN_DIR/vmem-vN (N = VMEM_VERSION), complete or absent: a new set is pinned
 * in vmem-vN-new, runs beside the old one until the job table has been copied, then takes its
 * name. Both sets may run at once because charges are absolute (bpf/vmem_core.h).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>
#include "bpf/vmem_abi.h"
#include "common/err.h"

enum vmem_map {
	VMEM_MAP_JOBS,
	VMEM_MAP_CONTROL,
	VMEM_MAP_SLOTS,
	VMEM_MAP_SPACES,
	VMEM_MAP_GONE,
	VMEM_MAP_SEEN,
	VMEM_MAP_EVENTS,
	VMEM_MAP_OPS,
	VMEM_MAP_COUNT,
};

/* A program that is attached while there are jobs: vmem/hot.h. */
#define VMEM_HOT_MAX 8
struct vmem_hot {
	const char *program;
	int prog_fd, link_fd; /* link_fd -1: it is not attached */
};

struct vmem_kernel {
	struct vmem_job *jobs; /* VMEM_MAX_JOBS of them, in the map's own memory */
	struct vmem_control *control;
	int map_fd[VMEM_MAP_COUNT];
	int audit_fd;	  /* the iterator's link */
	char hooks[1024]; /* see vmem_hooks() */
	void *skeleton;	  /* NULL when taken over */
	struct vmem_hot hot[VMEM_HOT_MAX];
	size_t n_hot;
};

/* Load and attach all programs of `tier` (1 or 2) on fresh maps. Nothing is pinned yet.
 * -errno with the reason in words when the kernel does not offer the tier. */
int vmem_kernel_load(int tier, uint32_t max_spaces, struct vmem_kernel **ret, struct err *err);

/* Take over a complete pinned set of this version; while it has no jobs the links of vmem/hot.h may be
 * missing. 0; 1: nothing is pinned; 2: only another
 * version's set is, or one with room for another number of address spaces; 3: this version's
 * is, but not whole. */
int vmem_kernel_adopt(const char *pin_dir, uint32_t max_spaces, struct vmem_kernel **ret,
		      struct err *err);

/* Pin a loaded set beside whatever is pinned; _commit then removes the other sets and gives
 * this one its name. The caller copies the old tables between the two calls. */
int vmem_kernel_pin(struct vmem_kernel *k, const char *pin_dir, struct err *err);
int vmem_kernel_commit(const char *pin_dir, struct err *err);
int vmem_kernel_unpin(const char *pin_dir, struct err *err);

/* The version-independent part of every job in the other sets pinned below pin_dir. */
typedef int (*vmem_kernel_job_fn)(void *ctx, const struct vmem_job *head, struct err *err);
int vmem_kernel_old_jobs(const char *pin_dir, vmem_kernel_job_fn fn, void *ctx,
			 struct err *err);

/* Count one cgroup from the task list, into control->audit_*. slot != 0: also enter what is not
 * counted yet. -ENOSPC: more address spaces than the table holds. */
int vmem_kernel_audit(struct vmem_kernel *k, const struct vmem_job *job, uint32_t slot,
		      struct err *err);

struct vmem_kernel *vmem_kernel_close(struct vmem_kernel *k);
