/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_view - decodes a job of an answer for the verbs that show jobs. */
#pragma once
#include <jansson.h>
#include "common/model/job.h"

struct err;

struct job_view {
	const json_t *j; /* the whole object; borrowed; NULL: of a row (job_row.h) */
	int64_t job;
	char id[REQUEST_NAME_MAX + 16]; /* "12", "12[7]", "CLUSTER:12" */
	enum job_state state;
	struct resources requested;
	struct usage usage; /* nothing measured: `have` is 0 */
	struct job_end end; /* END_NONE while it has not ended */
	int64_t running_ns, suspended_ns;
	/* Borrowed; NULL: none. */
	const char *node, *nodes; /* the first node, and all of a job on several */
	const json_t *array;	  /* of an array: counts of its tasks */
	bool is_gpu_idle;
};

/* *ret borrows j. -EPROTO: the answer is not what docs/protocol.md says; err names the key. */
int job_view_read(const json_t *j, struct job_view *ret, struct err *err);

#define JOB_VIEW_RESULT_MAX 64
/* The result in a few words: "running", "exit 0", "signal 9 (KILL)", "vmem limit", "cancelled". */
const char *job_view_result(const struct job_view *v, char buf[static JOB_VIEW_RESULT_MAX]);
/* A condition that needs attention while it lasts: "GPU idle 23 min"; else NULL. */
const char *job_view_flag(const struct job_view *v, char *buf, size_t size);
bool job_view_is_bad(
	const struct job_view *v); /* it ended, neither with exit status 0 nor cancelled */
#define JOB_VIEW_ARRAY_MAX 160
/* Of an array: "0-999%20: 968 queued, 20 under way, 12 ended, 1 of them not well". NULL: the job is
 * not an array. */
const char *job_view_array(const struct job_view *v, char *buf, size_t size);
