/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_submit.h - what reeve-slurm-submit sends to the controller of a job that is submitted to Slurm, and the answer:
 * POST /v1/slurm/submit (docs/protocol.md). */
#pragma once
#include "common/model/request.h"
#include "common/wire/fields.h"
#include "common/wire/slurm_pending.h"

#define SLURM_SUBMIT_PATH "/v1/slurm/submit"
#define SLURM_SUBMIT_QUEUES_MAX 16 /* partitions that one job may name */
#define SLURM_SUBMIT_TASKS_MAX SLURM_PENDING_TASKS_MAX
#define SLURM_SUBMIT_NO_LIMIT_S                                                                \
	(366 * INT64_C(86400)) /* a job without a time limit counts as this */

struct slurm_submit {
	char cluster[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	char account[REQUEST_NAME_MAX]; /* "": none is known */
	char queues[1024];		/* partitions by commas; "": none is known */
	char qos[REQUEST_NAME_MAX];	/* "": none stated */
	char gpu_model[REQUEST_NAME_MAX];
	int64_t ncpus, ngpus, mem_bytes, walltime_s; /* of one job; 0: not known */
	int64_t tasks; /* jobs that it is: more than 1 of an array */
	int64_t job;   /* Slurm's id of a job that is changed; 0: a new one */
	bool is_exclusive;
	bool is_unchanged; /* not sent: `job` is judged as it waits */
};

enum slurm_submit_verdict {
	SLURM_SUBMIT_ACCEPT,
	SLURM_SUBMIT_MOVE, /* to the partition `queue` */
	SLURM_SUBMIT_REFUSE,
	_SLURM_SUBMIT_VERDICT_MAX,
};
const char *slurm_submit_verdict_name(int v);

#define SLURM_SUBMIT_TEXT_MAX 800
struct slurm_submit_answer {
	int verdict; /* enum slurm_submit_verdict */
	char queue[REQUEST_NAME_MAX];
	char text[SLURM_SUBMIT_TEXT_MAX]; /* for the user; "": nothing to say */
};

extern const struct wire_field slurm_submit_fields[];
extern const struct wire_field slurm_submit_answer_fields[];
