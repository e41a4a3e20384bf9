/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspend.h - suspend and resume: a suspended job frees its cores and keeps its memory and disk; it resumes on any
 * cores that are free then.
 */
#pragma once
#include "agent/job/job.h"

/* Make the next manager call towards the desired state; called again after each answer. */
void suspend_apply(struct node *n, struct job *j);
/* The manager's answers. */
void suspend_on_done(struct node *n, struct job *j, enum manager_order order, int result,
		     const struct err *err);
/* events_config.on_frozen; ctx is the node. The agent or another process of root froze or thawed the job. */
void suspend_on_frozen(void *ctx, int64_t job, bool frozen, uint64_t boot_ns);
