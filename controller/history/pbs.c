/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs.c - reads a line of a PBS accounting log: its values, its job id, its times and
 * resources; see pbs.h for the rules. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "common/cleanup.h"
#include "controller/history/pbs.h"
#include "controller/history/pbs_resources.h"

enum key {
	KEY_USER,
	KEY_GROUP,
	KEY_ACCOUNT,
	KEY_PROJECT,
	KEY_QUEUE,
	KEY_CTIME,
	KEY_QTIME,
	KEY_ETIME,
	KEY_START,
	KEY_END,
	KEY_EXEC_HOST,
	KEY_EXEC_VNODE,
	KEY_SLOTS,
	KEY_NCPUS,
	KEY_NGPUS,
	KEY_MEM,
	KEY_WALLTIME,
	KEY_SELECT,
	KEY_NODES,
	KEY_QOS,
	KEY_GPU_MODEL,
	KEY_GPU_TYPE,
	KEY_ACCEL_TYPE,
	KEY_USED_CPUT,
	KEY_USED_MEM,
	KEY_USED_WALLTIME,
	_KEY_MAX,
};
static const char *const keys[] = {
	[KEY_USER] = "user",
	[KEY_GROUP] = "group",
	[KEY_ACCOUNT] = "account",
	[KEY_PROJECT] = "project",
	[KEY_QUEUE] = "queue",
	[KEY_CTIME] = "ctime",
	[KEY_QTIME] = "qtime",
	[KEY_ETIME] = "etime",
	[KEY_START] = "start",
	[KEY_END] = "end",
	[KEY_EXEC_HOST] = "exec_host",
	[KEY_EXEC_VNODE] = "exec_vnode",
	[KEY_SLOTS] = "total_execution_slots",
	[KEY_NCPUS] = "Resource_List.ncpus",
	[KEY_NGPUS] = "Resource_List.ngpus",
	[KEY_MEM] = "Resource_List.mem",
	[KEY_WALLTIME] = "Resource_List.walltime",
	[KEY_SELECT] = "Resource_List.select",
	[KEY_NODES] = "Resource_List.nodes",
	[KEY_QOS] = "Resource_List.qos",
	[KEY_GPU_MODEL] = "Resource_List.gpu_model",
	[KEY_GPU_TYPE] = "Resource_List.gpu_type",
	[KEY_ACCEL_TYPE] = "Resource_List.accel_type",
	[KEY_USED_CPUT] = "resources_used.cput",
	[KEY_USED_MEM] = "resources_used.mem",
	[KEY_USED_WALLTIME] = "resources_used.walltime",
};
_Static_assert(ARRAY_LEN(keys) == _KEY_MAX, "a name a key");

#define NO_PROJECT "_pbs_project_default" /* the project of a job without one, in PBS */

struct record {
	char type;
	struct pbs_text id;
	struct pbs_text of[_KEY_MAX];
};

/* ---- the line ---- */

/* "04/18/2008 03:35:28", with parts of a second in some logs. */
static bool is_time(struct pbs_text t)
{
	static const char form[] = "00/00/0000 00:00:00";

	if (t.size < sizeof(form) - 1 || (t.size > sizeof(form) - 1 && t.at[19] != '.'))
		return false;
	for (size_t i = 0; i < t.size; i++) {
		char want = i < sizeof(form) - 1 ? form[i] : i == 19 ? '.' : '0';

		if (want == '0' ? t.at[i] < '0' || t.at[i] > '9' : t.at[i] != want)
			return false;
	}
	return true;
}

static bool cut_field(const char **at, const char *end, struct pbs_text *ret)
{
	const char *sign = memchr(*at, ';', (size_t)(end - *at));

	if (!sign)
		return false;
	*ret = (struct pbs_text){ *at, (size_t)(sign - *at) };
	*at = sign + 1;
	return true;
}

/* A value, which PBS puts in quotes where it has blanks or quotes; *at is behind it. */
static int cut_value(const char **at, const char *end, struct pbs_text *ret)
{
	const char *p = *at, *from = p;
	char quote = p < end && (*p == '"' || *p == '\'') ? *p : 0;

	if (quote) {
		from++;
		p = memchr(from, quote, (size_t)(end - from));
		if (!p || (p + 1 < end && p[1] != ' '))
			return -EINVAL;
		*at = p + 1;
	} else {
		while (p < end && *p != ' ')
			p++;
		*at = p;
	}
	*ret = (struct pbs_text){ from, (size_t)(p - from) };
	return 0;
}

/* -EINVAL: the key occurs twice, and it is not clear which value is right. */
static int note_value(struct record *r, struct pbs_text key, struct pbs_text value)
{
	for (enum key k = 0; k < _KEY_MAX; k++) {
		if (!pbs_is(key, keys[k]))
			continue;
		if (r->of[k].at)
			return -EINVAL;
		r->of[k] = value;
		break;
	}
	return 0;
}

/* "key=value key=value ..."; keys that are not in the table are skipped. -EINVAL: another form.
 */
static int read_values(const char *at, const char *end, struct record *r)
{
	while (at < end) {
		struct pbs_text value, key = { at, 0 };

		if (*at == ' ') {
			at++;
			continue;
		}
		while (at < end && *at != '=' && *at != ' ')
			at++;
		if (at == end || *at != '=')
			return -EINVAL;
		key.size = (size_t)(at - key.at);
		at++;
		if (cut_value(&at, end, &value) < 0 || note_value(r, key, value) < 0)
			return -EINVAL;
	}
	return 0;
}

static int read_record(const char *line, const char *end, struct record *ret)
{
	struct pbs_text when, type;

	if (!cut_field(&line, end, &when) || !cut_field(&line, end, &type) ||
	    !cut_field(&line, end, &ret->id))
		return HISTORY_MISSING_FIELDS;
	if (!is_time(when) || type.size != 1)
		return HISTORY_GARBAGE;
	ret->type = *type.at;
	if ((ret->type != 'E' && ret->type != 'R') || (ret->id.size && *ret->id.at == 'R'))
		return PBS_NO_JOB; /* the id of a reservation begins with R */
	return read_values(line, end, ret) < 0 ? HISTORY_GARBAGE : HISTORY_OK;
}

/* ---- the job's id ---- */

int pbs_number(int64_t sequence, int64_t index, int64_t *ret)
{
	static const struct {
		int sequence_bits, index_bits, base_bit;
	} rows[] = { { 25, 14, 39 }, { 27, 11, 38 }, { 29, 8, 37 }, { 16, 20, 36 } };

	if (sequence < 0)
		return -ERANGE;
	if (index < 0) {
		*ret = sequence;
		return sequence < 1LL << 36 ? 0 : -ERANGE;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (sequence < 1LL << rows[i].sequence_bits &&
		    index < 1LL << rows[i].index_bits) {
			*ret = (1LL << rows[i].base_bit) + (index << rows[i].sequence_bits) +
			       sequence;
			return 0;
		}
	return -ERANGE;
}

/* Digits at *at; false where there are none. */
static bool read_digits(const char **at, const char *end, int64_t *ret)
{
	const char *from = *at;

	while (*at < end && **at >= '0' && **at <= '9')
		++*at;
	return history_parse_int(from, (size_t)(*at - from), ret) == 0;
}

/* "12.server", "12[3].server", "12-3.server" (older Torque). A whole array is "12[].server". */
static int read_id(struct pbs_text id, struct history_job *ret)
{
	const char *at = id.at, *end = id.at + id.size, *dot;
	int64_t sequence, index = -1;

	if (!read_digits(&at, end, &sequence))
		return HISTORY_GARBAGE;
	if (at < end && (*at == '[' || *at == '-')) {
		bool is_bracket = *at++ == '[';

		if (is_bracket && at < end && *at == ']')
			return PBS_NO_JOB;
		if (!read_digits(&at, end, &index) ||
		    (is_bracket && (at == end || *at++ != ']')))
			return HISTORY_GARBAGE;
	}
	if (at < end && *at != '.')
		return HISTORY_GARBAGE;
	at += at < end;
	dot = memchr(at, '.', (size_t)(end - at));
	if (!history_copy_name(at, (size_t)((dot ? dot : end) - at), ret->cluster))
		return HISTORY_NO_NAME;
	return pbs_number(sequence, index, &ret->number) < 0 ? HISTORY_OUT_OF_RANGE
							     : HISTORY_OK;
}

/* ---- names, times, amounts ---- */

static bool read_name(struct pbs_text t, char ret[static REQUEST_NAME_MAX])
{
	return history_copy_name(t.at ? t.at : "", t.size, ret);
}

static bool read_names(const struct record *r, struct history_job *ret)
{
	static const enum key accounts[] = { KEY_PROJECT, KEY_ACCOUNT, KEY_GROUP };
	struct pbs_text account = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(accounts) && !account.size; i++)
		if (!pbs_is(r->of[accounts[i]], NO_PROJECT))
			account = r->of[accounts[i]];
	return read_name(account, ret->account) && read_name(r->of[KEY_USER], ret->user) &&
	       read_name(r->of[KEY_QUEUE], ret->queue) && read_name(r->of[KEY_QOS], ret->qos);
}

/* A value that is not recorded leaves *ret unchanged. */
static int read_int(struct pbs_text t, int64_t *ret)
{
	return t.at ? history_parse_int(t.at, t.size, ret) : 0;
}

static int read_times(const struct record *r, struct history_job *ret)
{
	static const enum key submitted[] = { KEY_START, KEY_ETIME, KEY_QTIME,
					      KEY_CTIME }; /* the last counts */
	int64_t used_ms;

	if (!r->of[KEY_START].at || !r->of[KEY_END].at)
		return HISTORY_MISSING_FIELDS;
	if (read_int(r->of[KEY_START], &ret->start_s) < 0 ||
	    read_int(r->of[KEY_END], &ret->end_s) < 0)
		return HISTORY_GARBAGE;
	if (ret->start_s <= 0)
		return HISTORY_NOT_STARTED;
	for (size_t i = 0; i < ARRAY_LEN(submitted); i++)
		if (read_int(r->of[submitted[i]], &ret->submit_s) < 0)
			return HISTORY_GARBAGE;
	if (!r->of[KEY_USED_WALLTIME].at)
		return HISTORY_OK;
	if (pbs_parse_time(r->of[KEY_USED_WALLTIME], &used_ms) < 0)
		return HISTORY_GARBAGE;
	if (ret->end_s > ret->start_s && used_ms / 1000 < ret->end_s - ret->start_s)
		ret->suspended_s = ret->end_s - ret->start_s - used_ms / 1000;
	return HISTORY_OK;
}

/* Requested and allocated chunks. */
struct amounts {
	struct pbs_chunks vnodes, select, nodes;
};

static int read_chunks(const struct record *r, struct history_job *ret, struct amounts *a)
{
	int e = pbs_parse_chunks(r->of[KEY_EXEC_VNODE], 0, ret, &a->vnodes);

	/* Models of the request count where the allocation records none. */
	if (e >= 0)
		e = pbs_parse_chunks(r->of[KEY_SELECT], 1, a->vnodes.typed ? NULL : ret,
				     &a->select);
	if (e >= 0)
		e = pbs_parse_chunks(r->of[KEY_NODES], 1, NULL, &a->nodes);
	return e == 0 ? HISTORY_OK : e == -ENOSPC ? HISTORY_OUT_OF_RANGE : HISTORY_GARBAGE;
}

static int64_t first_above_0(const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] > 0)
			return v[i];
	return 0;
}

static int read_cores(const struct record *r, const struct amounts *a, struct history_job *ret)
{
	int64_t hosts = 0, slots = 0, recorded = 0, asked = 0;
	int e = pbs_parse_hosts(r->of[KEY_EXEC_HOST], &slots, &hosts);

	if (e < 0)
		return e == -ERANGE ? HISTORY_OUT_OF_RANGE : HISTORY_GARBAGE;
	if (read_int(r->of[KEY_SLOTS], &recorded) < 0 || read_int(r->of[KEY_NCPUS], &asked) < 0)
		return HISTORY_GARBAGE;
	ret->ncpus = first_above_0((const int64_t[]){ a->vnodes.ncpus, slots, recorded, asked,
						      a->select.ncpus, a->nodes.ncpus },
				   6);
	ret->nodes = hosts;
	return HISTORY_OK;
}

static int read_gpus(const struct record *r, const struct amounts *a, struct history_job *ret)
{
	static const enum key models[] = { KEY_GPU_MODEL, KEY_GPU_TYPE, KEY_ACCEL_TYPE };
	int64_t asked = 0, typed = a->vnodes.typed ? a->vnodes.typed : a->select.typed;
	char model[REQUEST_NAME_MAX] = "";

	for (size_t i = 0; i < ARRAY_LEN(models) && !*model; i++)
		if (r->of[models[i]].size && pbs_copy_model(r->of[models[i]], model) < 0)
			return HISTORY_GARBAGE;
	if (read_int(r->of[KEY_NGPUS], &asked) < 0)
		return HISTORY_GARBAGE;
	ret->ngpus = first_above_0(
		(const int64_t[]){ a->vnodes.ngpus, asked, a->select.ngpus, a->nodes.ngpus },
		4);
	if (ret->ngpus > HISTORY_CORES_MAX || typed > HISTORY_CORES_MAX)
		return HISTORY_OUT_OF_RANGE;
	if (ret->ngpus > typed && history_add_gpus(ret, model, ret->ngpus - typed) < 0)
		return HISTORY_OUT_OF_RANGE;
	ret->ngpus = ret->ngpus > typed ? ret->ngpus : typed;
	return HISTORY_OK;
}

static int read_memory(const struct record *r, const struct amounts *a, struct history_job *ret)
{
	ret->mem_bytes = a->vnodes.mem_bytes >= 0 ? a->vnodes.mem_bytes : a->select.mem_bytes;
	if (r->of[KEY_MEM].at && pbs_parse_size(r->of[KEY_MEM], &ret->mem_bytes) < 0)
		return HISTORY_GARBAGE;
	if (r->of[KEY_USED_MEM].at &&
	    pbs_parse_size(r->of[KEY_USED_MEM], &ret->mem_peak_bytes) < 0)
		return HISTORY_GARBAGE;
	return HISTORY_OK;
}

static int read_amounts(const struct record *r, struct history_job *ret)
{
	struct amounts a;
	int64_t ms;
	int why = read_chunks(r, ret, &a);

	if (why == HISTORY_OK)
		why = read_cores(r, &a, ret);
	if (why == HISTORY_OK)
		why = read_gpus(r, &a, ret);
	if (why == HISTORY_OK)
		why = read_memory(r, &a, ret);
	if (why != HISTORY_OK)
		return why;
	if (r->of[KEY_USED_CPUT].at && pbs_parse_time(r->of[KEY_USED_CPUT], &ret->cpu_ms) < 0)
		return HISTORY_GARBAGE;
	if (r->of[KEY_WALLTIME].at && pbs_parse_time(r->of[KEY_WALLTIME], &ms) == 0)
		ret->walltime_s = ms / 1000;
	return HISTORY_OK;
}

int pbs_parse_line(const char *line, size_t size, struct history_job *ret)
{
	struct record r = { 0 };
	int why;

	while (size && (line[size - 1] == '\r' || line[size - 1] == ' '))
		size--;
	if (!size)
		return PBS_NO_JOB;
	history_init(ret);
	why = read_record(line, line + size, &r);
	if (why == HISTORY_OK)
		why = read_id(r.id, ret);
	if (why != HISTORY_OK)
		return why;
	if (!read_names(&r, ret))
		return HISTORY_NO_NAME;
	why = read_times(&r, ret);
	if (why == HISTORY_OK)
		why = read_amounts(&r, ret);
	return why == HISTORY_OK ? (int)history_judge(ret) : why;
}
