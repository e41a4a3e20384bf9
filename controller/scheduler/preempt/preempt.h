/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempt - the rule SCHEDULE_PREEMPT: jobs may be suspended so that others run. This header has
 * the rule and the score that decides which running job is preempted.
 *
 * Pure. Source: NCI National Facility, "Job Scheduling and Resource Allocation Policy": shuffled
 * queues, resume first, priority-run, parallel-run, pairwise suspension score, start-time window.
 *
 * One pass, for each queue from the highest run priority down:
 *
 *  1. Shuffle. Each queued job is scored by the cores of all jobs above it in its queue, in any
 *     state, of the same user or group: running and suspended ones, and queued ones that were
 *     submitted before it. The smallest score goes first, then the earliest submission.
 *  2. Resume. Suspended jobs resume where their cores are free, the largest XFactor first.
 *  3. Start. Each queued job starts
 *      - where it fits; else
 *      - by a priority-run: it preempts jobs of queues with a lower run priority; else
 *      - by a parallel-run: it preempts smaller jobs of the same or a lower run priority, if the
 *        score allows it.
 *     Jobs that started in this very pass without preempting any are chosen first: their start
 *     is withdrawn, and they are overdue from then on.
 *
 * An exclusive job preempts none: a suspended job keeps its memory, so its node is not empty.
 *
 * No job starves: the most pressing job gets the reservation (reservation.h). That is a suspended
 * job with an XFactor beyond PREEMPT_PRESSING, else the first queued job that has waited for
 * longer than schedule_config.reserve_after_s.
 *
 *   XFactor = (walltime requested + time suspended, past and projected + time overdue)
 *	       / walltime requested
 *
 * The projected time is all that the preemptor may still run.
 *
 * The score of a pair is a sum of bounded curves, each flat in the ordinary and steep in the
 * extreme. A score above 0 allows a parallel-run; the job with the highest score is preempted
 * first.
 *
 *   size	+ x^3	x = log2(cores of the preemptor / cores of the preemptee) / 4, in -1 ... 1
 *   running	+ x^3	x = log2((1 + running jobs of the preemptee's owner)
 *			       / (1 + running jobs of the preemptor's owner)) / 6, in -1 ... 1
 *   expansion	- x^3	x = (XFactor of the preemptee - 1) / 0.25, in 0 ... 2
 *   done	- 2 x^8	x = time the preemptee has run / walltime it requested, in 0 ... 1
 *
 * Owner is the user or the group, whichever has more running jobs. There is no parallel-run where
 * the preemptee's XFactor would exceed PREEMPT_XFACTOR, or where it is not smaller than the
 * preemptor.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define PREEMPT_XFACTOR 1.25
#define PREEMPT_PRESSING 1.15

/* One of the two jobs of a pair, by now. */
struct preempt_job {
	int64_t cores;
	int64_t limit_s, ran_s;
	int64_t suspended_s; /* so far */
	int64_t overdue_s;   /* between its first withdrawn start and its real start */
	int64_t n_running;   /* jobs of its owner */
};

struct preempt_score {
	double xfactor; /* of the preemptee, when the preemptor has run to its limit */
	double size, running, expansion, done; /* with their signs: sum adds them */
	double sum;
	bool may_parallel; /* does it allow a parallel-run? */
};
struct preempt_score preempt_score(const struct preempt_job *preemptor,
				   const struct preempt_job *preemptee);
/* The XFactor by now, with nothing projected. A limit of 0 counts as a second. */
double preempt_xfactor(const struct preempt_job *j);
