/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owned_job - finds a job that its owner or an operator is about to change. */
#pragma once
#include "controller/api/call.h"

struct owned_job {
	enum job_state state;
	uint32_t uid;
	bool is_array;
	char node[REQUEST_NAME_MAX];
	int64_t preemptor; /* the job that has its cores; 0: none */
};
/* The job of the call. -ENOENT when it is not the caller's and the caller is no operator: as if
 * it did not exist. */
int owned_job_find(struct call *c, struct owned_job *ret, struct err *err);
