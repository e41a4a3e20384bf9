/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hot.h - the programs that run at every mapping of the whole node, in jobs or not. They are attached
 * while the node has jobs: without one it pays nothing for them. Private to agent/enforce/vmem/.
 *
 * The rest of the set stays attached: forks, programs that start and address spaces that end are rare
 * beside mappings, and an entry of an address space never outlives it. */
#pragma once
#include "agent/enforce/vmem/kernel.h"

/* The set keeps a program of its own from now on, and its link (-1: not attached). Takes both over. */
void vmem_hot_keep(struct vmem_kernel *k, const char *program, int prog_fd, int link_fd);
/* Attaches, and pins below pin_dir (NULL: not), what is not attached yet. The kernel counts every
 * mapping from the return on. 0, or -errno: then some may be attached. */
int vmem_hot_attach(struct vmem_kernel *k, const char *pin_dir, struct err *err);
/* Only while the table has no job. */
void vmem_hot_detach(struct vmem_kernel *k, const char *pin_dir);
/* All of them; none of them. */
bool vmem_hot_is_attached(const struct vmem_kernel *k);
bool vmem_hot_is_detached(const struct vmem_kernel *k);
void vmem_hot_done(struct vmem_kernel *k);
