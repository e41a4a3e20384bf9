/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocs.h - GPU memory as processes ask for it: uprobes on the functions of the CUDA driver
 * library that every framework calls in the end (cuMemAlloc_v2, cuMemFree_v2). Opt-in: what it
 * costs is in docs/performance.md. Nothing is pinned: a restarted agent counts from its start on.
 *
 * By process, not by device. Exact for what goes through those functions; managed memory, pools
 * (cuMemAllocAsync) and mapped ranges (cuMemCreate) do not.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/cleanup.h"

struct allocs;
struct err;

struct allocs_of {
	int64_t bytes, peak_bytes; /* allocated and not freed, now and at most */
	int64_t n_allocs, n_frees;
	int64_t n_lost; /* not counted: too many stood on this node */
};

/* Probes every process that has this file mapped, now or later. -ENOENT: no such file or
 * function; -EPERM and others: the kernel's reason. */
int allocs_open(const char *libcuda, struct allocs **ret, struct err *err);
struct allocs *allocs_close(struct allocs *a);
DEFINE_CLEANUP(struct allocs *, allocs_close)

/* -ENOENT: it allocated nothing since the probes stood. */
int allocs_read(const struct allocs *a, pid_t pid, struct allocs_of *ret);
/* Forget those for which `is_alive` says no, with what they had not freed. */
void allocs_prune(struct allocs *a, bool (*is_alive)(void *ctx, pid_t pid), void *ctx);
