/* SPDX-License-Identifier: GPL-2.0-or-later */
/* survey - one pass over all that runs on nodes: its sums, and of each job the figures by which one looks for what needs a look. Of a
 * hundred thousand jobs it takes a quarter of a second or more, so it is made in turns (turns.h), and the last one is used again for
 * SURVEY_PER_PASS times as long as it took, SURVEY_KEEP_NS at least and SURVEY_KEEP_MOST_NS at most: however many look, a pass of two seconds takes a
 * thirtieth of the time. One that a single turn can make is made each time. Between two turns jobs begin and end: each job is read once, as
 * it was at one moment of the pass.
 */
#pragma once
#include "controller/api/context.h"
#include "controller/dispatch/names.h"
#include "controller/ledger/nodes/running.h"

#define SURVEY_KEEP_NS (5 * S_NS)
#define SURVEY_PER_PASS 30
#define SURVEY_KEEP_MOST_NS MIN_NS

/* A running job that has reported, on one node. */
struct survey_job {
	int64_t job;
	int64_t at_ns, running_ns, gpu_idle_ns; /* as struct store_running has them */
	int64_t idle_core_ms; /* cores times running time without the CPU time; not measured: 0 */
	int32_t node, account; /* numbers of names */
	uint32_t uid;
};

struct survey {
	struct survey_job *jobs;
	size_t n, size;
	struct names nodes, accounts;
	int64_t n_jobs; /* on nodes, also those that have not reported or are suspended: one
				    on two nodes counts twice */
	struct resources in_use; /* of nodes that are not lost */
	/* how far it is */
	struct store_running_place at;
	char at_node[REQUEST_NAME_MAX];
	bool is_whole;
	unsigned n_turns;
	int64_t read_ns; /* CLOCK_MONOTONIC: when the last part was read */
	int64_t took_ns; /* to read them so far, without what was done between the turns */
};

/* *ret is the caller's until it returns to the loop. -EAGAIN: it is not whole in this turn; -ENOMEM; what the ledger says. */
int survey_take(struct api *a, const struct survey **ret, struct err *err);
struct survey *survey_free(struct survey *s);
