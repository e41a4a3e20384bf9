/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views_rig - the process that keeps views, as the agent starts it, and processes whose views it keeps. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "common/views/views.h"

#define VIEWS_RIG_WAIT_US 20000
#define VIEWS_RIG_WAITS 3000

/* Started, and not waited for. */
pid_t views_rig_fork_keeper(const char *socket);
/* It answers. */
pid_t views_rig_start_keeper(const char *socket);
void views_rig_end(pid_t pid);

/* A process with the namespaces of `unshare_what`, in `cgroup` (NULL: ours). A mount namespace gets a directory /mnt/inside of its own. */
pid_t views_rig_start_main(int unshare_what, const char *cgroup);
/* Has it make namespaces of its own, as a user can, and hide /mnt. Once. */
void views_rig_go_elsewhere(pid_t pid);
/* As the agent does. */
void views_rig_keep(const char *socket, struct views_id id, pid_t pid);
