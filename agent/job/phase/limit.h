/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit.h - a job reached a limit: kill it first, then latch the reason, once.
 *
 * From a limit to the end message, each file once:
 *	bpf/vmem_core.h		the kernel side counts, refuses or kills the offender, latches the excess
 *	enforce/vmem/excess.c	vmem_dispatch() reads the latch (guard.c, events.c: quota, OOM) and calls back here
 *	phase/limit.c		limit_on_...(): kill the job (phase/kill.c), latch the reason, list its processes
 *	phases.c		act_running(): SIGTERM where nothing was killed yet; the final record enters PHASE_FINAL
 *	phase/end.c		job_finish(): merges the latched reason with the final record
 *	model/job.c		reason_format(): the sentence
 *	phase/end_message.c	appends it to the job's error file; the final report carries it to the controller
 *
 * Sources, in the order of limit.c; each has one entry, and all of them end in latch_limit():
 *	limit_on_vmem()		vmem: event of the kernel side (tier 3: of the poll)
 *	limit_on_oom()		mem: OOM event
 *	limit_on_quota()	jobfs: quota event
 *	limit_check_sampled()	pids, and jobfs where the kernel sends no event: each sample
 *	limit_check_clock()	walltime: the timer of job/due.c
 *	limit_read_latches()	vmem while no agent ran: read from the kernel in FINAL
 */
#pragma once
#include "agent/job/job.h"

/* Callbacks of vmem, events and guard; ctx is the node. */
void limit_on_vmem(void *ctx, const struct vmem_excess *x);
void limit_on_oom(void *ctx, const struct events_oom *oom);
void limit_on_quota(void *ctx, const struct guard_quota *q);
void limit_on_denied(void *ctx, const struct guard_denied *d);
void limit_on_left(void *ctx, const struct guard_left *l);

/* Limits for which there is no event, checked with each sample: forks refused by pids.max, and a full jobfs where the
 * kernel sends no quota event. */
void limit_check_sampled(struct node *n, struct job *j);
/* Arm the walltime again for the present state of the clock. */
void limit_arm_clock(struct node *n, struct job *j);
/* When the clock is due: the walltime has passed, or the grace after TERM. */
void limit_check_clock(struct node *n, struct job *j);
/* The limit of memory that messages state: the request, or the amount that the site derives from vmem. The kernel's own is rounded
 * to whole pages. */
int64_t limit_mem_bytes(const struct job *j);
/* For a job that ended while the agent was away: take the reason from the excess latched in the kernel. */
void limit_read_latches(struct node *n, struct job *j);
