/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct - finished jobs as Slurm's `sacct --parsable2` prints them: 26 fields by "|", in the
 * order jobid, jobidraw, cluster, partition, qos, account, group, gid, user, uid, submit,
 * eligible, start, end, elapsed, exitcode, state, nnodes, ncpus, reqcpus, reqmem, reqtres,
 * alloctres, timelimit, nodelist, jobname.
 *
 * Pure. Rules of reading: the job's number is jobidraw; cores are ncpus and GPUs the
 * gres/gpu of alloctres (allocated, not requested), by model where gres/gpu:MODEL is listed;
 * memory requested is the mem of alloctres, or reqmem times nodes (n) or cores (c); the time
 * from start to end beyond elapsed is suspended; the queue is the partition. Times have no zone
 * there: `zone` converts them. Where clocks went back, a time that comes twice is the
 * first of both that agrees with elapsed. A job step ("12.batch") is no job. The name of a job
 * may hold "|": what is beyond field 25 belongs to it.
 */
#pragma once
#include "controller/history/history.h"

/* The moment at which a zone's clocks showed `local_s`, seconds since 1970-01-01 as if they
 * were UTC's; the `later` of two where it comes twice. Where clocks skipped it: as if they had
 * not. */
enum sacct_which { SACCT_EARLIER, SACCT_LATER };
typedef int64_t (*sacct_zone_fn)(void *ctx, int64_t local_s, enum sacct_which which);
struct sacct {
	sacct_zone_fn zone; /* NULL: UTC */
	void *ctx;
};

/* A blank line, a heading or a step of a job. */
#define SACCT_NO_JOB (-1)
/* An enum history_why, or SACCT_NO_JOB. `line` is without its newline; need not end with 0. */
int sacct_parse_line(const struct sacct *f, const char *line, size_t size,
		     struct history_job *ret);
