/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempt_impl - what a pass of the rule SCHEDULE_PREEMPT works with, for the files of this folder. */
#pragma once
#include "controller/scheduler/preempt/preempt.h"
#include "controller/scheduler/preempt/room.h"
#include "controller/scheduler/preempt/tally.h"
#include "controller/scheduler/schedule_impl.h"

/* A queued job in the shuffled order of its queue. */
struct preempt_entry {
	int64_t score;
	int32_t job, most_cores;
	size_t position; /* in the order of submission */
};

/* A running job that may be preempted. */
struct preempt_victim {
	int32_t job;
	bool is_new; /* started in this pass: its start is withdrawn, it is not suspended */
	double score;
};

/* A suspended job, in the order of resuming. */
struct preempt_suspended {
	double xfactor;
	int32_t job;
};

/* What a pass does next; it may stop in between when its time is over. */
enum preempt_stage {
	PREEMPT_SEEK_STARVING, /* from queue entry `at` on, unless a suspended job is pressing */
	PREEMPT_RESERVE,       /* for `reserved` */
	PREEMPT_OPEN_QUEUE,    /* `queue`: resume its jobs, shuffle it */
	PREEMPT_START_QUEUE,   /* from p->order[at] on */
};

struct preempt {
	bool is_begun; /* the pass under way is */
	enum preempt_stage stage;
	size_t at;
	int32_t reserved;     /* the job that is to get the reservation; -1: none */
	int64_t run_priority; /* of the queues that are under way; INT64_MIN: all are done */
	int32_t queue;
	uint32_t used;	    /* bits of the queues that have queued or suspended jobs */
	struct tally cores; /* while a queue is shuffled: of the jobs above */
	struct tally
		running; /* running jobs by owner; counted once a pass, when first needed */
	bool is_counted;
	struct preempt_entry *order; /* of all queues, one after the other */
	size_t n_order, max_order;
	struct preempt_victim *victims;
	size_t n_victims, max_victims;
	struct room room;
	struct preempt_suspended *sorted; /* of a queue, by XFactor */
	size_t max_sorted;
	int attempts; /* at preempting, in this pass */
};

/* Appends the queued jobs of a queue to p->order, shuffled (shuffle.c). 0 or -ENOMEM. */
int preempt_shuffle_queue(struct schedule *s, int32_t queue);
/* What the score needs of a job, but for n_running (preemptees.c). */
struct preempt_job preempt_job_of(const struct job *j, int64_t now_s);
/* Starts a job that does not fit by preempting others (preemptees.c). 1: it started; 0: there are
 * not enough jobs that it may preempt, and nothing has changed; -ENOMEM. */
int preempt_start(struct schedule *s, int32_t job, int64_t now_s);
