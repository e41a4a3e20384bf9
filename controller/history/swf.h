/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swf - the Standard Workload Format of the Parallel Workloads Archive: 18 fields by blanks a
 * job, "; Key: value" headers, -1 for what is not known.
 *
 * Pure. Rules of reading: start = submit + wait (0 when not recorded), end = start + run; cores
 * = allocated processors; memory (KB a processor) and cpu time (s a processor) are multiplied
 * by the processors; user N is "uN", group N is the account "gN"; the queue is "qN" of queue N,
 * or without one "pN" of partition N. Cpu time is read to the millisecond.
 */
#pragma once
#include <stdbool.h>
#include "controller/history/history.h"

struct swf {
	int64_t epoch_s; /* UnixStartTime; -1: no such header yet */
};
#define SWF_INIT                                                                               \
	{                                                                                      \
		.epoch_s = -1                                                                  \
	}

/* The fields of a line, in order. */
enum swf_field {
	SWF_NUMBER,
	SWF_SUBMIT,
	SWF_WAIT,
	SWF_RUN,
	SWF_CORES, /* allocated */
	SWF_CPU_TIME,
	SWF_MEM_USED,
	SWF_CORES_ASKED,
	SWF_TIME_ASKED,
	SWF_MEM_ASKED,
	SWF_STATUS,
	SWF_UID,
	SWF_GID,
	SWF_EXECUTABLE,
	SWF_QUEUE,
	SWF_PARTITION,
	SWF_PRECEDING,
	SWF_THINK_TIME,
	_SWF_FIELD_MAX,
};

/* A line that is no job: a header or a comment (read into *f), or blank. */
#define SWF_NO_JOB (-1)
/* An enum history_why, or SWF_NO_JOB. `line` is without its newline; need not end with 0. */
int swf_parse_line(struct swf *f, const char *line, size_t size, struct history_job *ret);

/* The parts of it: a job's fields as they stand there (HISTORY_OK, HISTORY_GARBAGE, ..., or
 * SWF_NO_JOB for a blank line), and the number behind "; KEY:" of a header. */
int swf_parse_fields(const char *line, size_t size, int64_t ret[static _SWF_FIELD_MAX]);
bool swf_parse_header(const char *line, size_t size, const char *key, int64_t *ret);
