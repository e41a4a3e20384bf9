/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swf - the Standard Workload Format of the Parallel Workloads Archive: 18 fields by blanks a
 * job, "; Key: value" headers, -1 for what is not known.
 *
 * Pure. Rules of reading: start = submit + wait (0 when not recorded), end = start + run; cores
 * = allocated processors; memory (KB a processor) and cpu time (s a processor) are multiplied
 * by the processors; user N is "uN", group N is the account "gN"; the queue is "qN" of queue N,
 * or without one "pN" of partition N. Cpu time is read to the millisecond. A line whose status
 * says that it is a part of a job (2, 3, 4) is HISTORY_PART where the line of the whole job, of
 * the same number, came before it.
 */
#pragma once
#include <stdbool.h>
#include "controller/history/history.h"

/* The numbers of whole jobs, as bits. */
struct swf_wholes {
	uint64_t *bits;
	size_t n; /* words */
};
#define SWF_WHOLES_MAX                                                                         \
	(1LL << 28) /* a part with this number or a larger one is a job of its own */

struct swf {
	int64_t epoch_s; /* UnixStartTime; -1: no such header yet */
	struct swf_wholes wholes;
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
void swf_done(struct swf *f);
/* Notes the number of a whole job. 1: the line is a part of a job that was noted; -ENOMEM. */
int swf_note_whole(struct swf_wholes *w, const int64_t v[static _SWF_FIELD_MAX]);
/* An enum history_why, SWF_NO_JOB, or -ENOMEM. `line` is without its newline; need not end with 0. */
int swf_parse_line(struct swf *f, const char *line, size_t size, struct history_job *ret);

/* The parts of it: a job's fields as they stand there (HISTORY_OK, HISTORY_GARBAGE, ..., or
 * SWF_NO_JOB for a blank line), and the number behind "; KEY:" of a header. */
int swf_parse_fields(const char *line, size_t size, int64_t ret[static _SWF_FIELD_MAX]);
bool swf_parse_header(const char *line, size_t size, const char *key, int64_t *ret);
