/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array - job arrays as typed ("0-999:2%20"), and the names of jobs ("123", "123[7]").
 *
 * Pure. An array is one request for every index first, first + step, ... last. Its tasks are
 * counted from 0 by their ordinal: index = first + ordinal * step.
 */
#pragma once
#include <stdint.h>

struct err;

#define ARRAY_INDEX_MAX 999999999
#define ARRAY_TEXT_MAX 64

struct array {
	int64_t n; /* tasks; 0: no array */
	int64_t first, last, step;
	int64_t at_once; /* most tasks that have started and not ended; 0: no limit */
};

/* "0-999", "5", "0-999:2" (a step), "0-999%20", "0-999:2%20". `last` becomes the last index
 * that the step reaches. -EINVAL: no range, the end before the beginning, a step or a number at once
 * of 0, an index beyond ARRAY_INDEX_MAX; err says how to write it. */
int array_parse(const char *text, struct array *ret, struct err *err);
/* Parseable. */
const char *array_format(const struct array *a, char buf[static ARRAY_TEXT_MAX]);
int64_t array_index(const struct array *a, int64_t ordinal);
/* -1: no task has this index. */
int64_t array_ordinal(const struct array *a, int64_t index);

#define JOB_ID_NO_INDEX (-1)
struct job_id {
	int64_t job;
	int64_t index; /* of a task of the array `job`; JOB_ID_NO_INDEX: a job, or the whole array */
};
#define JOB_ID_TEXT_MAX 40

/* "123", "123[7]", "123[]" (the array; as "123"). -EINVAL. */
int job_id_parse(const char *text, struct job_id *ret, struct err *err);
const char *job_id_format(struct job_id id, char buf[static JOB_ID_TEXT_MAX]);
/* In the path of a request: "123", "123.7". */
const char *job_id_format_path(struct job_id id, char buf[static JOB_ID_TEXT_MAX]);

/* ---- what an array task has beside its array's request ---- */

/* Variables at the end of its environment, as NAME=value. */
enum array_env {
	ARRAY_ENV_JOB,
	ARRAY_ENV_INDEX,
	ARRAY_ENV_PBS_ID,
	ARRAY_ENV_PBS_INDEX,
	ARRAY_ENV
};
#define ARRAY_ENV_MAX 64
const char *array_format_env(struct job_id id, int which, char buf[static ARRAY_ENV_MAX]);
/* Its output file: `path` with each "^array_index^" replaced, as in PBS; NULL: NAME.o12.7, of
 * the letter o or e. malloc()ed; NULL: no memory. */
char *array_format_output(const char *path, const char *name, char letter, struct job_id id);
