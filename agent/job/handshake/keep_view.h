/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keep_view.h - the namespaces that the manager made for a job, passed to the process that keeps them (common/views/views.h) before
 * the user's program begins. */
#pragma once
#include "agent/job/job.h"

/* Has that process started, unless it runs. */
void handshake_start_keeper(struct node *n);

/* `j->s.pid` is the launcher, in the job's cgroup. 1: that process is not up yet, and has been started: to be called again. 0: done; or a note of the
 * job says why no steps and sessions can enter it. */
int handshake_keep_view(struct node *n, struct job *j);
