/* SPDX-License-Identifier: GPL-2.0-or-later */
/* make_plan.h - the plan that a launcher gets: what to run, and in which limits and
 * environment. */
#pragma once
#include "agent/job/job.h"

/* A whole PLAN frame (agent/launch/plan.h), head included; caller frees. `step` NULL: the job's
 * own command; a sister part's is to hold. Else what is started in it later: of *step count
 * argv (or script), env, workdir and where output goes, which `stream` leaves to descriptors;
 * what Reeve tells, the limits and the GPUs are the job's, as is `res`. -E2BIG, -ENOMEM,
 * -EINVAL (nothing to run). */
int handshake_make_plan(struct job *j, const struct request *step, char **ret, size_t *ret_size,
			struct err *err);
/* What a system call filter has to refuse (enum plan_deny), since the kernel side does not. */
uint32_t handshake_denials(const struct node *n);
/* RLIMIT_AS of the job's processes; 0: none. */
uint64_t handshake_backstop(const struct job *j);
