/* SPDX-License-Identifier: GPL-2.0-or-later */
/* question - what job_submit.lua sends of a job, and what is answered to it. Pure.
 *
 *	uid=1001
 *	account=physics
 *	...
 *	(an empty line)
 *
 * The fields are those of Slurm's job description, with Slurm's meaning and units; a field that the job does not state is left
 * out. Bytes other than [A-Za-z0-9._:,-] stand as %XX. The answer is one line: "accept", "move PARTITION", "refuse" or "none";
 * a second one has a sentence. "none" says that it was not decided, and Slurm goes on by itself.
 */
#pragma once
#include "common/wire/slurm_submit.h"

struct err;

#define QUESTION_MAX 32768
#define QUESTION_ANSWER_MAX 1024 /* with its NUL */

/* A job that states no time limit has the default of its partition, which job_submit.lua looks up; a limit of "infinite" counts
 * as this. */
#define QUESTION_NO_LIMIT_S SLURM_SUBMIT_NO_LIMIT_S

struct question {
	uint32_t uid;
	struct slurm_submit job; /* without cluster and user */
};

/* Reads the lines before the empty one. -EINVAL: not such a text. -E2BIG: a list of partitions is too long. */
int question_parse(const char *text, struct question *ret, struct err *err);

/* The answer as job_submit.lua reads it. */
const char *question_format_answer(const struct slurm_submit_answer *a,
				   char buf[static QUESTION_ANSWER_MAX]);
/* "none", and why in one line. */
const char *question_format_none(const char *why, char buf[static QUESTION_ANSWER_MAX]);
