/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace - the jobs of a history, prepared for a replay: sorted by submission, then by number.
 *
 * Pure. Conventions of a replay: run time and cores are those recorded (cores: allocated); the
 * estimate is the larger of requested time and run time; a job without run time, without cores
 * or with more cores than the machine is rejected and counted by reason. A line out of order is
 * no fault: the jobs are sorted, and such lines are counted.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"
#include "controller/history/history.h"
#include "controller/history/swf.h"
#include "controller/simulate/names.h"

struct err;

struct sim_job {
	int64_t number, submit_s; /* seconds since the trace began, as it has them */
	int64_t run_s, estimate_s;
	int32_t cores;
	uint32_t user, group; /* index into the trace's users and groups */
	uint32_t row;	      /* its place in the file, among jobs */
	uint32_t qos;	      /* of the trace's names, from 1; 0: none recorded */
};

enum sim_why {
	SIM_NO_RUN_TIME, /* <= 0, or not recorded */
	SIM_NO_CORES,
	SIM_TOO_LARGE,	  /* for the machine */
	SIM_NO_SUBMIT,	  /* before the trace, or not recorded */
	SIM_OUT_OF_RANGE, /* figures beyond HISTORY_..._MAX */
	SIM_GARBAGE,	  /* no 18 numbers in the line */
	SIM_PART,	  /* of a job whose whole has a line of its own */
	_SIM_WHY_MAX,
};
const char *sim_why_name(enum sim_why w); /* "no-run-time" */

/* The ids of users or groups, each with a number from 0 in the order of first use. */
struct sim_ids {
	int64_t *ids;
	size_t n, room, slots_n;
	uint32_t *slots;
};

struct sim_trace {
	struct sim_job *jobs;
	size_t n, room;
	struct sim_ids users, groups;
	/* Of a history with names: of user i and group i. */
	struct sim_names user_names, group_names;
	struct sim_names qos;
	int64_t with_gpus; /* jobs: a replay counts their cores alone */
	int64_t max_procs; /* of the header; -1: not recorded */
	int64_t begin_s;   /* second 0 of its times, since 1970; -1: not recorded */
	int64_t lines, rejected[_SIM_WHY_MAX], first_line[_SIM_WHY_MAX];
	struct swf_wholes wholes;
	int64_t disordered; /* jobs that belong before the one above them */
};

void sim_trace_init(struct sim_trace *t);
void sim_trace_done(struct sim_trace *t);

/* One line of a file in the Standard Workload Format, without its newline. -ENOMEM. */
int sim_trace_line(struct sim_trace *t, const char *line, size_t size);
/* Adds a job of a history with names, as sacct and PBS record it; `why` other than HISTORY_OK:
 * why the line is no such job. -ENOMEM; -E2BIG: more jobs than can be replayed. */
int sim_trace_history(struct sim_trace *t, const struct history_job *j, enum history_why why);

#define SIM_NAME_MAX REQUEST_NAME_MAX
/* "physics"; of a trace without names "g12" and "u7". */
const char *sim_trace_group(const struct sim_trace *t, uint32_t group,
			    char buf[static SIM_NAME_MAX]);
const char *sim_trace_user(const struct sim_trace *t, uint32_t user,
			   char buf[static SIM_NAME_MAX]);

/* Once, when all lines are read: sorts, and rejects what is larger than the machine. */
void sim_trace_finish(struct sim_trace *t, int64_t cores);
int64_t sim_trace_rejected(const struct sim_trace *t);
