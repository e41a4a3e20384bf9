/* SPDX-License-Identifier: GPL-2.0-or-later */
/* question.c - reads the fields of Slurm's job description and computes what the job requests; see question.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/utf8.h"
#include "slurm/follow/array.h"
#include "slurm/submit/question.h"

#define MIB_LOG2 20
#define SLURM_INFINITE INT64_C(4294967295)
/* Larger numbers are no amounts of Slurm: its own fields have 32 bits, and memory is counted in MiB. */
#define NUMBER_MAX (INT64_C(1) << 40)

/* The numbers of the job description; -1: not stated. */
struct numbers {
	int64_t uid, job, min_cpus, num_tasks, cpus_per_task, min_nodes, pn_min_cpus,
		sockets_per_node;
	int64_t min_mem_per_cpu, min_mem_per_node; /* MiB */
	int64_t time_limit;			   /* minutes */
	int64_t shared;				   /* 0: whole nodes */
};

struct reader {
	struct numbers n;
	int64_t gpus_job, gpus_node, gpus_socket, gpus_task; /* of the job, of each node ... */
	struct question *q;
};

/* -1 and 0 both stand for a field that the job does not state. */
static int64_t value_or(int64_t n, int64_t otherwise)
{
	return n > 0 ? n : otherwise;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Amounts are below 2^40, so that a product is cut before it could overflow. */
static int64_t multiply_capped(int64_t a, int64_t b)
{
	int64_t n;

	return __builtin_mul_overflow(a, b, &n) || n > NUMBER_MAX ? NUMBER_MAX : n;
}

/* ---- texts ---- */

/* %XX in place. -EINVAL: an XX that is none, or a NUL. */
static int decode_text(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		char hex[3] = { p[1], p[1] ? p[2] : '\0', '\0' };

		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		if (!isxdigit((unsigned char)hex[0]) || !isxdigit((unsigned char)hex[1]))
			return -EINVAL;
		*to = (char)strtol(hex, NULL, 16);
		if (!*to++)
			return -EINVAL;
		p += 2;
	}
	*to = '\0';
	return 0;
}

/* A name that is longer than any of Reeve's must not become another one by being cut: with a slash in it, it is none. */
static void set_name(char to[static REQUEST_NAME_MAX], const char *value)
{
	if (strlen(value) < REQUEST_NAME_MAX)
		snprintf(to, REQUEST_NAME_MAX, "%s", value);
	else
		snprintf(to, REQUEST_NAME_MAX, "%.40s/...", value);
}

/* Not cut: a list without its last partitions would be another request. */
static int set_queues(struct slurm_submit *j, const char *value, struct err *err)
{
	if (strlen(value) >= sizeof(j->queues))
		return err_set(err, -E2BIG, "the job names too many partitions: name fewer");
	snprintf(j->queues, sizeof(j->queues), "%s", value);
	return 0;
}

/* ---- GPUs: "gres:gpu:a100:2,gres:shard:1"; "gres/gpu:a100:2" since Slurm 24.05, and with "=" as users write it ---- */

static bool is_separator(char c)
{
	return c == ':' || c == '=';
}

/* The count at the end of "gpu:a100:2", and its model; 1 where there is none. */
static int64_t read_gres(char *item, char model[static REQUEST_NAME_MAX])
{
	char *count = item + strlen(item);
	char *end;
	int64_t n = 1;

	while (count > item && !is_separator(*count))
		count--;
	if (is_separator(*count) && isdigit((unsigned char)count[1])) {
		n = strtol(count + 1, &end, 10);
		n = *end == 'k' || *end == 'K' ? multiply_capped(n, 1024) : n;
		*count = '\0';
	}
	item = strpbrk(item, ":=");
	if (item)
		set_name(model, item + 1);
	return n < 0 || n > NUMBER_MAX ? NUMBER_MAX : n;
}

/* Items that are no GPUs (shards, other gres) are passed over. Changes `text`. */
static int64_t count_gpus(char *text, struct slurm_submit *j)
{
	int64_t n = 0;
	char *at;

	for (char *item = strtok_r(text, ",", &at); item; item = strtok_r(NULL, ",", &at)) {
		if (!strncmp(item, "gres:", 5) || !strncmp(item, "gres/", 5))
			item += 5;
		if (!strncmp(item, "gpu", 3) && (!item[3] || is_separator(item[3])))
			n += read_gres(item, j->gpu_model);
	}
	return n < NUMBER_MAX ? n : NUMBER_MAX;
}

/* ---- fields ---- */

/* Digits alone, up to NUMBER_MAX; no sign, no unit. */
static int set_number(int64_t *to, const char *value)
{
	char *end;

	errno = 0;
	*to = strtoll(value, &end, 10);
	return errno || end == value || *end || *to < 0 || *to > NUMBER_MAX ? -EINVAL : 0;
}

static int64_t *find_number(struct numbers *n, const char *key)
{
	static const struct {
		const char *key;
		size_t at;
	} rows[] = {
#define NUMBER(name) { #name, offsetof(struct numbers, name) }
		NUMBER(uid),
		NUMBER(job),
		NUMBER(min_cpus),
		NUMBER(num_tasks),
		NUMBER(cpus_per_task),
		NUMBER(min_nodes),
		NUMBER(pn_min_cpus),
		NUMBER(sockets_per_node),
		NUMBER(min_mem_per_cpu),
		NUMBER(min_mem_per_node),
		NUMBER(time_limit),
		NUMBER(shared),
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].key, key))
			return (int64_t *)(void *)((char *)n + rows[i].at);
	return NULL;
}

/* Fields that are not known are passed over: the script may be newer. */
static int set_field(struct reader *r, const char *key, char *value, struct err *err)
{
	struct slurm_submit *j = &r->q->job;
	int64_t *n = find_number(&r->n, key);

	if (n && set_number(n, value) < 0)
		return err_set(err, -EINVAL, "%s=%.40s is no number", key, value);
	if (n)
		return 0;
	if (decode_text(value) < 0)
		return err_set(err, -EINVAL, "%.40s has a wrong %%XX", key);
	if (!strcmp(key, "partition"))
		return set_queues(j, value, err);
	if (!strcmp(key, "account"))
		set_name(j->account, value);
	else if (!strcmp(key, "qos"))
		set_name(j->qos, value);
	else if (!strcmp(key, "array_inx"))
		j->tasks = array_count_tasks(value);
	else if (!strcmp(key, "tres_per_job"))
		r->gpus_job = count_gpus(value, j);
	else if (!strcmp(key, "tres_per_node"))
		r->gpus_node = count_gpus(value, j);
	else if (!strcmp(key, "tres_per_socket"))
		r->gpus_socket = count_gpus(value, j);
	else if (!strcmp(key, "tres_per_task"))
		r->gpus_task = count_gpus(value, j);
	return 0;
}

/* The job's amounts: at least this much is what Slurm will allocate. */
static void compute_amounts(struct reader *r)
{
	const struct numbers *n = &r->n;
	struct slurm_submit *j = &r->q->job;
	int64_t nodes = value_or(n->min_nodes, 1), tasks = value_or(n->num_tasks, nodes);
	int64_t sockets = multiply_capped(nodes, value_or(n->sockets_per_node, 1));

	j->ncpus =
		max(value_or(n->min_cpus, 1),
		    multiply_capped(value_or(n->num_tasks, 1), value_or(n->cpus_per_task, 1)));
	j->ncpus = max(j->ncpus, multiply_capped(nodes, value_or(n->pn_min_cpus, 1)));
	if (n->min_mem_per_cpu > 0)
		j->mem_bytes = multiply_capped(n->min_mem_per_cpu, j->ncpus) << MIB_LOG2;
	else if (n->min_mem_per_node > 0)
		j->mem_bytes = multiply_capped(n->min_mem_per_node, nodes) << MIB_LOG2;
	j->ngpus = max(max(r->gpus_job, multiply_capped(r->gpus_socket, sockets)),
		       max(multiply_capped(r->gpus_node, nodes),
			   multiply_capped(r->gpus_task, tasks)));
	if (n->time_limit > 0)
		j->walltime_s = n->time_limit >= SLURM_INFINITE
					? QUESTION_NO_LIMIT_S
					: multiply_capped(n->time_limit, 60);
	j->is_exclusive = n->shared == 0;
}

/* A line after the empty one cannot come: listen.c cuts there. */
int question_parse(const char *text, struct question *ret, struct err *err)
{
	struct reader r = { .q = ret };
	_cleanup_free_ char *copy = strdup(text);
	char *at, *line = copy;
	int code = 0;

	memset(&r.n, 0xff, sizeof(r.n)); /* -1 each */
	memset(ret, 0, sizeof(*ret));
	ret->job.tasks = 1;
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	for (line = strtok_r(copy, "\n", &at); line && code >= 0;
	     line = strtok_r(NULL, "\n", &at)) {
		char *value = strchr(line, '=');

		if (!value)
			return err_set(err, -EINVAL, "a line without '='");
		*value++ = '\0';
		code = set_field(&r, line, value, err);
	}
	if (code < 0)
		return code;
	if (r.n.uid < 0 || r.n.uid > UINT32_MAX - 1)
		return err_set(err, -EINVAL, "the question names no uid");
	ret->uid = (uint32_t)r.n.uid;
	ret->job.job = r.n.job > 0 && r.n.job <= UINT32_MAX ? r.n.job : 0;
	compute_amounts(&r);
	return 0;
}

/* ---- answers ---- */

const char *question_format_answer(const struct slurm_submit_answer *a,
				   char buf[static QUESTION_ANSWER_MAX])
{
	char text[SLURM_SUBMIT_TEXT_MAX];

	utf8_format(text, sizeof(text), "%s", a->text);
	if (a->verdict == SLURM_SUBMIT_MOVE)
		snprintf(buf, QUESTION_ANSWER_MAX, "move %s\n%s\n", a->queue, text);
	else
		snprintf(buf, QUESTION_ANSWER_MAX, "%s\n%s\n",
			 slurm_submit_verdict_name(a->verdict), text);
	return buf;
}

const char *question_format_none(const char *why, char buf[static QUESTION_ANSWER_MAX])
{
	char text[SLURM_SUBMIT_TEXT_MAX];

	utf8_format(text, sizeof(text), "%s", why);
	snprintf(buf, QUESTION_ANSWER_MAX, "none\n%s\n", text);
	return buf;
}
