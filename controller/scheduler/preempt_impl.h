/* preempt_impl - what a cycle of preempt.h keeps, for its own files. */
#pragma once
#include "controller/scheduler/preempt.h"
#include "controller/scheduler/schedule_impl.h"

/* Cores by user, by group, and by both. */
struct tallies {
	struct tally {
		uint64_t key;
		int64_t n;
		uint64_t stamp; /* another than the table's: free */
	} * slots;
	size_t size, n; /* a power of two */
	uint64_t stamp;
};
#define TALLY_USER(u) (UINT64_C(1) << 62 | (uint32_t)(u))
#define TALLY_GROUP(g) (UINT64_C(2) << 62 | (uint32_t)(g))
#define TALLY_BOTH(u, g) (UINT64_C(3) << 62 | (uint64_t)(uint32_t)(u) << 31 | (uint32_t)(g))
void tallies_clear(struct tallies *t);
/* Room for n more keys; -ENOMEM. */
int tallies_room(struct tallies *t, size_t n);
int64_t tallies_add(struct tallies *t, uint64_t key, int64_t n); /* returns the new sum */

struct shuffled {
	int64_t score;
	int32_t job, most_cores;
	size_t place; /* in the order of submission */
};

struct victim {
	int32_t job;
	bool is_new; /* is not suspended, its start is withdrawn */
	double score;
};

struct preempt {
	struct tallies cores;	/* above, while a queue is shuffled */
	struct tallies running; /* jobs by owner, once anybody shall give way in this pass */
	bool is_counted;
	struct shuffled *order; /* of all queues, one after the other */
	size_t n_order, max_order;
	struct victim *victims;
	size_t n_victims, max_victims;
	int32_t *sorted; /* suspended jobs */
	size_t max_sorted;
	int attempts; /* at suspending, in this pass */
};

/* Puts the jobs of a queue behind p->order (shuffle.c). */
int shuffle_queue(struct schedule *s, int32_t queue);
/* Without n_running. */
struct preempt_side preempt_side(const struct job *j, int64_t now_s);
/* 1: suspended who had to give way, and started it (victims.c). */
int preempt_start(struct schedule *s, int32_t job, int64_t now_s);
