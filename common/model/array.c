/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array.c - parses and formats arrays, job ids, and the files and variables of array tasks. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/array.h"

/* Reads digits from *p on; false: there are none, or the number is above `max`. */
static bool read_number(const char **p, int64_t max, int64_t *ret)
{
	const char *s = *p;
	int64_t n = 0;

	for (; *s >= '0' && *s <= '9'; s++) {
		int digit = *s - '0';

		if (n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = n;
	return true;
}

/* A number after `mark`; true, and *ret untouched, where `mark` is not there. */
static bool read_after(const char **p, char mark, int64_t max, int64_t *ret)
{
	if (**p != mark)
		return true;
	(*p)++;
	return read_number(p, max, ret);
}

int array_parse(const char *text, struct array *ret, struct err *err)
{
	struct array a = { .step = 1 };
	const char *p = text;
	bool is_read = read_number(&p, ARRAY_INDEX_MAX, &a.first);
	bool has_bound;

	a.last = a.first;
	is_read = is_read && read_after(&p, '-', ARRAY_INDEX_MAX, &a.last) &&
		  read_after(&p, ':', ARRAY_INDEX_MAX, &a.step);
	has_bound = is_read && *p == '%';
	is_read = is_read && read_after(&p, '%', ARRAY_INDEX_MAX, &a.at_once) && !*p;
	if (!is_read)
		return err_set(err, -EINVAL,
			       "array '%.40s': write FIRST-LAST, with :STEP and %%MOST as "
			       "needed, like 0-999:2%%20; indices are 0 to %d",
			       text, ARRAY_INDEX_MAX);
	if (a.last < a.first)
		return err_set(err, -EINVAL, "array '%.40s' ends before it begins", text);
	if (a.step == 0 || (has_bound && a.at_once == 0))
		return err_set(err, -EINVAL, "array '%.40s': %s of 0 would never end", text,
			       a.step == 0 ? "a step" : "a number at once");
	a.n = (a.last - a.first) / a.step + 1;
	a.last = array_index(&a, a.n - 1);
	*ret = a;
	return 0;
}

const char *array_format(const struct array *a, char buf[static ARRAY_TEXT_MAX])
{
	char step[16] = "", most[16] = "";

	if (a->step > 1)
		snprintf(step, sizeof(step), ":%d", (int)a->step);
	if (a->at_once)
		snprintf(most, sizeof(most), "%%%d", (int)a->at_once);
	snprintf(buf, ARRAY_TEXT_MAX, "%lld-%lld%s%s", (long long)a->first, (long long)a->last,
		 step, most);
	return buf;
}

int64_t array_index(const struct array *a, int64_t ordinal)
{
	return a->first + ordinal * a->step;
}

int64_t array_ordinal(const struct array *a, int64_t index)
{
	if (a->n == 0 || index < a->first || index > a->last ||
	    (index - a->first) % a->step != 0)
		return -1;
	return (index - a->first) / a->step;
}

#define JOB_MAX 999999999999999999LL /* 18 digits: any such number fits int64_t */

int job_id_parse(const char *text, struct job_id *ret, struct err *err)
{
	struct job_id id = { 0, JOB_ID_NO_INDEX };
	const char *p = text;
	bool is_read = read_number(&p, JOB_MAX, &id.job) && id.job > 0;

	if (is_read && *p == '[') {
		p++;
		if (*p != ']')
			is_read = read_number(&p, ARRAY_INDEX_MAX, &id.index);
		is_read = is_read && *p++ == ']';
	}
	if (!is_read || *p)
		return err_set(err, -EINVAL,
			       "'%.40s' is not a job number such as 123, or 123[7] of an array",
			       text);
	*ret = id;
	return 0;
}

const char *job_id_format(struct job_id id, char buf[static JOB_ID_TEXT_MAX])
{
	if (id.index == JOB_ID_NO_INDEX)
		snprintf(buf, JOB_ID_TEXT_MAX, "%lld", (long long)id.job);
	else
		snprintf(buf, JOB_ID_TEXT_MAX, "%lld[%d]", (long long)id.job, (int)id.index);
	return buf;
}

const char *job_id_format_path(struct job_id id, char buf[static JOB_ID_TEXT_MAX])
{
	if (id.index == JOB_ID_NO_INDEX)
		return job_id_format(id, buf);
	snprintf(buf, JOB_ID_TEXT_MAX, "%lld.%d", (long long)id.job, (int)id.index);
	return buf;
}

const char *array_format_env(struct job_id id, int which, char buf[static ARRAY_ENV_MAX])
{
	static const char *const names[ARRAY_ENV] = {
		[ARRAY_ENV_JOB] = "REEVE_ARRAY_JOB",
		[ARRAY_ENV_INDEX] = "REEVE_ARRAY_INDEX",
		[ARRAY_ENV_PBS_ID] = "PBS_ARRAY_ID",
		[ARRAY_ENV_PBS_INDEX] = "PBS_ARRAY_INDEX",
	};
	bool is_job = which == ARRAY_ENV_JOB || which == ARRAY_ENV_PBS_ID;

	snprintf(buf, ARRAY_ENV_MAX, "%s=%" PRId64, names[which], is_job ? id.job : id.index);
	return buf;
}

char *array_format_output(const char *path, const char *name, char letter, struct job_id id)
{
	static const char mark[] = "^array_index^";
	char number[JOB_ID_TEXT_MAX], text[512], *out, *to;
	size_t n = 0, size;

	if (!path) {
		snprintf(text, sizeof(text), "%.128s.%c%s", name, letter,
			 job_id_format_path(id, number));
		path = text;
	}
	for (const char *p = path; (p = strstr(p, mark)); p += strlen(mark))
		n++;
	size = strlen(path) + n * sizeof(number) + 1;
	to = out = malloc(size);
	for (const char *p = path, *at; out; p = at + strlen(mark)) {
		at = strstr(p, mark);
		if (!at) {
			memcpy(to, p, strlen(p) + 1);
			break;
		}
		memcpy(to, p, (size_t)(at - p));
		to += at - p;
		to += snprintf(to, sizeof(number), "%" PRId64, id.index);
	}
	return out;
}
