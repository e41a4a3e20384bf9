/* swf - the Standard Workload Format of the Parallel Workloads Archive: 18 fields by blanks a
 * job, "; Key: value" headers, -1 for what is not known.
 *
 * Pure. Rules of reading: start = submit + wait (0 when not told), end = start + run; cores =
 * allocated processors; memory (KB a processor) and cpu time (s a processor) are taken times
 * the processors; user N is "uN", group N is the account "gN".
 */
#pragma once
#include "controller/history/history.h"

struct swf {
	int64_t epoch_s; /* UnixStartTime; -1: no such header yet */
};
#define SWF_INIT                                                                               \
	{                                                                                      \
		.epoch_s = -1                                                                  \
	}

/* A line that is no job: a header or a comment (read into *f), or blank. */
#define SWF_NO_JOB (-1)
/* An enum history_why, or SWF_NO_JOB. `line` is without its newline; need not end with 0. */
int swf_parse_line(struct swf *f, const char *line, size_t size, struct history_job *ret);
