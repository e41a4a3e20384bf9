/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job - a test job of a user, from its submission to its output. */
#pragma once
#include "cli/admin/doctor/judge/link.h"

struct gather_job {
	const char *account, *config, *controller; /* of `reeve run`; NULL: not given */
};
/* Runs `reeve run` as ret->user (NULL: does nothing), which only root, or that user, can do. The job has one core, and ends by itself. */
void gather_job(const struct gather_job *how, struct judge_job *ret);
