/* suspend.h - suspend and resume: a suspended job gives back its cores and keeps its memory
 * and disk; it goes on on whatever cores are free then.
 */
#pragma once
#include "agent/job/job.h"

/* Bring the job to what was ordered, one step nearer; called again after each. */
void suspend_apply(struct node *n, struct job *j);
/* The manager's answers. */
void suspend_on_done(struct node *n, struct job *j, enum manager_order order, int result,
		     const struct err *err);
/* events_config.on_frozen; ctx is the node. Somebody, perhaps not we, froze or thawed it. */
void suspend_on_frozen(void *ctx, int64_t job, bool frozen, uint64_t boot_ns);
