/* limit.h - what happens at a limit: the kill first, the reason after, once. */
#pragma once
#include "agent/job/job.h"

/* Callbacks of the doors; ctx is the node. */
void limit_on_vmem(void *ctx, const struct vmem_excess *x);
void limit_on_oom(void *ctx, const struct events_oom *oom);
void limit_on_quota(void *ctx, const struct guard_quota *q);
void limit_on_denied(void *ctx, const struct guard_denied *d);
void limit_on_left(void *ctx, const struct guard_left *l);

/* What no event tells, once a measurement: forks refused at the bound, jobfs full where the
 * kernel side cannot say so. */
void limit_check_sampled(struct node *n, struct job *j);
/* (Re)arm the walltime for the present state of the clock. */
void limit_arm_clock(struct node *n, struct job *j);
/* When it is due: walltime over, or the grace after TERM. */
void limit_check_clock(struct node *n, struct job *j);
/* Why nobody asked: reason from latched kernel state of a job that ended without the agent. */
void limit_read_latches(struct node *n, struct job *j);
