/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct_json.c - cuts a document of sacct into its jobs, and reads a job as the fields of a row; see
 * sacct_json.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/import/sacct_json.h"
#include "common/err.h"
#include "common/wire/json/load.h"

/* Depths of brackets: in the document, in its list of jobs, in a job. */
enum { IN_DOCUMENT = 1, IN_LIST = 2, IN_JOB = 3 };

void sacct_json_done(struct sacct_json *s)
{
	json_decref(s->job);
	free(s->text);
	*s = (struct sacct_json){ 0 };
}

/* ---- the document ---- */

static int keep_byte(struct sacct_json *s, char c)
{
	size_t room = s->room ? s->room * 2 : 4096;
	char *text;

	if (s->n == SACCT_JSON_JOB_MAX)
		return -ERANGE;
	if (s->n == s->room) {
		text = realloc(s->text, room);
		if (!text)
			return -ENOMEM;
		s->text = text;
		s->room = room;
	}
	s->text[s->n++] = c;
	return 0;
}

static void read_string(struct sacct_json *s, char c)
{
	if (s->is_escaped)
		s->is_escaped = false;
	else if (c == '\\')
		s->is_escaped = true;
	else if (c == '"')
		s->is_string = false;
	if (s->is_string && s->string_size < sizeof(s->string) - 1)
		s->string[s->string_size++] = c;
	s->string[s->string_size] = '\0';
}

static void open_bracket(struct sacct_json *s, char c)
{
	if (s->depth == IN_DOCUMENT && c == '[' && !strcmp(s->string, "jobs"))
		s->is_list = s->has_list = true;
	if (s->depth == IN_LIST && c == '{' && s->is_list) {
		s->is_job = true;
		s->n = 0;
	}
	s->is_step |=
		s->is_job && s->depth == IN_JOB && c == '[' && !strcmp(s->string, "steps");
	s->depth++;
	s->string[0] = '\0';
}

/* 1: a job has ended. */
static int close_bracket(struct sacct_json *s)
{
	s->depth--;
	s->string[0] = '\0';
	if (s->depth < IN_LIST)
		s->is_list = false;
	if (s->depth == IN_JOB)
		s->is_step = false;
	if (s->depth != IN_LIST || !s->is_job)
		return 0;
	s->is_job = false;
	return 1;
}

static int read_byte(struct sacct_json *s, char c)
{
	bool was_job = s->is_job, was_step = s->is_step;
	int ended = 0, r = 0;

	if (s->is_string) {
		read_string(s, c);
	} else if (c == '"') {
		s->is_string = true;
		s->string_size = 0;
	} else if (c == '{' || c == '[') {
		open_bracket(s, c);
	} else if (c == '}' || c == ']') {
		ended = close_bracket(s);
	}
	/* Of a list of steps both brackets stay. */
	if ((was_job || s->is_job) && !(was_step && s->is_step))
		r = keep_byte(s, c);
	return r < 0 ? r : ended;
}

int sacct_json_feed(struct sacct_json *s, const char *bytes, size_t size, size_t *ret_used)
{
	int r = 0;

	for (*ret_used = 0; *ret_used < size && r == 0;)
		r = read_byte(s, bytes[(*ret_used)++]);
	return r;
}

int sacct_json_end(const struct sacct_json *s, struct err *err)
{
	if (s->depth != 0 || s->is_string)
		return err_set(err, -EBADMSG, "the document ends too soon");
	if (!s->has_list)
		return err_set(err, -EBADMSG,
			       "the document has no list 'jobs', as 'sacct --json' has it");
	return 0;
}

/* ---- a job ---- */

/* A number, alone or as {"set": true, "number": 5}; -1: not set. */
static int64_t read_number(const json_t *v)
{
	if (json_is_object(v) && json_is_true(json_object_get(v, "set")) &&
	    !json_is_true(json_object_get(v, "infinite")))
		v = json_object_get(v, "number");
	if (json_is_real(v) && json_real_value(v) >= 0 && json_real_value(v) < 1e15)
		return (int64_t)json_real_value(v);
	return json_is_integer(v) ? json_integer_value(v) : -1;
}

static struct history_text read_text(const json_t *of, const char *key)
{
	const json_t *v = json_object_get(of, key);

	return json_is_string(v)
		       ? (struct history_text){ json_string_value(v), json_string_length(v) }
		       : (struct history_text){ 0 };
}

/* In numbers[at]; a number that is not set is no field. */
static struct history_text print_number(struct sacct_json *s, int at, int64_t n)
{
	if (n < 0)
		return (struct history_text){ 0 };
	snprintf(s->numbers[at], sizeof(s->numbers[at]), "%06" PRId64, n);
	return (struct history_text){ s->numbers[at], strlen(s->numbers[at]) };
}

/* A time of 0 has not come. */
static struct history_text print_time(struct sacct_json *s, int at, int64_t n)
{
	static const struct history_text unknown = { "Unknown", 7 };

	return n > 0 ? print_number(s, at, n) : unknown;
}

/* "cpu=4,mem=8192M,gres/gpu:a100=2". False: it has no room. */
static bool print_tres(struct sacct_json *s, const json_t *list)
{
	const json_t *item;
	size_t i, n = 0;

	s->tres[0] = '\0';
	json_array_foreach(list, i, item)
	{
		const char *type = json_string_value(json_object_get(item, "type"));
		const char *name = json_string_value(json_object_get(item, "name"));
		int64_t count = read_number(json_object_get(item, "count"));

		if (!type || count < 0)
			continue;
		n += (size_t)snprintf(s->tres + n, sizeof(s->tres) - n,
				      "%s%s%s%s=%" PRId64 "%s", n ? "," : "", type,
				      name && *name ? "/" : "", name ? name : "", count,
				      strcmp(type, "mem") ? "" : "M");
		if (n >= sizeof(s->tres))
			return false;
	}
	return true;
}

/* A word, or a list whose first word is the state. */
static struct history_text read_state(const json_t *job)
{
	const json_t *now = json_object_get(json_object_get(job, "state"), "current");

	if (json_is_array(now))
		now = json_array_get(now, 0);
	return json_is_string(now) ? (struct history_text){ json_string_value(now),
							    json_string_length(now) }
				   : (struct history_text){ 0 };
}

static void read_times(struct sacct_json *s, const json_t *time,
		       struct history_text t[static _SACCT_FIELD_MAX])
{
	t[SACCT_SUBMIT] = print_time(s, 1, read_number(json_object_get(time, "submission")));
	t[SACCT_START] = print_time(s, 2, read_number(json_object_get(time, "start")));
	t[SACCT_END] = print_time(s, 3, read_number(json_object_get(time, "end")));
	t[SACCT_ELAPSED_RAW] =
		print_number(s, 4, read_number(json_object_get(time, "elapsed")));
	t[SACCT_LIMIT_RAW] = print_number(s, 5, read_number(json_object_get(time, "limit")));
}

static void read_names(const json_t *job, struct history_text t[static _SACCT_FIELD_MAX])
{
	const json_t *of = json_object_get(job, "association");

	t[SACCT_CLUSTER] = read_text(job, "cluster");
	t[SACCT_PARTITION] = read_text(job, "partition");
	t[SACCT_QOS] = read_text(job, "qos");
	t[SACCT_ACCOUNT] = read_text(job, "account");
	t[SACCT_USER] = read_text(job, "user");
	if (!t[SACCT_CLUSTER].size)
		t[SACCT_CLUSTER] = read_text(of, "cluster");
	if (!t[SACCT_ACCOUNT].size)
		t[SACCT_ACCOUNT] = read_text(of, "account");
	if (!t[SACCT_USER].size)
		t[SACCT_USER] = read_text(of, "user");
}

int sacct_json_row(struct sacct_json *s, const struct sacct *f, struct history_job *ret)
{
	struct history_text t[_SACCT_FIELD_MAX] = { { 0 } };
	const json_t *time;

	history_init(ret);
	json_decref(s->job);
	s->job = wire_load_bytes(s->text, s->n, 0, NULL);
	time = json_object_get(s->job, "time");
	if (!s->job)
		return history_fault(ret, "job", (struct history_text){ s->text, s->n });
	if (!json_is_object(time)) /* as squeue and scontrol print jobs */
		return HISTORY_MISSING_FIELDS;
	if (!print_tres(s, json_object_get(json_object_get(s->job, "tres"), "allocated")))
		return HISTORY_OUT_OF_RANGE;
	t[SACCT_JOB_RAW] = print_number(s, 0, read_number(json_object_get(s->job, "job_id")));
	t[SACCT_NODES] =
		print_number(s, 6, read_number(json_object_get(s->job, "allocation_nodes")));
	t[SACCT_TRES] = (struct history_text){ s->tres, strlen(s->tres) };
	t[SACCT_STATE] = read_state(s->job);
	read_names(s->job, t);
	read_times(s, time, t);
	return sacct_row_parse(f, t, ret);
}
