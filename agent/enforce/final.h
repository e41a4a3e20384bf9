/* SPDX-License-Identifier: GPL-2.0-or-later */
/* final.h - the final record: how a job ended, as reeve-launch --final wrote it.
 *
 * It is written at every end of a job's unit, also while the agent is away, and has the last
 * counters of the job's cgroup, which no longer exists when the agent reads the record.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/model/job.h"

struct err;

#define FINAL_SIZE_MAX 131072

struct final {
	int64_t job;
	int32_t attempt;
	char boot[40];
	int64_t boottime_ns, realtime_ns; /* when the record was written */
	char result[32], code[16], status[32];
	char failure
		[512]; /* why the launcher was not executed; "": it was, or systemd tells by the status */
	int64_t oom_kills; /* memory.events: processes killed for the memory limit */
	int64_t pids_max;  /* pids.events: forks refused at the limit */
	struct usage usage;
};

/* Pure. -EINVAL: not a complete record of this version. Unknown lines are skipped. */
int final_parse(const char *text, size_t size, struct final *ret, struct err *err);
/* DIR/JOB-ATTEMPT. -ENOENT: none yet. */
int final_load(const char *dir, int64_t job, int32_t attempt, struct final *ret,
	       struct err *err);
void final_remove(const char *dir, int64_t job, int32_t attempt);

/* The end according to the record alone: exited, signaled, or the memory limit when the kernel
 * killed for it. A reason that the agent has latched itself is more exact: the caller keeps it. */
void final_end(const struct final *f, struct job_end *ret);
/* For a job whose program did not start: is that because its unit could not be set up, or the launcher not executed? Then
 * *ret gets END_FAILED with the words, which name the launcher. (A user's program may exit with the same status.) */
bool final_is_setup_failure(const struct final *f, const char *launcher, struct job_end *ret);
