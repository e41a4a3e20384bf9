/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.h - the processes that PBS makes, as the kernel has them: who the parent is, whose it is, in which cgroup. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/err.h"

/* The parent of the hook that asks: root's, and about to become a task. -EPERM: it is not; -ESRCH: gone. */
int process_find_task(int32_t hook, int32_t *ret, struct err *err);
/* Is all of it the user's? -EPERM: it is another's. */
int process_check_owner(int32_t pid, uint32_t uid, struct err *err);
/* May it be moved to the cgroup `job`? It is in there, or below, or where its parent is. -EBUSY: another program has made a cgroup for it,
 * whose limits it must not leave. */
int process_check_cgroup(int32_t pid, const char *job, struct err *err);
bool process_is_in(int32_t pid, const char *cgroup);
/* -errno of the write. */
int process_move(int32_t pid, const char *cgroup, struct err *err);
