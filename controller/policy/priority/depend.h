/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depend - is a dependency of a job (afterok, afterany) met, by the end of the job it waits
 * for?
 *
 * Pure. A job depends only on jobs submitted before it, so there are no circles; a verdict
 * other than "waits" is final, since an end does not change.
 */
#pragma once
#include "common/model/after.h"
#include "common/model/job.h"

enum depend_verdict {
	DEPEND_WAITS,
	DEPEND_MET,
	DEPEND_FAILED, /* it can never be met */
};

/* Did it exit with status 0? */
bool depend_is_well(const struct job_end *end);
/* By the end of the job that it waits for; kind END_NONE: that job has not ended. */
enum depend_verdict depend_judge(enum after_kind kind, const struct job_end *end);

/* Why the dependency is not met, as the job's end or its reason to wait: "it was to run once
 * job 12 ended well (afterok), and that one was cancelled: ..."; "waits for job 12 to end
 * (afterany)". */
#define DEPEND_WORDS_MAX 256
const char *depend_words(struct after a, const struct job_end *end,
			 char buf[static DEPEND_WORDS_MAX]);
