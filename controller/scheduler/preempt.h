/* preempt - the cycle with suspension, and the score that decides who gives way.
 *
 * Pure. Source: NCI National Facility, "Job Scheduling and Resource Allocation Policy":
 *shuffled queues, resume first, priority-run, parallel-run, pairwise suspension score,
 *start-time window.
 *
 * One cycle, for each queue from the highest run priority down:
 *  1. Shuffle. Each queued job is scored by the cores of all jobs above it in its queue, in any
 *     state, of the same user or group: those that run or are suspended, and those that were
 *     handed in before it. The smallest score goes first, then who came first.
 *  2. Suspended jobs go on where their cores are free, the one with the largest XFactor first.
 *  3. Each queued job starts where it fits; else by a priority-run: jobs of lower run priority
 *     give way; else by a parallel-run: smaller jobs of the same or a lower run priority give
 *     way if the score says so. Those that start in this very cycle and suspended nobody give
 *     way first: their start is withdrawn, and they count as late from then on.
 * An exclusive job suspends nobody: who is suspended keeps memory, so the node is not empty.
 *
 * Nobody starves: the place of the most pressing job is kept as schedule.h says, of one that
 * waits for longer than late_s, or that is suspended with an XFactor beyond PREEMPT_PRESSING.
 *
 * XFactor = (walltime requested + time suspended, past and projected + time late) / walltime
 * requested. Projected is all that the suspender may run.
 *
 * The score of a pair is a sum of bounded curves, each flat in the ordinary and steep in the
 * extreme; more than 0 allows a parallel-run, and among those that may give way the highest
 *goes first:
 *
 *   size	+ x^3,     x = log2(cores of the suspender / cores of the other) / 4, in -1 ...
 *1 running	+ x^3,     x = log2((1 + jobs that run of the other's owner) / (1 + of the
 *suspender's owner)) / 6, in -1 ... 1
 *   expansion	- x^3,     x = (XFactor - 1) / 0.25, in 0 ... 2
 *   done	- 2 x^8,   x = time run / walltime requested, in 0 ... 1
 *
 * Owner is the user or the group, whichever has more. A parallel-run is out of the question
 * where the XFactor would be beyond PREEMPT_XFACTOR or the other is not smaller.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define PREEMPT_XFACTOR 1.25
#define PREEMPT_PRESSING 1.15

struct preempt_side {
	int64_t cores;
	int64_t limit_s, ran_s;
	int64_t suspended_s; /* so far */
	int64_t late_s;	     /* started so long after it could have */
	int64_t n_running;   /* jobs of its owner */
};

struct preempt_score {
	double xfactor; /* of the one that gives way, when the suspender has run to its limit */
	double size, running, expansion, done; /* as they are added */
	double sum;
	bool may_parallel;
};
struct preempt_score preempt_score(const struct preempt_side *suspender,
				   const struct preempt_side *other);
/* With nothing projected. A limit of 0 counts as a second. */
double preempt_xfactor(const struct preempt_side *j);
