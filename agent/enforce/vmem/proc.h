/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc.h - the address spaces of a cgroup as /proc shows them. Private to vmem; tier 3.
 *
 * /proc counts a shared address space once per process and shows 0 for a process whose main
 * thread has exited. Both are corrected here as far as possible: a live thread is read in place
 * of the main one, and kcmp(2) compares address spaces. What remains is that the processes
 * change while they are read; vmem_proc_check() looks again at what would count as an excess.
 */
#pragma once
#include <stddef.h>
#include "agent/enforce/vmem/vmem.h"

struct vmem_proc_list {
	struct vmem_process *at; /* one per address space, largest first */
	size_t n, room;
	uint64_t bytes;
	uint64_t private_bytes;
};

/* Replace the contents of `list` by the address spaces of the cgroup and all below it. */
int vmem_proc_audit(int cgroup_fd, struct vmem_proc_list *list, struct err *err);
/* Correct the sizes downwards. The size of a process counts a mapping twice while mremap() moves it (the kernel
 * adds the new place before it takes the old one away, and shows the size without a lock); the list of its mappings
 * does not. One that cannot be listed keeps its size, and so does one that has run exec() since: it had it. */
void vmem_proc_check(struct vmem_proc_list *list);
void vmem_proc_done(
	struct vmem_proc_list *list); /* frees what it holds; `list` is empty then */
/* Memory for one more process at list->at[list->n], which the caller fills, then counts in
 * list->n. NULL: out of memory. */
struct vmem_process *vmem_proc_room(struct vmem_proc_list *list);

/* Largest first; for tables from any source. */
void vmem_proc_sort(struct vmem_process *at, size_t n);
