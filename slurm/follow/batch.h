/* SPDX-License-Identifier: GPL-2.0-or-later */
/* batch - sends jobs to the controller in documents of bounded size. */
#pragma once
#include "common/wire/slurm_batch.h"
#include "slurm/follow/follow.h"

/* Sends `all`, which may have any number of jobs, in documents of at most Batch= jobs; `mark_s`, `is_whole` and `present`
 * go with the last. One document is sent also where there are no jobs. *ret is the last answer; the caller frees it with
 * slurm_batch_answer_done(). Errors as follow_ask(): what was answered before is stored. */
int batch_send(struct follow *f, const struct slurm_batch *all, struct slurm_batch_answer *ret,
	       struct err *err);
