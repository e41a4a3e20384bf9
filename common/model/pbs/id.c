/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id.c - read and write ids of PBS; see id.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/model/pbs/id.h"

#define ARRAY_BIT (INT64_C(1) << 39)
#define TASK_JOB_BITS 25
#define INDEX_MAX 16383

/* Decimal digits alone; *at is behind them. -1: none, or more than 18. */
static int64_t read_number(const char **at)
{
	size_t n = strspn(*at, "0123456789");
	int64_t v = 0;

	if (!n || n > 18)
		return -1;
	for (size_t i = 0; i < n; i++)
		v = v * 10 + (*at)[i] - '0';
	*at += n;
	return v;
}

static int refuse_text(const char *text, struct err *err)
{
	return err_set(err, -EINVAL, "'%.80s' is no id of a job of PBS", text);
}

static int parse_task(const char *text, const char *at, int64_t job, int64_t *ret,
		      struct err *err)
{
	int64_t index;

	if (*at == ']')
		return err_set(err, -EINVAL, "'%.80s' is a whole job array, not a task of it",
			       text);
	index = read_number(&at);
	if (index < 0 || *at != ']' || (at[1] && at[1] != '.'))
		return refuse_text(text, err);
	if (index > INDEX_MAX || job >= INT64_C(1) << TASK_JOB_BITS)
		return err_set(
			err, -ERANGE,
			"array task '%.80s' has no number in Reeve: indices end at %d, and ids of job arrays at %d",
			text, INDEX_MAX, (1 << TASK_JOB_BITS) - 1);
	*ret = ARRAY_BIT | index << TASK_JOB_BITS | job;
	return 0;
}

int pbs_id_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *at = text;
	int64_t job = read_number(&at);

	if (job <= 0 || (*at && *at != '.' && *at != '['))
		return refuse_text(text, err);
	if (*at == '[')
		return parse_task(text, at + 1, job, ret, err);
	if (job >= ARRAY_BIT)
		return err_set(err, -ERANGE,
			       "job '%.80s' has no number in Reeve: its ids end at %" PRId64,
			       text, ARRAY_BIT - 1);
	*ret = job;
	return 0;
}

const char *pbs_id_format(int64_t number, char buf[static PBS_ID_SHORT_MAX])
{
	if (number & ARRAY_BIT)
		snprintf(buf, PBS_ID_SHORT_MAX, "%" PRId64 "[%" PRId64 "]",
			 number & ((INT64_C(1) << TASK_JOB_BITS) - 1),
			 number >> TASK_JOB_BITS & INDEX_MAX);
	else
		snprintf(buf, PBS_ID_SHORT_MAX, "%" PRId64, number);
	return buf;
}
