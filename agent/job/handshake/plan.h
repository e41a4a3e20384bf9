/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.h - the plan of a job as bytes for the launcher (agent/launch/plan.h).
 *
 * Pure: request and places in, bytes out.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "agent/launch/plan.h"
#include "common/model/request.h"

struct job_plan {
	const struct request *request;
	int64_t job;
	int32_t attempt;
	const char *node, *cpus;	 /* name; list of hardware threads */
	char *const *gpu_env;		 /* of gpus_env(); NULL: none */
	const char *dir;		 /* the job's directory; NULL: none */
	const char *jobfs, *script_path; /* the user's in it; NULL: none */
	bool is_sister;			 /* nothing runs: it holds what is started in it */
	uint64_t rlimit_as;		 /* 0: none */
	uint32_t deny;			 /* enum plan_deny */
};

/* A whole PLAN frame, head included; caller frees. -E2BIG, -ENOMEM, -EINVAL (nothing to run).
 */
int job_plan_encode(const struct job_plan *p, char **ret, size_t *ret_size, struct err *err);
/* The job's output files as absolute paths: what was asked for, else WORKDIR/NAME.oJOB and
 * .eJOB. `*ret_err` NULL: the same file as out. Caller frees both. -ENOMEM. */
int job_plan_outputs(const struct request *q, int64_t job, char **ret_out, char **ret_err);
