/* depend - may a job go on, by how the ones it waits for ended?
 *
 * Pure. A job waits only for jobs that were there before it, so there are no circles, and what
 * is judged once stays so: an end does not change.
 */
#pragma once
#include "common/model/after.h"
#include "common/model/job.h"

enum depend_verdict {
	DEPEND_WAITS,
	DEPEND_MET,
	DEPEND_FAILED, /* it can never be met */
};

/* Ended by itself with status 0. */
bool depend_is_well(const struct job_end *end);
/* By the end of the one waited for; kind END_NONE: it has not ended. */
enum depend_verdict depend_judge(enum after_kind kind, const struct job_end *end);

/* What stands against it, for the end or the wait of the job: "it was to run when job 12 ends
 * well (afterok), and that one was cancelled: ..."; "waits for job 12 to end (afterany)". */
#define DEPEND_WORDS_MAX 256
const char *depend_words(struct after a, const struct job_end *end,
			 char buf[static DEPEND_WORDS_MAX]);
